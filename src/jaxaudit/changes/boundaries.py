"""What other code relies on and is otherwise now: carries, mapped axes, static arguments, results, types."""

from __future__ import annotations

from jaxaudit.changes.alignment import Alignment
from jaxaudit.changes.scope import Scope
from jaxaudit.reports.change import BoundaryChange
from jaxaudit.reports.model import Report


def boundary_changes(
    before: Report, after: Report, sides: Alignment, scope: Scope | None = None
) -> tuple[BoundaryChange, ...]:
    """Return what is otherwise at the boundaries of functions and transformations."""
    return ()
