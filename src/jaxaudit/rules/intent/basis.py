"""What an obligation rests on, found by asking again without what is only said."""

from __future__ import annotations

from collections.abc import Iterable

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.solve import rests_on_shapes, solve_checked
from jaxaudit.ir.basis import Basis
from jaxaudit.rules.base import Obligation, Rule, Severity, Verdict


def based(rule: type[Rule], obligations: Iterable[Obligation], facts: Facts) -> list[Obligation]:
    """Mark the violations that a rule no longer finds where unchecked annotations are left out."""
    found = list(obligations)
    issues = [one for one in found if _is_issue(one)]
    asks = bool(issues) and any(map(rests_on_shapes, rule.needs)) and _has_said(facts)
    checked = facts.memo(solve_checked) if asks else facts
    if checked is not facts:
        sure = {one.span for one in rule().check(checked.program, checked) if _is_issue(one)}
        for one in issues:
            one.basis = one.basis if one.span in sure else Basis.SAID
    return found


def _is_issue(one: Obligation) -> bool:
    return one.verdict is Verdict.VIOLATED and one.severity is not Severity.WARNING


def _has_said(facts: Facts) -> bool:
    return any(one.basis is Basis.SAID and one.is_certain for one in facts.program.declared.values())
