"""The sections about data in Markdown: the flow, the stack as a diagram, the boundaries as tables, the axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.reports.crossings import UNCHANGED, Named, Row, axis_names, crossing_rows, fold, shape_text
from jaxaudit.reports.markdown_text import bounded, code, escaped, fenced, label, table
from jaxaudit.reports.model import Axis, Boundary, FlowStep, FlowValue, Report, Transformation
from jaxaudit.reports.sections import counted
from jaxaudit.reports.sections_axes import tells
from jaxaudit.reports.sections_flow import what_of

_FLOW_ROOM = 12_000
_BOUNDARY_ROOM = 12_000
_AXES_ROOM = 4_000
_MOST_NODES = 60
_MOST_CROSSINGS = 10
_MOST_VALUES = 4
_MOST_STATIONS = 10


def flow_lines(report: Report) -> Iterator[str]:
    """Return the data flow, one step a line, indented by what it stands in."""
    named = axis_names(report)
    blocks = [_step(step, named) for step in report.data_flow if step.op != "leave"]
    yield from bounded(blocks, _FLOW_ROOM, "steps are")


def _step(step: FlowStep, named: Named) -> list[str]:
    if step.op == "enter" and step.depth == 0:
        place = code(f"{step.path}:{step.line}")
        return ["", f"**{escaped(step.root)}** {place}", "", *_item(step, named)]
    return _item(step, named)


def _item(step: FlowStep, named: Named) -> list[str]:
    made = ", ".join(_values(step.makes, named))
    dropped = [value.name for value in step.makes if value.name and not value.uses and step.op != "enter"]
    does = "arguments" if step.op == "enter" else code(what_of(step))
    parts = [f"{step.line}: {does}", *([f"makes {made}" if step.op != "enter" else made] if made else [])]
    if step.note:
        parts.append(f"({escaped(step.note)})")
    if step.backward:
        parts.append("(backward)")
    if dropped:
        parts.append(f"(nothing reads {', '.join(map(code, dropped[:_MOST_VALUES]))})")
    return ["  " * max(0, step.depth - 1) + "- " + " ".join(parts)]


def _values(values: Sequence[FlowValue], named: Named) -> Iterator[str]:
    kept = [value for value in values if not value.residual]
    groups = fold([value.name for value in kept])
    for name, places in groups[:_MOST_VALUES]:
        if len(places) > 1:
            yield f"{code(name) or 'unnamed'} ({len(places)} arrays)"
        else:
            yield _value(kept[places[0]], named)
    if len(groups) > _MOST_VALUES:
        yield f"and {len(groups) - _MOST_VALUES} more"


def _value(value: FlowValue, named: Named) -> str:
    shape = shape_text(value.type, value.axes, named) or "?"
    facts = dict.fromkeys(fact for fact in (value.range, value.meaning) if fact)
    told = code(f"{value.name}: {shape}" if value.name else shape)
    return f"{told} ({escaped(', '.join(facts))})" if facts else told


def stack_lines(report: Report) -> Iterator[str]:
    """Return the nesting of transformations as a mermaid diagram, then what they were called with."""
    rows = report.transformation_stack
    shown = rows[:_MOST_NODES]
    known = {row.id for row in shown}
    lines = ["flowchart TD"]
    for row in shown:
        place = label(f"{row.path}:{row.line}")
        lines.append(f'  t{row.id}["{label(row.transform)} {label(row.function)}<br/>{place}"]')
        if row.parent in known:
            lines.append(f"  t{row.parent} --> t{row.id}")
    yield from fenced(lines, "mermaid")
    if len(rows) > len(shown):
        yield ""
        yield f"_{len(rows) - len(shown):,} transformations are left out for length; `--format json` has all of them._"
    told = [row for row in shown if row.options or (row.traces and row.traces.count > 1)]
    if told:
        yield ""
        yield from (_option(row) for row in told)


def _option(row: Transformation) -> str:
    options = ", ".join(f"{name}={value}" for name, value in row.options.items())
    again = f" traced {row.traces.count} times" if row.traces and row.traces.count > 1 else ""
    return f"- {escaped(row.transform)} {code(row.function)}: {code(options)}{again}".rstrip(": ")


def boundary_lines(report: Report) -> Iterator[str]:
    """Return a table for each boundary: outside, inside, how it crosses."""
    named = axis_names(report)
    blocks = [_boundary(row, named) for row in report.boundaries]
    yield from bounded(blocks, _BOUNDARY_ROOM, "boundaries are")


def _boundary(row: Boundary, named: Named) -> list[str]:
    place = code(f"{row.path}:{row.line}")
    head = f"**{escaped(row.transform)}** {code(row.function)} at {place}"
    ways = [("in", list(crossing_rows(row.entries, named))), ("out", list(crossing_rows(row.exits, named)))]
    cells = [_cells(way, one) for way, rows in ways for one in rows[:_MOST_CROSSINGS]]
    lines = ["", head, "", *table(("way", "value", "outside", "inside", "how"), cells)]
    rest = sum(one.count for _, rows in ways for one in rows[_MOST_CROSSINGS:])
    return [*lines, *(["", f"_{counted(rest, 'more value crosses', 'more values cross')} here._"] if rest else [])]


def _cells(way: str, row: Row) -> tuple[str, ...]:
    if row.count > 1:
        return way, code(row.name), f"{row.count} arrays", "the same" if row.how in UNCHANGED else "", escaped(row.how)
    return way, code(row.name) or "unnamed", code(row.outside), code(row.inside), escaped(row.how)


def axis_lines(report: Report) -> Iterator[str]:
    """Return the way of each axis that has a name."""
    blocks = [[_axis(axis)] for axis in report.axes if axis.name and tells(axis)]
    yield from bounded(blocks, _AXES_ROOM, "axes are")


def _axis(axis: Axis) -> str:
    stations = [one for one in axis.stations if not one.backward]
    told = [f"{one.kind} (line {one.line})" for one in stations[:_MOST_STATIONS]]
    rest = [f"and {len(stations) - _MOST_STATIONS} more"] if len(stations) > _MOST_STATIONS else []
    return f"- {code(axis.name)} of size {axis.size}: {', '.join([*told, *rest])}"
