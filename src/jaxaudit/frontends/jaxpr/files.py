"""Whose file is it: the user's, a library's, JAX's, Python's own, or ours. And how to show its path."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jaxaudit.frontends.jaxpr import compat

USER, LIBRARY, JAX, PYTHON, OURS = "user", "library", "jax", "python", "ours"

_OURS = str(Path(__file__).parent)
_PYTHON = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_LIBRARIES = ("/site-packages/", "/dist-packages/")

TRANSPARENT = (
    "equinox/_vmap_pmap.py",
    "equinox/_jit.py",
    "equinox/_ad.py",
    "equinox/_module/_prebuilt.py",
    "equinox/internal/_loop/",
    "flax/core/lift.py",
    "flax/core/axes_scan.py",
    "flax/linen/transforms.py",
    "flax/nnx/transforms/",
    "flax/nnx/graph.py",
    "flax/nnx/graphlib.py",
    "haiku/_src/stateful.py",
    "haiku/_src/lift.py",
)
"""Library files that only pass a user's function on to a JAX transformation: the caller behind them counts."""

_roots: list[str] = []


def set_user_roots(roots: Iterable[str]) -> None:
    """Return which folders hold the user's files although libraries are installed there."""
    _roots[:] = [str(Path(root).resolve()) for root in roots]
    layer_of.cache_clear()


@cache
def layer_of(path: str) -> str:
    """Return whose file it is."""
    if any(path.startswith(root) for root in _roots):
        return USER
    if path.startswith(compat.JAX_FOLDER) or "/jaxlib/" in path:
        return JAX
    if path.startswith(_OURS):
        return OURS
    if any(part in path for part in _LIBRARIES):
        return LIBRARY
    if path.startswith(_PYTHON) or (path.startswith("<") and not path.startswith("<ipython")):
        return PYTHON
    return USER


@cache
def is_transparent(path: str) -> bool:
    """Whether a library file only passes functions on to JAX."""
    return any(part in path for part in TRANSPARENT)


@cache
def shown(path: str) -> str:
    """Return the path to show: relative to where we stand when it is below."""
    try:
        return Path(path).resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return Path(path).as_posix()
