"""Calls us right after the user's program has imported jax, and not earlier.

JAX reads its settings from the environment when it is imported, and scripts set them just before: had we imported it
first, `os.environ["JAX_ENABLE_X64"] = "1"` would come too late.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def when_jax_is_imported(act: Callable[[], None]) -> None:
    """Have `act` called once jax is there."""
    sys.meta_path.insert(0, _Finder(act))


def the_jax() -> Any:
    """Return jax, which the user's program has imported; by name, so that the core never depends on it."""
    return importlib.import_module("jax")


def has_jax() -> bool:
    """Whether this interpreter has jax, without importing it."""
    return importlib.util.find_spec("jax") is not None


class _Finder:
    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find jax as Python would, with a loader that tells us when it is done."""
        if name != "jax":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("jax")
        if spec is not None and spec.loader is not None:
            _announce(spec.loader, self._act)
        return spec


def _announce(loader: Any, act: Callable[[], None]) -> None:
    run = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        run(module)
        act()

    loader.exec_module = exec_module
