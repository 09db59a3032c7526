"""How calls of functions and classes of the program compare with their parameters."""

from __future__ import annotations

from jaxaudit.ir.record import record


@record
class CallFit:
    """One call that raises in no context: whether what it gives was compared with what is called."""

    callee: str
    open: str = ""
    """Why it could not be told in some context; empty where it fits in all of them."""
