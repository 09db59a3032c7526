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

    def __init__(self, jitted: Any, steps: int, look: Look) -> None:
        self._jitted = jitted
        self._steps = steps
        self._look = look
        self._calls = 0
        self._due = 2
        functools.update_wrapper(self, jitted)
        self.__wrapped__ = getattr(jitted, "__wrapped__", jitted)
        # From Python 3.12 on, `isinstance(f, jax.stages.Wrapped)` asks for what an object has itself.
        self.__dict__.update({name: getattr(jitted, name) for name in dir(jitted) if not name.startswith("_")})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, unless it was called often enough; calls inside other functions do not count."""
        if DEPTH.get():
            return self._jitted(*args, **kwargs)
        self._calls += 1
        if self._calls < self._due:
            return self._jitted(*args, **kwargs)
        afterwards = self._attend(args, kwargs)
        result = self._jitted(*args, **kwargs)
        if afterwards is not None:
            afterwards(result)
        return result

    def _attend(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], None] | None:
        if self._steps and self._calls > self._steps:
            raise StopScript("steps")
        self._due = self._calls + max(1, self._calls // 2)
        if self._steps:
            self._due = min(self._due, self._steps + 1)
        return self._look(self._calls, args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "_jitted":
            # A copy asks for it before it has it.
            raise AttributeError(name)
        return getattr(self._jitted, name)
