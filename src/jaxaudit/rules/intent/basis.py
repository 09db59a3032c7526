"""What an obligation rests on, found by asking again without what is only said."""

from __future__ import annotations

from collections.abc import Iterable

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.queries import holders, walk
from jaxaudit.analyses.solve import rests_on_shapes, solve_checked
from jaxaudit.ir import Region
from jaxaudit.ir.basis import Basis
from jaxaudit.rules.base import Obligation, Rule, Severity, Verdict


def based(rule: type[Rule], obligations: Iterable[Obligation], facts: Facts) -> list[Obligation]:
    """Mark the violations that a rule no longer finds where unchecked annotations are left out."""
    found = list(obligations)
    issues = [one for one in found if _is_issue(one)]
    asks = bool(issues) and any(map(rests_on_shapes, rule.needs)) and _may_rest_on_words(facts, issues)
    checked = facts.memo(solve_checked) if asks else facts
    if checked is not facts:
        sure = {one.span for one in rule().check(checked.program, checked) if _is_issue(one)}
        for one in issues:
            one.basis = one.basis if one.span in sure else Basis.SAID
    return found


def _is_issue(one: Obligation) -> bool:
    return one.verdict is Verdict.VIOLATED and one.severity is not Severity.WARNING


def _may_rest_on_words(facts: Facts, issues: Iterable[Obligation]) -> bool:
    """Whether an annotation that nobody checks stands in one program with an issue: else none rests on it."""
    said = _said(facts)
    if not said:
        return False
    spans = {one.span for one in issues}
    places = facts.places.region_of
    return not said.isdisjoint(_around(facts, {places[op] for op in facts.program.walk() if op.span in spans}))


@remembered
def _said(facts: Facts) -> frozenset[Region]:
    """Return the regions of all roots that an unchecked annotation speaks of a value in."""
    declared = facts.program.declared.items()
    values = [value for value, one in declared if one.basis is Basis.SAID and one.is_certain]
    regions = {facts.places.region_of_value(value) for value in values}
    return frozenset(_around(facts, {region for region in regions if region is not None}))


def _around(facts: Facts, regions: set[Region]) -> set[Region]:
    """Return the roots that regions are run by."""
    roots = {root.region for root in facts.program.roots}
    places = facts.places.region_of
    return roots.intersection(walk(regions, lambda one: [places[op] for op in holders(facts.flow, one)]))
