"""From the frames of an equation to the user's place, to whoever called a transformation, and to JAX's own function."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from opcode import opmap
from types import CodeType, FrameType
from typing import Any, NamedTuple

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.derivatives import RUN_CODE
from jaxaudit.frontends.jaxpr.files import JAX, LIBRARY, OURS, PYTHON, USER, is_transparent, layer_of, shown
from jaxaudit.spans import Span

_API = tuple(f"{compat.JAX_FOLDER}/_src/{part}" for part in ("numpy/", "nn/", "scipy/", "lax/", "image/", "ops/"))
_RANDOM = (f"{compat.JAX_FOLDER}/_src/random", f"{compat.JAX_FOLDER}/_src/prng")
_RANDOM_FILE, _API_FILE = "random", "api"


_GENERIC = frozenset(("op", "meth", "call", "__call__", "deferring_binary_op", "fn", "wrapper", "_scatter_update"))
"""Functions of JAX that only pass on to the one that has a name."""


_UNARY = {opmap["UNARY_NEGATIVE"]: "operator_neg", opmap["UNARY_INVERT"]: "operator_invert"}
"""JAX has no function of its own for `-x` and `~x`: the instruction of Python tells them from `jnp.negative(x)`."""


_spans: dict[tuple[int, int], tuple[CodeType, Span]] = {}
"""The places that were asked for. Hashing code is slow, and equal code may stand in two files; identities tell it apart
as long as it is kept alive."""


def span_at(code: CodeType, offset: int) -> Span:
    """Return the place of one instruction."""
    known = _spans.get((id(code), offset))
    if known is None:
        known = _spans[id(code), offset] = (code, _span_at(code, offset))
    return known[1]


def _span_at(code: CodeType, offset: int) -> Span:
    line, end_line, column, end_column = next(
        islice(code.co_positions(), offset // 2, None), (code.co_firstlineno, None, 0, 0)
    )
    line = line or code.co_firstlineno
    return Span(shown(code.co_filename), line, column or 0, end_line or line, end_column or 0)


_PASSING = frozenset(("run_interceptors", "wrapped_module_method", "bound_method"))
"""Functions of libraries that only call a module's method."""


class Place(NamedTuple):
    """One frame in the user's code."""

    frame: compat.Frame
    span: Span


@dataclass(slots=True)
class Origin:
    """What the frames of an equation say; equations of one line share it."""

    users: tuple[Place, ...] = ()
    """The user's frames, innermost first."""
    random: compat.Frame | None = None
    """The function of `jax.random` that was called from outside it."""
    api: str = ""
    """The function of JAX that code outside JAX called, such as `mean` or `where`."""
    library: str = ""
    """The function of a library that the user's code called, such as `apply_gradients`; a module by its class."""
    caller: str = ""
    """Whose code called into JAX; wrappers that only pass a function on are looked through."""


NOWHERE = Origin()


class Origins:
    """Reads frames, each traceback once."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Sequence[CodeType], Origin]] = {}
        self._met: dict[Any, Origin] = {}
        self._joined: dict[tuple[int, int], Origin] = {}

    def of(self, equation: Any) -> Origin:
        """Return the origin of an equation."""
        # Two tracebacks of the same frames are mostly equal to JAX, which compares them faster than we do.
        traceback = compat.traceback_of(equation)
        found = self._met.get(traceback)
        if found is None:
            found = self._met[traceback] = self._of(traceback)
        return found

    def _of(self, traceback: Any) -> Origin:
        codes, offsets = compat.frames_of(traceback)
        # Hashing code objects is slow; their identities do as long as they are kept alive beside them.
        key = (tuple(map(id, codes)), tuple(offsets))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (codes, _read(codes, offsets))
        return known[1]

    def in_rule(self, origin: Origin, called: Any) -> Origin:
        """Return the origin of an equation of a derivative rule: its own frames, then those of the call."""
        key = (id(origin), id(called))
        known = self._joined.get(key)
        if known is None:
            outer = _read(*called.raw_frames())
            known = self._joined[key] = replace(origin, users=(*origin.users, *outer.users))
        return known


def _read(codes: Sequence[CodeType], offsets: Sequence[int]) -> Origin:
    origin = Origin()
    users: list[Place] = []
    inside_jax = True
    for code, offset in zip(codes, offsets, strict=True):
        if code is RUN_CODE:
            break
        path = code.co_filename
        layer = layer_of(path)
        if layer == JAX and not inside_jax:
            continue
        if layer == USER:
            if inside_jax:
                origin.api = _UNARY.get(code.co_code[offset], origin.api)
            users.append(Place((code, offset), span_at(code, offset)))
        if layer == LIBRARY and not users:
            origin.library = _public(code) or origin.library
        if layer in (USER, LIBRARY):
            inside_jax = False
            if not origin.caller and (layer == USER or not is_transparent(path)):
                origin.caller = layer
        elif inside_jax:
            part = _part_of_jax(path)
            if part == _RANDOM_FILE:
                origin.random = (code, offset)
            elif part == _API_FILE and code.co_name not in _GENERIC:
                origin.api = code.co_name.strip("_")
    origin.users = tuple(users)
    return origin


@cache
def _part_of_jax(path: str) -> str:
    """Return which of the parts of JAX that users call a file belongs to."""
    return _RANDOM_FILE if path.startswith(_RANDOM) else _API_FILE if path.startswith(_API) else ""


def is_public_part(path: str) -> bool:
    """Whether a file of JAX holds functions that users call."""
    return bool(_part_of_jax(path))


def _public(code: CodeType) -> str:
    """Return the name of a library's function as its users know it; empty for what only passes on."""
    *owners, name = code.co_qualname.split(".")
    if name == "__call__" and owners and not owners[-1].startswith("<"):
        return owners[-1].lstrip("_")
    if "<locals>" in owners:
        # Optax keeps the functions that it hands out as closures: `update_fn`.
        return name.removesuffix("_fn") if name.endswith("_fn") and not name.startswith("_") else ""
    return "" if name.startswith(("_", "<")) or name in _PASSING else name


def call_site() -> tuple[str, Span | None]:
    """Return who is calling a patched function right now: whose code, and the user's place on the way."""
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
