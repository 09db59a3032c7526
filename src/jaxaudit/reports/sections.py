"""The long form of the report: its six sections in order, what is unknown, and the coverage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.text import Text

from jaxaudit.reports.model import Coverage, Finding, ObservedFunction, Report, SkippedFunction, Unknown, Verified
from jaxaudit.reports.sections_axes import axes_section
from jaxaudit.reports.sections_flow import boundary_section, flow_section, stack_section
from jaxaudit.reports.snippet import Look, clean

Kind = TypeVar("Kind")
Findings = Callable[[Sequence[Finding]], Iterator[Text]]
_SHOWN_PLACES = 3
_SHOWN_LINES = 12


def all_sections(report: Report, findings: Findings, look: Look) -> Iterator[Text]:
    """Return everything the report holds, section by section."""
    for title, key, lines in _FLOW_SECTIONS:
        yield heading(title, look)
        if getattr(report, key):
            yield from lines(report, look)
        else:
            yield Text("  needs exact shapes: use `run` or `trace`" if key in report.not_available else "  none", "dim")
            yield Text()
    if report.axes:
        yield heading("Axes", look)
        yield from axes_section(report, look)
    yield heading("Issues Found", look)
    yield from findings(report.issues) if report.issues else _none()
    yield heading("Verified Correct", look)
    yield from _verified(report.verified) if report.verified else _none()
    yield heading("Warnings", look)
    yield from findings(report.warnings) if report.warnings else _none()
    yield heading("Could Not Be Decided", look)
    yield from _unknown(report.unknown) if report.unknown else _none()
    yield heading("Coverage", look)
    yield from _coverage(report.coverage)
    yield summary_line(report)
    yield Text(coverage_line(report, verbose=True))


_FLOW_SECTIONS = (
    ("End-to-End Data Flow", "data_flow", flow_section),
    ("Transformation Stack", "transformation_stack", stack_section),
    ("Shape Trace at Boundaries", "boundaries", boundary_section),
)


def heading(title: str, look: Look) -> Text:
    """Return the line that opens a section."""
    line = ("─" if look.unicode else "-") * max(4, min(look.width, 80) - len(title) - 4)
    return Text().append(line[:2] + " ", "dim").append(title, "bold").append(f" {line}", "dim")


def summary_line(report: Report) -> Text:
    """Return in one line what was found."""
    kinds = [finding.severity for finding in report.issues]
    counts = [
        (kinds.count("error"), "error", "errors"),
        (kinds.count("performance"), "performance issue", "performance issues"),
        (len(report.warnings), "warning", "warnings"),
    ]
    said = [counted(number, one, many) for number, one, many in counts if number]
    if not report.issues:
        said.insert(0, "No issues")
        return Text(", ".join(said) + ".", "bold green" if not report.warnings else "bold yellow")
    return Text("Found " + ", ".join(said) + ".", "bold red")


def coverage_line(report: Report, *, verbose: bool = False) -> str:
    """Return in one line how far the audit saw."""
    seen = report.coverage
    read = f"Read {counted(seen.files, 'file', 'files')} ({counted(seen.lines, 'line', 'lines')})"
    entered = f"entered {seen.entered:,} of {counted(seen.functions, 'function', 'functions')}"
    traced = [f"saw {counted(seen.traced, 'traced function', 'traced functions')}"] if seen.traced else []
    known = [f"shapes known of {seen.shapes:,} of {counted(seen.arrays, 'array', 'arrays')}"] if seen.arrays else []
    parts = [", ".join([read, entered, *traced]), *known, _decided(seen, verbose=verbose)]
    if seen.suppressed:
        parts.append(f"{counted(seen.suppressed, 'finding', 'findings')} suppressed")
    return "; ".join(parts) + "." + _left_out(seen)


def _left_out(seen: Coverage) -> str:
    if not seen.unfollowed:
        return ""
    many = seen.unfollowed > 1
    calls = f"{counted(seen.unfollowed, 'call', 'calls')} {'were' if many else 'was'} not followed"
    return f" {calls}: the program is too large to follow {'them all' if many else 'every call'}."


def _decided(seen: Coverage, *, verbose: bool) -> str:
    if not seen.obligations:
        return "found nothing that the rules of this run look at"
    decided = seen.obligations - seen.unknown
    share = f"{100 * decided // seen.obligations}%"
    said = f"decided {decided:,} of {counted(seen.obligations, 'obligation', 'obligations')} ({share})"
    return said if verbose or not seen.unknown else f"{said}, -v tells what is open"


def _verified(verified: Iterable[Verified]) -> Iterator[Text]:
    by_rule: dict[str, list[Verified]] = defaultdict(list)
    for one in verified:
        by_rule[one.rule].append(one)
    for rule, entries in sorted(by_rule.items()):
        yield Text("  ").append(rule, "bold").append(f"  {len(entries)}", "green")
        places: dict[tuple[str, str], dict[int, None]] = defaultdict(dict)
        for one in entries:
            places[one.path, one.reason].setdefault(one.line)
        for (path, reason), lines in places.items():
            yield Text("    ").append(clean(f"{path}:{_lines(list(lines))}"), "dim").append(f"  {clean(reason)}")
    yield Text()


def _lines(lines: Sequence[int]) -> str:
    """Write the lines where one reason holds."""
    shown = ",".join(map(str, lines[:_SHOWN_LINES]))
    return shown + (f" and {len(lines) - _SHOWN_LINES} more" if len(lines) > _SHOWN_LINES else "")


def _unknown(unknown: Iterable[Unknown]) -> Iterator[Text]:
    for (rule, reason), where in ranked(((one.rule, one.reason), f"{one.path}:{one.line}") for one in unknown):
        yield Text().append(f"  {len(where):>4}  ", "yellow").append(rule, "bold").append(f"  {clean(reason)}")
        yield Text(" " * 8 + _some(where), "dim")
    yield Text()


def _coverage(seen: Coverage) -> Iterator[Text]:
    yield Text(f"  {'family':<14}{'obligations':>12}{'proved':>10}{'violated':>10}{'unknown':>10}", "dim")
    for family, tally in seen.by_family.items():
        numbers = f"{tally.obligations:>12}{tally.proved:>10}{tally.violated:>10}{tally.unknown:>10}"
        yield Text(f"  {family:<14}{numbers}")
    yield Text()
    if seen.skipped:
        yield from _skipped("functions not entered", seen.skipped)
    if seen.shapeless:
        yield from _skipped("functions without a single known shape", seen.shapeless)
    if seen.observed:
        yield from _observed(seen.observed)


def _observed(observed: Iterable[ObservedFunction]) -> Iterator[Text]:
    yield Text("  functions entered with arguments that were observed", "dim")
    for one in observed:
        name = one.function.rpartition(".")[2]
        yield Text().append(clean(f"    {one.path}:{one.line} {name}"), "dim").append(f"  {clean(one.text)}")
    yield Text()


def _skipped(title: str, skipped: Iterable[SkippedFunction]) -> Iterator[Text]:
    yield Text(f"  {title}", "dim")
    for reason, where in ranked((one.reason, f"{one.path}:{one.line} {one.function}") for one in skipped):
        yield Text().append(f"  {len(where):>4}  ", "yellow").append(clean(reason))
        yield Text(" " * 8 + _some(where), "dim")
    yield Text()


def _some(where: Sequence[str]) -> str:
    rest = len(where) - _SHOWN_PLACES
    return clean(", ".join(where[:_SHOWN_PLACES])) + (f" and {rest} more" if rest > 0 else "")


def _none() -> Iterator[Text]:
    yield Text("  none", "dim")
    yield Text()


def counted(number: int, one: str, many: str) -> str:
    """Return a number of things, in the words for one or for many."""
    return f"{number:,} {one if number == 1 else many}"


def ranked(found: Iterable[tuple[Kind, str]]) -> list[tuple[Kind, list[str]]]:
    """Return the places of each kind of thing, the most frequent kind first."""
    places: dict[Kind, list[str]] = defaultdict(list)
    for kind, place in found:
        places[kind].append(place)
    return sorted(places.items(), key=lambda entry: -len(entry[1]))
