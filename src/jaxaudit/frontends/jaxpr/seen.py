"""Places where the user transforms a function, and what was seen of each while the script ran."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

from jaxaudit.frontends.jaxpr.arguments import Signature
from jaxaudit.frontends.jaxpr.captured import State
from jaxaudit.frontends.jaxpr.later import Later
from jaxaudit.frontends.jaxpr.places import is_user_file
from jaxaudit.frontends.jaxpr.protocol import Frame, LateCall

WRAPPERS = ("equinox", "flax", "haiku")
"""Libraries whose own calls of `jax.jit` and its kin compile the user's functions; those of others are their affair."""


@dataclass(slots=True, eq=False)
class Reads:
    """What a compiled function reads besides its arguments."""

    jitted: object
    """The one that it was noted for; the same place may make others."""
    look: Callable[[], State]
    compiled: State
    """What it was while the function was traced."""
    constants: list[Any] | None = None
    """What the program holds on to, safe from what NumPy changes in place."""
    late: LateCall | None = None


@dataclass(slots=True, eq=False)
class Site:
    """One place that transforms one function, however often it is reached."""

    name: str
    transform: str
    made: Frame
    objects: int = 0
    """How many transformed functions were made here."""
    signatures: list[Signature] = field(default_factory=list)
    call: Frame | None = None
    replay: Callable[[], Any] | None = None
    """Gives the closed jaxpr of the first call; None when there is nothing to replay."""
    names: tuple[str, ...] = ()
    """The names of the arguments, where JAX cannot know them."""
    anew: Callable[[], Any] | None = None
    """Traces the function inside `jit` or a loop again, whatever JAX remembers of it."""
    seconds: float = 0.0
    """How long the first trace took."""
    given: list[Any] | None = None
    """The arrays of the first call, one for each variable of its jaxpr; None where they could not be kept."""
    reads: Reads | None = None
    """Until the function is traced again."""
    later: Later | None = None
    closed: Any = None
    skipped: str = ""


def function_name(fun: object) -> str:
    """Return the name that people know a function by."""
    while isinstance(fun, partial):
        fun = fun.func
    return str(getattr(fun, "__name__", type(fun).__name__)).replace("<lambda>", "lambda")


def function_code(fun: object) -> object:
    """Return what two copies of one function share: their code."""
    while isinstance(fun, partial):
        fun = fun.func
    fun = getattr(fun, "__func__", fun)
    return getattr(fun, "__code__", type(fun))


def made_for_user(frame: FrameType | None) -> bool:
    """Whether the code that transforms a function there is the user's, or a library's on the user's behalf."""
    while frame is not None:
        name = frame.f_code.co_filename
        if is_user_file(name):
            return True
        package = _package(name)
        if package in WRAPPERS:
            return True
        if package and package not in ("jax", "jaxlib"):
            return False
        frame = frame.f_back
    return False


@cache
def _package(filename: str) -> str:
    """Return the installed package that a file belongs to; empty for Python's own files and ours."""
    parts = Path(filename).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return parts[parts.index(folder) + 1]
    return ""
