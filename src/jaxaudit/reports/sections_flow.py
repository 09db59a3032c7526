"""The three sections about data in the text report: flow, transformation stack, boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.text import Text

from jaxaudit.ir.ops import UNFOLLOWED
from jaxaudit.reports.crossings import Named, Row, arrays, axis_names, crossing_rows, fold, shape_text
from jaxaudit.reports.model import Crossing, FlowStep, FlowValue, Report, Transformation
from jaxaudit.reports.snippet import Look, clean
from jaxaudit.reports.stack import TRANSFORMS


class Branch(NamedTuple):
    """A row with the guides before it, and those before what is said below it."""

    row: Transformation
    guide: str
    below: str


def branches(rows: Sequence[Transformation], look: Look) -> Iterator[Branch]:
    """Return the rows of a stack with their guides; rows come in order, each below the one it is nested in."""
    fork, corner, bar = ("├─ ", "└─ ", "│  ") if look.unicode else ("|- ", "`- ", "|  ")
    last = _last_rows(rows)
    open_bars: list[bool] = []
    for place, row in enumerate(rows):
        del open_bars[row.depth :]
        ends = place in last
        before = "".join(bar if open_ else "   " for open_ in open_bars[1:])
        own = "" if row.depth == 0 else corner if ends else fork
        follows = "" if row.depth == 0 else "   " if ends else bar
        yield Branch(row, before + own, before + follows)
        while len(open_bars) < row.depth:
            open_bars.append(False)
        open_bars.append(not ends)


def _last_rows(rows: Sequence[Transformation]) -> set[int]:
    """Find the rows after which nothing of the same depth comes before their parent ends, in one pass from the back."""
    last: set[int] = set()
    waiting: set[int] = set()
    for place in range(len(rows) - 1, -1, -1):
        depth = rows[place].depth
        if depth not in waiting:
            last.add(place)
        waiting = {one for one in waiting if one <= depth} | {depth}
    return last


_SHOWN_ROWS = 12
"""Rows of one boundary to print; JSON has all of them."""

_FEW = 3
"""So many arrays are told one by one, though only one of them has a name."""

_SHOWN_STEPS = 4000
"""Steps of the flow to print."""


def flow_section(report: Report, look: Look) -> Iterator[Text]:
    """Return the data flow, function by function."""
    arrow = "←" if look.unicode else "<-"
    named = axis_names(report)
    root = ""
    for step in report.data_flow[:_SHOWN_STEPS]:
        if step.root != root and step.op == "enter":
            root = step.root
            yield Text(f"  {clean(step.root)}", "bold").append(f"  {clean(step.path)}:{step.line}", "dim")
        if step.what != "lambda" or step.op != "py.call":
            yield _step(step, arrow, named)
    if len(report.data_flow) > _SHOWN_STEPS:
        yield Text(f"    and {len(report.data_flow) - _SHOWN_STEPS:,} more steps: the other formats have them", "dim")
    yield Text()


def stack_section(report: Report, look: Look) -> Iterator[Text]:
    """Return the transformations, each indented below the one around it."""
    traced = any(row.front_end == "jaxpr" for row in report.transformation_stack)
    for row, guide, below in branches(report.transformation_stack, look):
        line = Text().append(f"  {guide}", "dim").append(row.transform, "bold").append(f"  {clean(row.function)}")
        line.append(f"  {clean(row.path)}:{row.line}", "dim")
        shown = ", ".join(f"{name}={value}" for name, value in row.options.items() if not _is_usual(name, value))
        line.append(f"  {clean(shown)}" if shown else "", "dim")
        yield line.append("  (in the source, not traced)" if traced and row.front_end == "source" else "", "dim")
        if row.traces is not None and row.traces.count > 1:
            yield Text().append(f"  {below}  ", "dim").append(f"traced {row.traces.count} times", "yellow")
            for cause in row.traces.causes[:3]:
                yield Text(f"  {below}    {clean(cause)}", "dim")
    yield Text()


def _is_usual(name: str, value: str) -> bool:
    """Whether an option is what everybody has: all arrays are mapped over their first axis."""
    return name in ("in_axes", "out_axes") and set(value) <= set("(0, )")


def boundary_section(report: Report, look: Look) -> Iterator[Text]:
    """Return a table at each entry and exit: outside, inside, and how it crosses."""
    arrow = "→" if look.unicode else "->"
    named = axis_names(report)
    for row in report.boundaries:
        line = Text("  ").append(row.transform, "bold").append(f"  {clean(row.function)}")
        yield line.append(f"  {clean(row.path)}:{row.line}", "dim")
        if row.mapped:
            yield Text(f"    (for one element of: {clean(', '.join(row.mapped))})", "dim")
        yield from _crossings("in", row.entries, arrow, named, look.width)
        yield from _crossings("out", row.exits, arrow, named, look.width)
    yield Text()


def _step(step: FlowStep, arrow: str, named: Named) -> Text:
    line = Text("    " + "  " * step.depth).append(f"{step.line:>4}  ", "dim")
    made = clean(_values(step.makes, named, whole=not step.enters and step.op != "py.call"))
    line.append(f"{made}  " if made else "")
    line.append(clean(what_of(step)), "bold" if "." not in step.op else "")
    if step.takes:
        line.append(f"  {arrow} {clean(', '.join(_folded(step.takes)))}", "dim")
    if step.note:
        line.append(f"  ({clean(step.note)})", "dim")
    why = next((value.unknown for value in step.makes if value.unknown), "") if step.op in UNFOLLOWED else ""
    if why:
        line.append(f"  (shape unknown: {clean(why)})", "dim")
    if step.backward:
        line.append("  backward", "dim italic")
    unread = [value for value in step.makes if not value.uses and step.op != "enter" and not step.backward]
    dropped = [value.name or value.type for value in unread if value.name or value.type]
    if dropped:
        line.append(f"  dropped: {clean(', '.join(_folded(dropped)))}", "yellow")
    return line


def what_of(step: FlowStep) -> str:
    """Return what a step does: a transformation with the function that it is given."""
    if step.op in TRANSFORMS and step.what != step.op:
        return f"{step.op} {step.what}".rstrip()
    return step.what or step.op


def _values(values: Sequence[FlowValue], named: Named, *, whole: bool) -> str:
    """Write what a step makes; `whole` where a single name stands for all of it, as what a library gives."""
    told: list[str] = []
    kept = sum(value.residual for value in values)
    values = [value for value in values if not value.residual]
    saved = [f"{kept} kept for the backward pass"] if kept else []
    names = {value.name for value in values if value.name}
    if whole and len(names) == 1 and len(values) > _FEW:
        return ", ".join([f"{names.pop()} {arrays(len(values))}", *saved])
    for label, places in fold([value.name for value in values]):
        if len(places) == 1:
            value = values[places[0]]
            kind = shape_text(value.type, value.axes, named) or "?"
            kind = f"{kind} {{{value.range}}}" if value.range else kind
            kind = f"{kind} ({_meaning(value.meaning)})" if value.meaning not in ("", value.range) else kind
            told.append(f"{value.name}: {kind}" if value.name else kind)
        else:
            told.append(f"{label} {arrays(len(places))}" if label else f"{len(places)} arrays")
    return ", ".join([*told, *saved])


def _meaning(words: str) -> str:
    return f"same shape, {words}" if words.startswith("now ") else words


def _folded(names: Sequence[str]) -> list[str]:
    return [label if len(places) == 1 else f"{label} {arrays(len(places))}" for label, places in fold(names)]


def _crossings(label: str, rows: Sequence[Crossing], arrow: str, named: Named, room: int) -> Iterator[Text]:
    cells = [_cell(row, label) for row in crossing_rows(rows, named)]
    shown = cells[:_SHOWN_ROWS]
    wide, left, right, how = (max((len(cell[i]) for cell in shown), default=0) for i in range(4))
    if wide + left + right + how + len(arrow) + 14 > room:
        left = right = 0
    for name, before, after, how in shown:
        crossing = f"{before:<{left}} {arrow} {after:<{right}}" if after else f"{before:<{left + right + 3}}"
        yield Text(f"    {label:<4}{clean(name):<{wide}}  {crossing}  {how}".rstrip())
    if len(cells) > len(shown):
        yield Text(f"    {label:<4}and {len(cells) - len(shown)} more", "dim")


def _cell(row: Row, label: str) -> tuple[str, str, str, str]:
    if row.count > 1:
        return row.name, f"{row.count} arrays", "", row.how
    first, second = (row.outside, row.inside) if label == "in" else (row.inside, row.outside)
    return row.name, first, "" if row.keeps else second, row.how
