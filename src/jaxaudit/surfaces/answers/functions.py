"""Answers about one function: its data flow, shapes, axes, transformations and what crosses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jaxaudit.config import UsageError, nearest
from jaxaudit.discover import shown_name
from jaxaudit.reports.identity import outline
from jaxaudit.reports.model import Axis, Boundary, FlowStep, Report, Transformation
from jaxaudit.surfaces.answers.held import Audits
from jaxaudit.surfaces.answers.rows import bounded, cut, distinct, notices

PARTS = ("flow", "shapes", "axes", "stack", "boundaries")
"""What can be shown of a function."""


@dataclass(frozen=True)
class FunctionAnswer:
    """What is known of one function; rows begin with the line that they are about."""

    function: str
    path: str
    line: int
    end_line: int
    flow: list[str]
    shapes: list[str]
    axes: list[str]
    stack: list[str]
    boundaries: list[str]
    findings: list[str]
    unknown: list[str]
    notice: str


@dataclass(frozen=True)
class _Place:
    path: str
    first: int
    last: int
    name: str
    """The function's own name, without that of its class."""

    def has(self, path: str, line: int) -> bool:
        return path == self.path and self.first <= line <= self.last

    def concerns(self, one: Transformation | Boundary) -> bool:
        """Whether a transformation stands in the function, or is one of it."""
        return self.has(one.path, one.line) or one.function.rpartition(".")[2] == self.name


def function_answer(audits: Audits, path: str, function: str, parts: Sequence[str], most: int) -> FunctionAnswer:
    """Show some parts of what is known of a function of a file."""
    for one in parts:
        if one not in PARTS:
            raise UsageError(
                f"there is no part `{one}` of a function{nearest(one, PARTS)}; there are {', '.join(PARTS)}"
            )
    held = audits.of([path])
    report, shown = held.report, shown_name(path)
    first, last, name = _defined(held.outcome.sources(shown).text, function, path)
    at = _Place(shown, first, last, name.rpartition(".")[2])
    rows: dict[str, list[str]] = {}
    notes: list[str] = []
    for part in PARTS:
        told = distinct(_ROWS[part](report, at)) if not parts or part in parts else []
        rows[part], left = bounded(told, most, f"rows of {part}")
        notes.append(left)
    findings = [one for one in (*report.issues, *report.warnings) if at.has(one.path, one.line)]
    return FunctionAnswer(
        function=name,
        path=shown,
        line=first,
        end_line=last,
        **rows,
        findings=distinct(
            (f"{one.line} {one.severity}[{one.rule}] {one.message} ({one.id})" for one in findings), most
        ),
        unknown=distinct((f"{o.line} {o.rule}: {o.reason}" for o in report.unknown if at.has(o.path, o.line)), most),
        notice=notices(*notes, "" if any(_steps(report, at)) else _unread(report, at)),
    )


def _defined(text: str, function: str, path: str) -> tuple[int, int, str]:
    """Return where a function is defined: by its qualified name, or by the end of it."""
    places = outline(text)
    exact = [one for one in places if one[2] == function]
    fits = exact or [one for one in places if one[2].endswith(f".{function}")]
    if len(fits) == 1:
        return fits[0]
    names = [name for _, _, name in places]
    if fits:
        raise UsageError(f"{path} has several functions `{function}`: {', '.join(one[2] for one in fits)}")
    known = f"; it has {', '.join(names[:30])}" if names else ""
    raise UsageError(f"{path} has no function `{function}`{nearest(function, names) or known}")


def _unread(report: Report, at: _Place) -> str:
    """Say why nothing is known of a function."""
    why = [one.reason for one in report.coverage.skipped if at.has(one.path, one.line)]
    calls = report.coverage.unfollowed
    if not why and calls:
        why = [f"the program is so large that {calls} calls of known functions were not followed"]
    return f"No step of this function was read: {'; '.join(why) or 'it has none, or nothing that was read calls it'}."


def _flow(report: Report, at: _Place) -> Iterator[str]:
    for step in _steps(report, at):
        made = ", ".join(f"{one.name or 'a value'}{f': {one.type}' if one.type else ''}" for one in step.makes)
        note = f" ({step.note})" if step.note else ""
        taken = f" of {cut(', '.join(step.takes))}" if step.takes else ""
        yield f"{step.line} {step.what}{taken} -> {made}{note}"


def _shapes(report: Report, at: _Place) -> Iterator[str]:
    for step in _steps(report, at):
        for one in (*step.enters, *step.makes):
            more = ", ".join(filter(None, (one.range, one.meaning)))
            if one.name and (one.type or one.unknown):
                yield f"{step.line} {one.name}: {one.type or f'not known, {one.unknown}'}{f' ({more})' if more else ''}"


def _steps(report: Report, at: _Place) -> Iterator[FlowStep]:
    return (step for step in report.data_flow if at.has(step.path, step.line) and not step.backward)


def _axes(report: Report, at: _Place) -> Iterator[str]:
    for axis in report.axes:
        stations = [one for one in axis.stations if at.has(one.path, one.line)]
        if stations:
            yield f"{_axis(axis)}: " + "; ".join(dict.fromkeys(f"{one.line} {one.kind} {one.text}" for one in stations))


def _axis(axis: Axis) -> str:
    return f"{axis.name or 'an axis without a name'} (size {axis.size or 'not known'}, from {axis.origin})"


def _stack(report: Report, at: _Place) -> Iterator[str]:
    rows = {one.id: one for one in report.transformation_stack}
    for one in rows.values():
        if at.concerns(one):
            around: Transformation | None = one
            names: list[str] = []
            while around is not None:
                names.append(f"{around.transform}({around.function})")
                around = rows.get(around.parent) if around.parent is not None else None
            options = ", ".join(f"{key}={value}" for key, value in one.options.items())
            yield f"{one.line} {' inside of '.join(names)}{f' with {options}' if options else ''}"


def _boundaries(report: Report, at: _Place) -> Iterator[str]:
    for one in report.boundaries:
        if at.concerns(one):
            yield from _crossings(one)


def _crossings(one: Boundary) -> Iterator[str]:
    for way, crossings in (("into", one.entries), ("out of", one.exits)):
        for value in crossings:
            types = value.outside if value.outside == value.inside else f"{value.outside} becomes {value.inside}"
            crossing = f"{value.name or 'a value'} {way} {one.transform}({one.function}), {value.how}"
            yield f"{one.line} {crossing}: {types or 'not known'}"


_ROWS: dict[str, Callable[[Report, _Place], Iterator[str]]] = {
    "flow": _flow,
    "shapes": _shapes,
    "axes": _axes,
    "stack": _stack,
    "boundaries": _boundaries,
}
