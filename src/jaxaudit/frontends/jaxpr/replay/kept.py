"""Holds on to what a function was first called with until the script has ended; only NumPy's arrays are copied."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.narrowed import Narrowed

ROOM = 1 << 22
"""Elements of all calls together: some megabytes."""

_TAKES_CALL = "cache_miss"
"""The function of JAX that a call of a compiled function comes to when it has to be traced."""


class Kept:
    """What calls were given, as far as there is room for it."""

    def __init__(self, room: int, narrowed: Narrowed) -> None:
        self.room = room
        """How many elements may still be kept."""
        self._narrowed = narrowed

    def traced(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
        """Return the arrays of the call that JAX traces now, one for each variable; None where they are lost."""
        jax, call = the_jax(), _call(sys._getframe(1))
        if call is None:
            return None
        given, structure = jax.tree_util.tree_flatten((call["args"], call["kwargs"]))
        traced, same = jax.tree_util.tree_flatten((tuple(args), dict(kwargs)))
        if structure != same:
            return None
        pairs = [pair for pair in zip(given, traced, strict=True) if isinstance(pair[1], jax.core.Tracer)]
        if self.room:
            self._narrowed.note(name, ((leaf, tracer.aval.dtype) for leaf, tracer in pairs))
        return self.keep([leaf for leaf, _ in pairs])

    def keep(self, leaves: Sequence[Any]) -> list[Any] | None:
        """Return the leaves of a call, safe from what NumPy changes in place; None where they are too large."""
        if any(isinstance(leaf, the_jax().core.Tracer) for leaf in leaves):
            return None
        size = sum(int(getattr(leaf, "size", 1)) for leaf in leaves)
        if size > self.room:
            return None
        self.room -= size
        jax, numpy = the_jax().Array, sys.modules["numpy"]
        # JAX has classes of its own for what is NumPy's inside.
        return [numpy.array(leaf) if hasattr(leaf, "shape") and not isinstance(leaf, jax) else leaf for leaf in leaves]


def _call(frame: FrameType | None) -> Mapping[str, Any] | None:
    while frame is not None:
        if frame.f_code.co_name == _TAKES_CALL:
            given = dict(frame.f_locals)
            if "args" in given and "kwargs" in given:
                return given
        frame = frame.f_back
    return None
