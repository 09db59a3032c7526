"""The report for a coding agent: plain text, the most telling facts first, within a bound that it says.

Of one file it is what to look at, of several an index of where to look, of a change what it broke.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

from jaxaudit.reports import change_words as words
from jaxaudit.reports.agent_file import boundary_line, file_blocks, finding_lines
from jaxaudit.reports.agent_text import Block, written
from jaxaudit.reports.change import Change
from jaxaudit.reports.identity import Outline, Sources, enclosing, outline
from jaxaudit.reports.model import Boundary, Report, Transformation
from jaxaudit.reports.registry import Detail, Format
from jaxaudit.reports.sections import counted, coverage_line, summary_line
from jaxaudit.reports.snippet import clean

_MOST_FUNCTIONS = 20
_MOST_REASONS = 3
_OF_VALUES = frozenset(("flow", "axes", "scan", "vmap", "gradients", "sharding", "envs"))
"""The families whose mistakes raise nothing: what they leave open matters most to a reader."""


def render_agent(report: Report, sources: Sources) -> str:
    """Write the facts of one file, the index of several, or what a change did."""
    return "\n".join(clean(line) for line in written(_blocks(report, sources)).split("\n"))


def _blocks(report: Report, sources: Sources) -> Iterator[Block]:
    if report.change is not None:
        return _change_blocks(report, report.change)
    paths = {one.path for one in report.targets}
    return _index_blocks(report, sources) if len(paths) > 1 else file_blocks(report)


def _render(report: Report, sources: Sources, out: TextIO, detail: Detail) -> None:
    out.write(render_agent(report, sources))


FORMAT = Format(_render)


def _change_blocks(report: Report, change: Change) -> Iterator[Block]:
    """Return what a change did, the most telling first."""
    head = [words.headline(change), words.dispatch(change), words.conclusion(report, change)]
    yield Block("", [line for line in head if line], 800)
    yield Block("CONSTRAINTS BROKEN (they held before)", list(_broken(report, change)), 1700)
    new = [line for one in words.new_findings(report, change) for line in finding_lines(one, path=True)]
    yield Block("NEW FINDINGS", new, 1200)
    lost = [f"  {words.place(one)} {one.rule}: {words.undecided(one)}" for one in words.still_undecided(report, change)]
    yield Block("NO LONGER SHOWN TO HOLD", lost, 700)
    edges = [f"  {one.path}:{one.line} {one.kind}: {one.text}" for one in change.boundaries]
    yield Block("CHANGED AT BOUNDARIES (does every caller know?)", edges, 700)
    facts = [f"  {one.path}:{one.line} {one.kind}: {one.text}" for one in change.facts]
    yield Block("COMPUTED OTHERWISE (is it meant?)", facts, 700)
    touched = {one.path for one in change.files}
    leads = [f"  {one.path}:{one.line}: {one.text}" for one in report.leads if one.path in touched]
    yield Block("WORTH A SECOND LOOK IN WHAT CHANGED (facts, no verdicts)", leads, 600)
    yield Block("FIXED", [f"  {one.path}:{one.line} {one.rule}: {words.fixed(one)}" for one in change.fixed], 200)


def _broken(report: Report, change: Change) -> Iterator[str]:
    for one, finding in words.broken_findings(report, change):
        yield from finding_lines(finding, path=True)
        yield f"    before: {words.was(one)}"


def _index_blocks(report: Report, sources: Sources) -> Iterator[Block]:
    """Return the blocks of a project's index."""
    head = [f"{counted(len(report.targets), 'file', 'files')}: {summary_line(report).plain}"]
    head += [coverage_line(report, verbose=True), "The facts of one file: jaxaudit check FILE --format agent"]
    yield Block("", head, 600)
    issues = [line for one in report.issues for line in finding_lines(one, path=True)]
    yield Block("ISSUES (verdicts of the engine)", issues, 2400)
    yield Block("READ FIRST (ranked, with the reason)", list(_functions(report, sources)), 2600)
    yield Block("ENTRY POINTS (and the transformations in them)", list(_entries(report)), 1200)
    yield Block("BOUNDARIES THAT STATE CROSSES", list(_crossed(report)), 1200)
    yield Block("NOT KNOWN (how often, why)", list(_open(report)), 500, may_grow=False)


@dataclass(slots=True)
class _Function:
    """Why a function is worth reading."""

    score: float = 0.0
    line: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, reason: str, score: float, line: int) -> None:
        self.score += score
        self.line = min(self.line or line, line)
        self.reasons[reason] += 1


def _functions(report: Report, sources: Sources) -> Iterator[str]:
    found = defaultdict[tuple[str, str], _Function](_Function)
    place = _places(sources)
    for finding in report.issues:
        found[place(finding.path, finding.line)].add(f"{finding.severity} {finding.rule}", 12, finding.line)
    for finding in report.warnings:
        found[place(finding.path, finding.line)].add(f"warning {finding.rule}", 6, finding.line)
    for lead in report.leads:
        found[place(lead.path, lead.line)].add(f"line {lead.line}: {lead.text}", lead.weight / 2, lead.line)
    for one in report.boundaries:
        if carried := _carried(one):
            found[place(one.path, one.line)].add(f"{one.transform} carries {', '.join(carried[:3])}", 2, one.line)
    for unknown in report.unknown:
        if unknown.family in _OF_VALUES:
            # Ten places that nothing is known of are not ten times as telling as one.
            known = found[place(unknown.path, unknown.line)]
            known.add("unknown", 1 / (1 + known.reasons["unknown"]), unknown.line)
    ranked = sorted(found.items(), key=lambda entry: (-entry[1].score, entry[0]))
    for (path, name), one in ranked[:_MOST_FUNCTIONS]:
        yield f"  {path}:{one.line} {name or 'top level'}: {_reasons(one.reasons)}"


def _reasons(found: Counter[str]) -> str:
    """Write why, what is open last."""
    unknown = found["unknown"]
    told = [
        reason if number == 1 else f"{number} x {reason}" for reason, number in found.items() if reason != "unknown"
    ]
    rest = len(told) - _MOST_REASONS
    more = [f"{rest} more"] if rest > 0 else []
    return "; ".join([*told[:_MOST_REASONS], *more, *([f"{unknown} not decided"] if unknown else [])])


def _places(sources: Sources) -> Callable[[str, int], tuple[str, str]]:
    known: dict[str, Outline] = {}

    def place(path: str, line: int) -> tuple[str, str]:
        if path not in known:
            known[path] = outline(sources(path).text)
        return path, enclosing(known[path], line)

    return place


def _carried(one: Boundary) -> list[str]:
    return list(dict.fromkeys(crossing.name for crossing in one.entries if crossing.how == "carried" and crossing.name))


def _entries(report: Report) -> Iterator[str]:
    """Return each function that nothing calls and that transforms something, with what is nested in what."""
    roots: dict[str, list[Transformation]] = defaultdict(list)
    for row in report.transformation_stack:
        roots[row.root].append(row)
    for root, rows in sorted(roots.items(), key=lambda entry: -len(entry[1])):
        top = [row for row in rows if row.parent is None or row.depth == 0]
        told = list(dict.fromkeys(_chain(row, rows) for row in top))
        yield f"  {rows[0].path} {root.rpartition('.')[2]}: {'; '.join(told)}"


def _chain(row: Transformation, rows: list[Transformation]) -> str:
    """Write a transformation with all that is nested in it: `jit(train) > scan(step) > vmap(env)`."""
    inner = list(dict.fromkeys(_chain(one, rows) for one in rows if one.parent == row.id))
    own = f"{row.transform}({row.function})"
    if not inner:
        return own
    return f"{own} > {inner[0]}" if len(inner) == 1 else f"{own} > [{', '.join(inner)}]"


def _crossed(report: Report) -> Iterator[str]:
    for one in report.boundaries:
        if _carried(one):
            yield f"  {one.path}:{boundary_line(one).lstrip()}"


def _open(report: Report) -> Iterator[str]:
    reasons = Counter((one.rule, one.reason) for one in report.unknown if one.family in _OF_VALUES)
    for (rule, reason), number in reasons.most_common():
        yield f"  {number} x {rule}: {reason}"
