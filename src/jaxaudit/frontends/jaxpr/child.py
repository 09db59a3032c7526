"""Starts the tracer inside the user's interpreter: `PYTHON child.py REQUEST REPLY`.

The package `jaxaudit` is loaded from where this file lies, and nothing else of our environment is put on the path, so
no module of the user's is shadowed. Until then only built-in modules are imported.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Answer the request; the exit code of the script becomes that of this process."""
    here = __file__.replace("\\", "/").rpartition("/")[0] or "."
    # Python puts this folder first, where `compat`, `targets`, ... would shadow the user's modules of these names.
    if sys.path and sys.path[0] == here:
        del sys.path[0]
    _load_package(here)
    from jaxaudit.frontends.jaxpr.serve import serve

    sys.exit(serve(sys.argv[1], sys.argv[2]))


def _load_package(here: str) -> None:
    import importlib.util
    from pathlib import Path

    package = Path(here).resolve().parents[1]
    spec = importlib.util.spec_from_file_location(
        "jaxaudit", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["jaxaudit"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
