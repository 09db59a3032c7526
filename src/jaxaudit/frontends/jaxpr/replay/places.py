"""Where an equation of a replayed call comes from: the user's places, who acts, and whether it is the forward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.files import JAX, LIBRARY, USER, layer_of
from jaxaudit.frontends.jaxpr.frames import is_public_part, span_at
from jaxaudit.frontends.jaxpr.places import frame_at
from jaxaudit.frontends.jaxpr.probe.where import parsed
from jaxaudit.frontends.jaxpr.protocol import Frame
from jaxaudit.frontends.jaxpr.records import RECORDS
from jaxaudit.frontends.jaxpr.sites import Surroundings

_INDEXING = tuple(
    f"{compat.JAX_FOLDER}/_src/{name}.py"
    for name in ("numpy/indexing", "numpy/array_methods", "ops/scatter", "lax/slicing", "lax/lax")
)
"""The files of JAX that do nothing but what their caller asks of an index."""

Way = Sequence[Any]
"""An equation and those around it, outermost first."""


class Places:
    """Reads the frames of equations; each is read once."""

    def __init__(self) -> None:
        self._read = Surroundings(RECORDS).read

    def users(self, way: Way) -> tuple[Frame, ...]:
        """Return the user's places of an equation, innermost first; those of the call around it where it has none."""
        for equation in self._told(way):
            found = self._read(equation)[0].users
            if found:
                return tuple(frame_at(*place.frame) for place in found)
        return ()

    def is_forward(self, way: Way) -> bool:
        """Whether an equation belongs to no backward pass, and computes nothing again for one."""
        arounds = [self._read(equation)[1] for equation in way]
        again = any(bool(equation.params.get("differentiated")) for equation in way)
        return not again and not any(one.backward or one.recomputed or one.rule for one in arounds)

    def is_random(self, way: Way) -> bool:
        """Whether `jax.random` made an equation."""
        return any(self._read(equation)[0].random is not None for equation in way)

    def act(self, way: Way) -> str:
        """Return what an equation does, as the user called it."""
        origins = (self._read(equation)[0] for equation in self._told(way))
        named = next((one.api for one in origins if one.users), "")
        return named.removeprefix("operator_") or str(way[-1].primitive.name)

    def indexes(self, way: Way) -> bool:
        """Whether code outside JAX asked for an index, and said nothing of what becomes of one that is out of range."""
        for equation in self._told(way):
            codes, offsets = compat.frames_of(compat.traceback_of(equation))
            for code, offset in zip(codes, offsets, strict=True):
                layer = layer_of(code.co_filename)
                if layer in (USER, LIBRARY):
                    return not _says_mode(code, offset)
                if layer == JAX and is_public_part(code.co_filename) and code.co_filename not in _INDEXING:
                    return False
        return False

    def _told(self, way: Way) -> Iterator[Any]:
        """Return an equation and those around it, innermost first, as far as their frames are their own."""
        inner = len(way)
        if not compat.CUTS_TRACEBACKS:
            for number, equation in enumerate(way[:-1]):
                jaxpr = next(compat.inner_jaxprs(equation.params), None)
                if jaxpr is not None and layer_of(compat.function_of(jaxpr).path) == JAX:
                    inner = number + 1
                    break
        return reversed(way[:inner])


def _says_mode(code: CodeType, offset: int) -> bool:
    """Whether the call at an instruction is given a `mode`."""
    tree, span = parsed(code.co_filename), span_at(code, offset)
    if tree is None:
        return False
    here = (span.line, span.column, span.end_line, span.end_column)
    return any(
        isinstance(node, ast.Call)
        and (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == here
        and any(keyword.arg == "mode" for keyword in node.keywords)
        for node in ast.walk(tree)
    )
