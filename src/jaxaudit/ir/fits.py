"""How calls of functions and classes of the program compare with their parameters."""

from __future__ import annotations

from jaxaudit.ir.record import record
from jaxaudit.spans import Span


@record
class Option:
    """A keyword that no parameter of the callee has: `**` takes it."""

    name: str
    read: bool
    """Whether the callee reads it."""
    others: tuple[str, ...] = ()
    """The keywords that the callee reads from what `**` takes."""
    meant_for: str = ""
    """A function in sight that the callee calls without it, and that has such a parameter."""


@record
class CallFit:
    """One call that raises in no context: whether what it gives was compared with what is called."""

    callee: str
    open: str = ""
    """Why it could not be told in some context; empty where it fits in all of them."""
    definition: Span | None = None
    """Where the callee is defined."""
    caller: str = ""
    """The function that calls it."""
    options: tuple[Option, ...] = ()
    """The keywords that only `**` takes, where all that reads them is in sight."""
