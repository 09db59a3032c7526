"""Takes an exception apart into facts that travel: its type, its message, its frames, and where JAX says it began."""

from __future__ import annotations

from types import TracebackType

from jaxaudit.frontends.jaxpr.places import is_user_file, traceback_frames
from jaxaudit.frontends.jaxpr.protocol import Failure, Frame

_BEFORE_TRANSFORMATION = "JaxStackTraceBeforeTransformation"


def describe(error: BaseException) -> Failure:
    """Give the facts of an exception."""
    return Failure(
        _name(type(error)),
        tuple(_name(base) for base in type(error).__mro__[1:] if base is not object),
        _message(error),
        traceback_frames(error.__traceback__),
        _origin(error),
    )


def first_user_traceback(traceback: TracebackType | None) -> TracebackType | None:
    """Skip the frames before the first one of the user's."""
    start = traceback
    while start is not None and not is_user_file(start.tb_frame.f_code.co_filename):
        start = start.tb_next
    return start or traceback


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg} ({error.filename}, line {error.lineno})"
    try:
        return str(error)
    except Exception:  # noqa: BLE001
        return "(its message cannot be printed)"


def _name(kind: type) -> str:
    module = kind.__module__.replace("jax._src.errors", "jax.errors")
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def _origin(error: BaseException) -> tuple[Frame, ...]:
    """Give the stack of the operation that was transformed: JAX hides it in the causes of the exception."""
    seen: set[int] = set()
    cause: BaseException | None = error.__cause__ or error.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if type(cause).__name__ == _BEFORE_TRANSFORMATION:
            return traceback_frames(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__
    return ()
