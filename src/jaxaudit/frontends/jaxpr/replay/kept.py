"""Holds on to what a function was first called with until the script has ended; only NumPy's arrays are copied."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.narrowed import Narrowed

ROOM = 1 << 22
"""Elements of all calls together: some megabytes."""

_TAKES_CALL = "cache_miss"
"""The function of JAX that a call of a compiled function comes to when it has to be traced."""


@dataclass(frozen=True, slots=True)
class Form:
    """How the variables of a program stand in the arguments of its calls."""

    structure: Any
    traced: tuple[bool, ...]

    def variables(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
        """Return the leaves of a call that are variables; None where its arguments are of another form."""
        leaves, structure = the_jax().tree_util.tree_flatten((tuple(args), dict(kwargs)))
        if structure != self.structure:
            return None
        return [leaf for leaf, traced in zip(leaves, self.traced, strict=True) if traced]


class Kept:
    """What calls were given, as far as there is room for it."""

    def __init__(self, room: int, narrowed: Narrowed) -> None:
        self.room = room
        """How many elements may still be kept."""
        self._narrowed = narrowed

    def traced(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any] | None, Form] | None:
        """Return the arrays of the call that JAX traces now, one for each variable, and how they stand in it.

        None where the call is lost.
        """
        jax, call = the_jax(), _call(sys._getframe(1))
        if call is None:
            return None
        leaves, structure = jax.tree_util.tree_flatten((tuple(args), dict(kwargs)))
        form = Form(structure, tuple(isinstance(leaf, jax.core.Tracer) for leaf in leaves))
        given = form.variables(call["args"], call["kwargs"])
        if given is None:
            return None
        if self.room:
            tracers = [leaf for leaf in leaves if isinstance(leaf, jax.core.Tracer)]
            self._narrowed.note(name, ((leaf, one.aval.dtype) for leaf, one in zip(given, tracers, strict=True)))
        return self.keep(given), form

    def keep(self, leaves: Sequence[Any], *, donated: bool = False) -> list[Any] | None:
        """Return the leaves of a call, safe from changes; None where they are too large."""
        if any(isinstance(leaf, the_jax().core.Tracer) for leaf in leaves):
            return None
        size = _size(leaves)
        if size > self.room:
            return None
        self.room -= size
        jax, numpy = the_jax().Array, sys.modules["numpy"]
        # JAX has classes of its own for what is NumPy's inside.
        if donated:
            leaves = [leaf.copy() if isinstance(leaf, jax) else leaf for leaf in leaves]
        return [numpy.array(leaf) if hasattr(leaf, "shape") and not isinstance(leaf, jax) else leaf for leaf in leaves]

    def release(self, leaves: Sequence[Any] | None) -> None:
        """Have the room of what was kept for others."""
        self.room += _size(leaves or ())


def _size(leaves: Sequence[Any]) -> int:
    return sum(int(getattr(leaf, "size", 1)) for leaf in leaves)


def _call(frame: FrameType | None) -> Mapping[str, Any] | None:
    while frame is not None:
        if frame.f_code.co_name == _TAKES_CALL:
            given = dict(frame.f_locals)
            if "args" in given and "kwargs" in given:
                return given
        frame = frame.f_back
    return None
