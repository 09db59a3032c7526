"""The three sections about data in the text report: flow, transformation stack, boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from jaxaudit.reports.model import Crossing, FlowStep, FlowValue, Report
from jaxaudit.reports.snippet import Look, clean

_SHOWN_ARGUMENTS = 12
"""Leaves of one step or boundary to print; JSON has all of them."""

_SHOWN_STEPS = 4000
"""Steps of the flow to print."""


def flow_section(report: Report, look: Look) -> Iterator[Text]:
    """Give the data flow, function by function."""
    arrow = "←" if look.unicode else "<-"
    root = ""
    for step in report.data_flow[:_SHOWN_STEPS]:
        if step.root != root and step.op == "enter":
            root = step.root
            yield Text(f"  {clean(step.root)}", "bold").append(f"  {clean(step.path)}:{step.line}", "dim")
        yield from _step(step, arrow)
    if len(report.data_flow) > _SHOWN_STEPS:
        yield Text(f"    and {len(report.data_flow) - _SHOWN_STEPS:,} more steps: the other formats have them", "dim")
    yield Text()


def stack_section(report: Report, look: Look) -> Iterator[Text]:
    """Give the transformations, each indented below the one around it."""
    for row in report.transformation_stack:
        line = Text("  " + "  " * row.depth).append(row.transform, "bold").append(f"  {clean(row.function)}")
        line.append(f"  {clean(row.path)}:{row.line}", "dim")
        if row.options:
            shown = ", ".join(f"{name}={value}" for name, value in row.options.items())
            line.append(f"  {clean(shown)}", "dim")
        yield line
        if row.traces is not None and row.traces.count > 1:
            yield Text("  " + "  " * row.depth + f"    traced {row.traces.count} times", "yellow")
            for cause in row.traces.causes[:3]:
                yield Text("  " + "  " * row.depth + f"      {clean(cause)}", "dim")
    yield Text()


def boundary_section(report: Report, look: Look) -> Iterator[Text]:
    """Give a table at each entry and exit: outside, inside, and how it crosses."""
    arrow = "→" if look.unicode else "->"
    for row in report.boundaries:
        line = Text("  ").append(row.transform, "bold").append(f"  {clean(row.function)}")
        yield line.append(f"  {clean(row.path)}:{row.line}", "dim")
        if row.mapped:
            yield Text(f"    (the shapes keep the axes of: {clean(', '.join(row.mapped))})", "dim")
        yield from _crossings("in", row.entries, arrow)
        yield from _crossings("out", row.exits, arrow)
    yield Text()


def _step(step: FlowStep, arrow: str) -> Iterator[Text]:
    pad = "    " + "  " * step.depth
    line = Text(pad).append(f"{step.line:>4}  ", "dim")
    line.append(clean(_values(step.makes)))
    if step.op not in ("enter", "leave"):
        line.append(f"  {clean(step.what or step.op)}", "bold" if "." not in step.op else "")
    else:
        line.append(f"  {step.what}", "bold")
    if step.takes:
        line.append(f"  {arrow} {clean(_some(step.takes))}", "dim")
    unread = [value for value in step.makes if not value.uses and step.op != "enter"]
    dropped = [value.name or value.type for value in unread if value.name or value.type]
    if dropped:
        line.append(f"  dropped: {clean(_some(dropped))}", "yellow")
    yield line


def _values(values: Sequence[FlowValue]) -> str:
    return _some([f"{value.name}: {value.type or '?'}" if value.name else value.type or "?" for value in values])


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _SHOWN_ARGUMENTS
    return ", ".join(names[:_SHOWN_ARGUMENTS]) + (f", and {rest} more" if rest > 0 else "")


def _crossings(label: str, rows: Sequence[Crossing], arrow: str) -> Iterator[Text]:
    shown = rows[:_SHOWN_ARGUMENTS]
    wide = max((len(row.name) for row in shown), default=0)
    left = max((len(row.outside) for row in shown), default=0)
    right = max((len(row.inside) for row in shown), default=0)
    for row in shown:
        sides = (row.outside or "?", row.inside or "?")
        outside, inside = sides if label == "in" else reversed(sides)
        first, second = (left, right) if label == "in" else (right, left)
        text = f"    {label:<4}{clean(row.name):<{wide}}  {outside:<{first}} {arrow} {inside:<{second}}  {row.how}"
        yield Text(text.rstrip())
    if len(rows) > len(shown):
        yield Text(f"    {label:<4}and {len(rows) - len(shown)} more", "dim")
