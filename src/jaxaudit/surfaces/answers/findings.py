"""Answers about findings: of paths, of a change, of one finding, and what could not be decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxaudit.changes.repository import repository
from jaxaudit.changes.states import compared
from jaxaudit.changes.verdict import audit_change
from jaxaudit.config import UsageError, nearest
from jaxaudit.outcome import Outcome
from jaxaudit.pages import all_pages
from jaxaudit.reports.formats.agent import render_agent
from jaxaudit.reports.model import Finding
from jaxaudit.surfaces.answers.held import Audits, settings
from jaxaudit.surfaces.answers.rows import bounded, cut, notices


@dataclass(frozen=True)
class Found:
    """An issue (`error`, `performance`) or a warning."""

    id: str
    rule: str
    severity: str
    path: str
    line: int
    column: int
    message: str
    now: str
    meant: str
    fix: str


@dataclass(frozen=True)
class AuditAnswer:
    """What an audit found; `proved` and `unknown` count obligations."""

    files: int
    functions: int
    issues: int
    warnings: int
    proved: int
    unknown: int
    findings: list[Found]
    notice: str


@dataclass(frozen=True)
class Lost:
    """A constraint that held before the change, and is violated or cannot be decided now."""

    rule: str
    path: str
    line: int
    verdict: str
    now: str
    held: str


@dataclass(frozen=True)
class ChangeAnswer:
    """What a change brought, compared with an earlier state."""

    before: str
    after: str
    touches_jax: bool
    why: list[str]
    findings: list[Found]
    broken: list[Lost]
    fixed: list[str]
    boundaries: list[str]
    notice: str


@dataclass(frozen=True)
class Explanation:
    """All there is to say about one finding."""

    finding: Found
    steps: list[str]
    code: list[str]
    rule_page: str


@dataclass(frozen=True)
class Undecided:
    """Obligations that one reason leaves open."""

    reason: str
    count: int
    rules: list[str]
    places: list[str]


@dataclass(frozen=True)
class UnknownAnswer:
    """What could not be decided, the most frequent reason first."""

    unknown: int
    proved: int
    reasons: list[Undecided]
    notice: str


def audit_answer(audits: Audits, paths: Sequence[str], rules: Sequence[str], most: int) -> AuditAnswer:
    """Audit some paths; with `rules` only findings of these rules or families are told."""
    outcome = audits.of(paths).outcome
    report = outcome.report
    _check_rules(rules)
    wanted = [one for one in (*report.issues, *report.warnings) if not rules or {one.rule, one.family} & {*rules}]
    findings, left = bounded([found(one) for one in wanted], most, "findings")
    cover = report.coverage
    counts = (cover.files, cover.functions, len(report.issues), len(report.warnings), cover.proved, cover.unknown)
    return AuditAnswer(*counts, findings, notices(left, _troubles(outcome)))


def facts_page(audits: Audits, paths: Sequence[str]) -> str:
    """Return the report that `--format agent` writes of some paths, which is bounded by itself."""
    outcome = audits.of(paths).outcome
    return render_agent(outcome.report, outcome.sources)


def change_answer(base: str, most: int) -> ChangeAnswer:
    """Compare the working tree, or two commits, as `jaxaudit diff` does."""
    config = settings(())
    outcome = audit_change(compared(repository(Path.cwd()), base, config), config)
    report, change = outcome.report, outcome.report.change
    assert change is not None
    findings, left = bounded([found(one) for one in (*report.issues, *report.warnings)], most, "findings")
    lost = [Lost(one.rule, one.path, one.line, one.verdict, cut(one.now), cut(one.before)) for one in change.broken]
    broken, more = bounded(lost, most, "broken constraints")
    fixed, _ = bounded([f"{one.path}:{one.line} {one.rule}: {one.now}" for one in change.fixed], most, "repairs")
    texts = [f"{one.path}:{one.line} {cut(one.text)}" for one in (*change.boundaries, *change.facts)]
    boundaries, others = bounded(texts, most, "boundaries")
    why, _ = bounded([f"{one.path}:{one.line} {one.text}" for one in change.reasons], 5, "reasons")
    notice = notices(left, more, others, *outcome.remarks, _troubles(outcome))
    return ChangeAnswer(
        change.before, change.after, change.touches_jax, why, findings, broken, fixed, boundaries, notice
    )


def explanation(audits: Audits, name: str, paths: Sequence[str]) -> Explanation:
    """Explain the finding with an id that an audit gave; `paths` are audited where none is held that has it."""
    if audits.finding(name) is None and paths:
        audits.of(paths)
    known = audits.finding(name)
    if known is None:
        raise UsageError(f"no audit that is held has a finding `{name}`: give the paths that it was found in")
    held, one = known
    source = held.outcome.sources(one.path)
    lines = range(max(one.line - 3, 1), one.end_line + 3)
    code = [f"{number}: {text}" for number in lines if (text := source.line(number).rstrip())]
    steps = [f"{step.path}:{step.line} {cut(step.text)}" for step in one.why]
    return Explanation(found(one), steps, code[:30], rule_page(one.rule))


def rule_page(rule: str) -> str:
    """Return the page of a rule."""
    pages = {page.name: page for page in all_pages()}
    if rule not in pages:
        raise UsageError(f"there is no rule `{rule}`{nearest(rule, list(pages))}")
    return pages[rule].text


def unknown_answer(audits: Audits, paths: Sequence[str], rules: Sequence[str], most: int) -> UnknownAnswer:
    """List what could not be decided about some paths, by reason."""
    report = audits.of(paths).report
    _check_rules(rules)
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for one in report.unknown:
        if not rules or {one.rule, one.family} & {*rules}:
            groups[cut(one.reason)].append((one.rule, f"{one.path}:{one.line}"))
    reasons = [
        Undecided(reason, len(rows), sorted({rule for rule, _ in rows}), list(dict.fromkeys(at for _, at in rows))[:5])
        for reason, rows in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
    shown, left = bounded(reasons, most, "reasons")
    return UnknownAnswer(report.coverage.unknown, report.coverage.proved, shown, left)


def found(one: Finding) -> Found:
    """Return a finding as answers have it."""
    fix = one.suggestion.text if one.suggestion is not None else ""
    told = (one.message, one.current, one.expected, fix)
    return Found(one.id, one.rule, one.severity, one.path, one.line, one.column, *map(cut, told))


def _check_rules(names: Sequence[str]) -> None:
    known = {name for page in all_pages() for name in (page.name, page.family)}
    for name in names:
        if name not in known:
            raise UsageError(f"there is no rule or family `{name}`{nearest(name, sorted(known))}")


def _troubles(outcome: Outcome) -> str:
    return f"Parts of this audit failed: {'; '.join(outcome.faults)}." if outcome.faults else ""
