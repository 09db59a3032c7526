"""What `jax.jit` gives, with an eye on its calls: all are counted, and a few are looked at.

Calls are looked at ever more seldom, so that what a look costs does not count.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from types import MethodType
from typing import Any

from jaxaudit.frontends.jaxpr.script import StopScript

DEPTH: ContextVar[int] = ContextVar("depth", default=0)
"""How many watched functions are running around this one, in this thread or task."""

Look = Callable[[int, tuple[Any, ...], dict[str, Any]], Callable[[Any], None] | None]
"""Is told the number and the arguments of a call before it is made, and may want to be told what it gives."""


class Compiled:
    """A compiled function that looks at some of its calls and may end the script at one; all else is JAX's."""

    # What is called is looked up in the slot: neither a method of ours nor an attribute stands in the way of a call.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    def __init__(self, jitted: Any, steps: int, look: Look) -> None:
        self._jitted = jitted
        self.__call__ = _watched(jitted, steps, look)
        functools.update_wrapper(self, jitted)
        self.__wrapped__ = getattr(jitted, "__wrapped__", jitted)
        # From Python 3.12 on, `isinstance(f, jax.stages.Wrapped)` asks for what an object has itself.
        self.__dict__.update({name: getattr(jitted, name) for name in dir(jitted) if not name.startswith("_")})

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "_jitted":
            # A copy asks for it before it has it.
            raise AttributeError(name)
        return getattr(self._jitted, name)


def _watched(jitted: Any, steps: int, look: Look) -> Callable[..., Any]:
    """Return what calls a compiled function and counts: variables of a closure cost next to nothing."""
    calls, due, depth = 0, 2, DEPTH.get

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        # Calls inside other functions do not count.
        if depth():
            return jitted(*args, **kwargs)
        calls += 1
        if calls < due:
            return jitted(*args, **kwargs)
        afterwards = attend(args, kwargs)
        result = jitted(*args, **kwargs)
        if afterwards is not None:
            afterwards(result)
        return result

    def attend(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], None] | None:
        nonlocal due
        if steps and calls > steps:
            raise StopScript("steps")
        due = calls + max(1, calls // 2)
        if steps:
            due = min(due, steps + 1)
        return look(calls, args, kwargs)

    return call
