"""Facts of the source that are no verdicts and worth a second look, the most telling ones first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.reports.leads.arrays import axes_grow, buffer_unwritten, condition_decided
from jaxaudit.reports.leads.base import Collect, Look
from jaxaudit.reports.leads.names import bound_again, older_name_read, unread_parameter, unread_value
from jaxaudit.reports.leads.state import carry_left_alone, gradient_elsewhere, old_version_read
from jaxaudit.reports.leads.written import branch_differs, call_differs, option_differs
from jaxaudit.reports.model import Finding, Lead

KINDS: tuple[Collect, ...] = (
    unread_value,
    bound_again,
    unread_parameter,
    older_name_read,
    old_version_read,
    gradient_elsewhere,
    carry_left_alone,
    axes_grow,
    condition_decided,
    buffer_unwritten,
    call_differs,
    option_differs,
    branch_differs,
)


def leads(look: Look, findings: Sequence[Finding] = ()) -> tuple[Lead, ...]:
    """Collect the leads of every kind; what a finding says of a line already is left out."""
    told = {(one.path, one.line) for one in findings}
    found: dict[tuple[str, str, int], Lead] = {}
    for one in _all(look):
        # A function that is called twice shows its facts twice.
        found.setdefault((one.kind, one.path, one.line), one)
    kept = [one for one in found.values() if (one.path, one.line) not in told]
    return tuple(sorted(kept, key=lambda one: (-one.weight, one.path, one.line, one.text)))


def _all(look: Look) -> Iterator[Lead]:
    for kind in KINDS:
        name = kind.__name__.replace("_", "-")
        for span, text, weight in kind(look):
            if span.path in look.paths:
                yield Lead(name, span.path, span.line, text, weight)
