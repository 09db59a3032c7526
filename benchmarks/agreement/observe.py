"""Traces a whole program in this process, so that every array it makes has an exact type.

Under `jax.make_jaxpr` all of JAX is staged, also what stands outside of every `jit`: a script traced as one function
shows the shape of each of its arrays, and computes nothing. A script that needs a value (`if x > 0`, `float(loss)`,
`np.asarray`) cannot be traced so; then the functions that it transforms are observed while it runs, as `jaxaudit run`
does it.
"""

from __future__ import annotations

from pathlib import Path
from types import CodeType, ModuleType

from benchmarks.agreement.watch import as_main, quiet
from jaxaudit.ir import Program


class NotObservedError(Exception):
    """A program that does not run here, with the reason."""


def observed(path: Path, *, run: bool = True) -> Program:
    """Return a program as JAX traces it: whole, or where that cannot be and `run` allows it, by running it."""
    with quiet(path.parent):
        try:
            return _traced(path)
        except BaseException as error:  # noqa: BLE001
            reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
        if run:
            return _run(path)
    raise NotObservedError(reason)


def _traced(path: Path) -> Program:
    from jaxaudit.frontends.jaxpr import lower

    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    with as_main(path) as module:
        return lower.trace_and_lower(lambda: _execute(code, module), (), {}, name="main", path=str(path))


def _execute(code: CodeType, module: ModuleType) -> None:
    exec(code, vars(module))


def _run(path: Path) -> Program:
    """Run a script and lower each function that it transforms; the patches are taken back."""
    import jax

    from jaxaudit.frontends.jaxpr import lower
    from jaxaudit.frontends.jaxpr.observe import Observer
    from jaxaudit.frontends.jaxpr.serve import lower_sites

    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    lower.install_markers()
    kept = [(place, dict(vars(place))) for place in (jax, jax.lax)]
    observer = Observer()
    observer.install()
    try:
        with as_main(path) as module:
            _execute(code, module)
        return lower_sites(observer.captured())[0]
    except BaseException as error:
        raise NotObservedError(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}") from error
    finally:
        for place, names in kept:
            vars(place).update(names)
