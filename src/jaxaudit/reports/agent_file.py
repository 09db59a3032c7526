"""What a coding agent is told of one file: verdicts, then facts without a verdict, then what is not known."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.reports.agent_text import Block, numbers
from jaxaudit.reports.model import Boundary, Crossing, Finding, FlowValue, Report, Unknown
from jaxaudit.reports.sections import coverage_line, summary_line

_STEPS = 2
_MOST_NAMES = 6


def file_blocks(report: Report) -> Iterator[Block]:
    """Return the blocks in the order in which they are worth reading."""
    head = f"{report.targets[0].path if report.targets else 'nothing'}: {summary_line(report).plain}"
    yield Block("", [head, coverage_line(report, verbose=True)], 500)
    yield Block("ISSUES (verdicts of the engine)", [line for one in report.issues for line in finding_lines(one)], 1700)
    yield Block("WARNINGS (may be meant)", [line for one in report.warnings for line in finding_lines(one)], 800)
    leads = [f"  {one.line}: {one.text}" for one in report.leads]
    yield Block("WORTH A SECOND LOOK (facts, no verdicts)", leads, 1000)
    yield Block("BOUNDARIES", [line for line in dict.fromkeys(map(boundary_line, report.boundaries)) if line], 600)
    yield Block("SHAPES (named values by function)", list(_shapes(report)), 900)
    yield Block("AXES (where each is used up or mapped)", list(_axes(report)), 300)
    yield Block("NOT KNOWN (nothing is claimed here)", list(_unknown(report)), 700, may_grow=False)


def finding_lines(one: Finding, *, path: bool = False) -> Iterator[str]:
    """Write a finding: what, now and meant, the way, the fix."""
    place = f"{one.path}:{one.line}" if path else str(one.line)
    fix = one.suggestion.text if one.suggestion else ""
    yield f"  {place} {one.severity} {one.rule}: {one.message}"
    for name, text in (("now", one.current), ("meant", one.expected), ("fix", fix)):
        if text:
            yield f"    {name}: {text}"
    steps = [f"{_at(step.path, step.line, one.path)} {step.text}" for step in one.why if step.line != one.line]
    if steps:
        yield f"    why: {'; '.join(steps[:_STEPS])}"


def _at(path: str, line: int, here: str) -> str:
    return str(line) if path == here else f"{path}:{line}"


def boundary_line(one: Boundary) -> str:
    """Write a boundary in one line: what crosses it, and how; what merely goes through is not told."""
    ways: dict[str, list[str]] = defaultdict(list)
    entered = {crossing.how for crossing in one.entries}
    for crossing in (*one.entries, *(out for out in one.exits if out.how not in entered)):
        if crossing.how.startswith(_TOLD) and crossing.name:
            ways[crossing.how].append(_crossing(crossing))
    told = "; ".join(f"{how} {_some(names)}" for how, names in ways.items())
    return f"  {one.line} {one.transform}({one.function or '?'}): {told}" if told else ""


_TOLD = ("carried", "mapped", "shared", "scanned", "stacked", "collected", "put together", "split")
"""How values cross that another axis, or another turn, sees."""


def _crossing(one: Crossing) -> str:
    return f"{one.name} {one.outside}" if _is_telling(one.outside) else one.name


def _some(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(names))
    rest = len(known) - _MOST_NAMES
    return ", ".join(known[:_MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def _is_telling(kind: str) -> bool:
    """Whether a type says something of the axes of an array: keys and numbers are no news."""
    dtype, _, sizes = kind.removesuffix("]").partition("[")
    known = [one for one in sizes.split(",") if one not in ("", "?")]
    return bool(known) and dtype != "key" and kind != "u32[2]"


def _shapes(report: Report) -> Iterator[str]:
    """Return for each function the values that have a name and a known shape, those of one type together."""
    names = {axis.id: axis.name for axis in report.axes if axis.named_by not in ("vmap", "scan")}
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for step in report.data_flow:
        for value in (*step.enters, *step.makes):
            if value.name and _is_telling(value.type):
                same = found[step.function][_typed(value, names)]
                same += [value.name] if value.name not in same else []
    for function, types in found.items():
        told = (f"{', '.join(values)} {kind}" for kind, values in types.items())
        yield f"  {function}: {'; '.join(told)}"


def _typed(value: FlowValue, names: Mapping[str, str]) -> str:
    """Write a type with the names of its axes: `f32[NUM_ENVS,8]`."""
    dtype, _, rest = value.type.partition("[")
    sizes = rest.removesuffix("]").split(",")
    axes = [names.get(one, "") for one in value.axes] or [""] * len(sizes)
    return f"{dtype}[{','.join(axis or size for axis, size in zip(axes, sizes, strict=False))}]"


_USED = ("reduced", "vmapped", "scanned", "merged", "split", "indexed", "sharded")


def _axes(report: Report) -> Iterator[str]:
    """Return each axis that has a name, and where it is reduced, mapped, scanned or changed."""
    for axis in report.axes:
        lines: dict[str, set[int]] = defaultdict(set)
        for station in axis.stations:
            if station.kind in _USED and not station.backward:
                lines[station.kind].add(station.line)
        if axis.name:
            told = "; ".join(f"{kind} on {numbers(lines[kind])}" for kind in _USED if kind in lines)
            size = f"={axis.size}" if axis.size else ""
            yield f"  {axis.name}{size}: {told}" if told else f"  {axis.name}{size}"


def _unknown(report: Report) -> Iterator[str]:
    """Return what each rule leaves open, the one with the most places first; rules open at the same lines together."""
    places: dict[str, list[Unknown]] = defaultdict(list)
    for one in report.unknown:
        places[one.rule].append(one)
    grouped: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for rule, found in places.items():
        grouped[tuple(sorted({one.line for one in found}))].append(rule)
    for lines, rules in sorted(grouped.items(), key=lambda entry: (-len(entry[0]) * len(entry[1]), entry[0])):
        reasons = Counter(one.reason for rule in rules for one in places[rule])
        yield f"  {', '.join(rules)}: {numbers(lines)} ({reasons.most_common(1)[0][0]})"
