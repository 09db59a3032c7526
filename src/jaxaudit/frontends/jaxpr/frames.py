"""From the frames of an equation to the user's place, to whoever called a transformation, and to JAX's own function."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from types import CodeType, FrameType

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.files import JAX, LIBRARY, OURS, PYTHON, USER, is_transparent, layer_of, shown
from jaxaudit.spans import Span

_API = tuple(f"{compat.JAX_FOLDER}/_src/{part}" for part in ("numpy/", "nn/", "scipy/", "lax/", "image/", "ops/"))
_RANDOM = (f"{compat.JAX_FOLDER}/_src/random", f"{compat.JAX_FOLDER}/_src/prng")


@cache
def span_at(code: CodeType, offset: int) -> Span:
    """Give the place of one instruction."""
    line, end_line, column, end_column = next(
        islice(code.co_positions(), offset // 2, None), (code.co_firstlineno, None, 0, 0)
    )
    line = line or code.co_firstlineno
    return Span(shown(code.co_filename), line, column or 0, end_line or line, end_column or 0)


def user_frame(frames: Sequence[compat.Frame]) -> compat.Frame | None:
    """Give the innermost frame in the user's own code."""
    for frame in frames:
        if layer_of(frame[0].co_filename) == USER:
            return frame
    return None


def caller_layer(frames: Sequence[compat.Frame]) -> str:
    """Say whose code made the call into JAX; wrappers that only pass a function on are looked through."""
    for code, _ in frames:
        layer = layer_of(code.co_filename)
        if layer == USER or (layer == LIBRARY and not is_transparent(code.co_filename)):
            return layer
    return ""


def random_frame(frames: Sequence[compat.Frame]) -> compat.Frame | None:
    """Give the frame of the function of `jax.random` that was called from outside it."""
    found = None
    for frame in frames:
        path = frame[0].co_filename
        if path.startswith(_RANDOM):
            found = frame
        elif layer_of(path) in (USER, LIBRARY):
            break
    return found


_GENERIC = frozenset(("op", "meth", "call", "__call__", "deferring_binary_op", "fn", "wrapper", "_scatter_update"))
"""Functions of JAX that only pass on to the one that has a name."""


def api_name(frames: Sequence[compat.Frame]) -> str:
    """Name the function of JAX that non-JAX code called, such as `mean` or `where`; empty when it is none of those."""
    found = ""
    for code, _ in frames:
        path = code.co_filename
        if path.startswith(_API):
            found = found if code.co_name in _GENERIC else code.co_name
        elif layer_of(path) in (USER, LIBRARY):
            break
    return found.strip("_")


def call_site() -> tuple[str, Span | None]:
    """Say who is calling a patched function right now: whose code, and the user's place on the way."""
    caller = ""
    for frame in _outwards(sys._getframe(1)):
        layer = layer_of(frame.f_code.co_filename)
        if layer in (JAX, PYTHON, OURS):
            continue
        if layer == USER:
            return caller or USER, span_at(frame.f_code, frame.f_lasti)
        if not caller and not is_transparent(frame.f_code.co_filename):
            caller = LIBRARY
    return caller, None


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
