"""Takes an exception apart into facts that travel: its type, its message, its frames, and where JAX says it began."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType
from typing import TypeVar

from jaxaudit.frontends.jaxpr.given import given, is_array
from jaxaudit.frontends.jaxpr.holds import holds
from jaxaudit.frontends.jaxpr.leaves import argument_leaves, mapped_leaf
from jaxaudit.frontends.jaxpr.places import is_user_file, traceback_frames
from jaxaudit.frontends.jaxpr.protocol import Failure, Frame

Answer = TypeVar("Answer")
_BEFORE_TRANSFORMATION = "JaxStackTraceBeforeTransformation"


def describe(error: BaseException) -> Failure:
    """Return the facts of an exception."""
    return Failure(
        _name(type(error)),
        tuple(_name(base) for base in type(error).__mro__[1:] if base is not object),
        _message(error),
        traceback_frames(error.__traceback__),
        _origin(error),
        given(error.__traceback__),
        tuple(dict.fromkeys(_name(type(cause)) for cause in _causes(error))),
        _similar(error),
        _asked(lambda: argument_leaves(error.__traceback__), ()),
        _asked(lambda: mapped_leaf(error.__traceback__), None),
        _asked(lambda: holds(error), ()),
    )


def _asked(question: Callable[[], Answer], otherwise: Answer) -> Answer:
    """Ask frames of any library and any version; what they cannot answer costs a detail, not the report."""
    try:
        return question()
    except Exception:  # noqa: BLE001
        return otherwise


def first_user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """Skip the frames before the first one of the user's."""
    start = traceback
    while start is not None and not is_user_file(start.tb_frame.f_code.co_filename):
        start = start.tb_next
    return start or traceback


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        version = ".".join(map(str, sys.version_info[:2]))
        return f"{error.msg} ({error.filename}, line {error.lineno}, Python {version})"
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return "(its message cannot be printed)"


def _name(kind: type) -> str:
    module = kind.__module__.replace("jax._src.errors", "jax.errors")
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _origin(error: BaseException) -> tuple[Frame, ...]:
    """Return the stack of the operation that was transformed: JAX hides it in the causes of the exception."""
    hidden = (cause for cause in _causes(error) if type(cause).__name__ == _BEFORE_TRANSFORMATION)
    return next((traceback_frames(cause.__traceback__) for cause in hidden), ())


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _similar(error: BaseException) -> tuple[str, ...]:
    """Return names of a module or an array that look like one that it does not have."""
    if not isinstance(error, AttributeError):
        return ()
    # Modules that warn of old names raise by themselves, and only the message says of what.
    told = re.search(r"^module '(\S+)' has no attribute '(\w+)'", str(error))
    owner, name = (sys.modules.get(told[1]), told[2]) if told else (error.obj, error.name)
    # What else has attributes may be the user's, and is left alone.
    if not isinstance(name, str) or not (isinstance(owner, ModuleType) or is_array(owner)):
        return ()
    return tuple(difflib.get_close_matches(name, [one for one in dir(owner) if not one.startswith("_")], 2, _ALIKE))


_ALIKE = 0.65
"""How alike two short names must be, from 0 to 1: one letter of three may differ."""
