"""What the rules about axes share: how a conflict is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.analyses.axes import Axes, Conflict, Meeting, Side
from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label, in_lines, in_order, named, told
from jaxaudit.analyses.shapes.facts import shown
from jaxaudit.ir import Op, Value
from jaxaudit.rules.base import Obligation, Severity, Step, proved
from jaxaudit.rules.prefixes import places


def axes_facts(facts: Facts) -> Axes:
    """Return the facts about axes."""
    return facts.get(Axes)


def name_of(value: Value) -> str:
    """Name an operand for people."""
    return f"`{value.name}`" if value.name else "an operand"


def shape_of(dims: tuple[Dim, ...]) -> str:
    """Write a shape with the names of its axes."""
    return "(" + ", ".join(map(axis_of, dims)) + (",)" if len(dims) == 1 else ")")


def axis_of(dim: Dim) -> str:
    """Write an axis by its name, else by its size."""
    names = sorted({label.name for label in named(dim.labels)} or {label.name for label in told(dim.labels)})
    factors = next((label.factors for label in dim.labels if label.kind == "product"), ())
    return names[0] if names else "*".join(map(axis_of, factors)) or shown(dim)


def names_of(conflict: Conflict) -> tuple[str, str]:
    """Name the axis that should not be there and the one that it meets: by what made them, if they are called alike."""
    sides = (conflict.meeting.left, conflict.meeting.right)
    names = [axis_of(side.dim) for side in sides]
    if names[0] == names[1]:
        names = [conflict.left.name, conflict.right.name]
    return (names[0], names[1]) if conflict.astray is sides[0] else (names[1], names[0])


def meeting_step(conflict: Conflict) -> Step:
    """Return the step that shows where the two axes meet."""
    return Step(conflict.meeting.op.span, meeting_text(conflict.meeting))


def meeting_text(meeting: Meeting) -> str:
    """Return which axes meet, and how."""
    deed = {"contracted": "are summed together", "elementwise": "are aligned"}.get(meeting.how, f"are {meeting.how}")
    sides = (meeting.left, meeting.right)
    text = " and ".join(f"axis {side.place} of {name_of(side.value)} {shape_of(side.dims)}" for side in sides)
    return f"{text} {deed} here"


_MADE = {
    "vmap": "collects what it gives for each of `{}`",
    "scan": "stacks `{}`, step by step",
    "alike": "makes `{}`, of which none comes before another",
    "ordered": "makes `{}`, one after the other",
    "run": "puts the rows of `{}` one behind the other",
}


def makers(*dims: Dim) -> tuple[Step, ...]:
    """Return the steps that show which ops made some axes, in the order of the lines."""
    idle = {dim: "alike" if in_order(dim.labels) else "ordered" for dim in dims}
    every = ((label, dim) for dim in dims for label in in_lines(dim.labels))
    made = [(label, axis_of(dim)) for label, dim in every if label.kind in _MADE.keys() - {idle[dim]}]
    steps = {
        op.span: Step(op.span, f"`{op.name if op.regions else op.function}` {_MADE[label.kind].format(name)}")
        for label, name in made
        if (op := label.op) is not None
    }
    return tuple(steps[span] for span in sorted(steps))


def violated(
    conflict: Conflict, message: str, expected: str, suggestion: str, severity: Severity = Severity.ERROR
) -> Obligation:
    """Make the finding of a conflict, at the op that is to blame."""
    axes = f"{_sourced(conflict.left)} and {_sourced(conflict.right)}"
    return Obligation(
        conflict.blamed.span,
        severity=severity,
        message=message,
        current=f"{axes} are taken for one axis; only their sizes agree",
        expected=expected,
        steps=(
            *_axes_given(conflict.blamed),
            meeting_step(conflict),
            *makers(conflict.meeting.left.dim, conflict.meeting.right.dim),
        ),
        suggestion=suggestion,
    )


def _axes_given(op: Op) -> Iterator[Step]:
    """Return where the axes that a map takes off and puts on are given."""
    return (step for option in op.prefixes or () for step in places(op, option))


def _sourced(label: Label) -> str:
    return f"`{label.name}` (from {label.where})" if label.where else f"`{label.name}`"


def agreements(axes: Axes, reason: Callable[[Meeting], str]) -> Iterator[Obligation]:
    """Return the meetings of one thing with itself for which a rule has a reason; others are not its business."""
    for op, meeting in axes.agreed.items():
        if told := reason(meeting):
            yield proved(op.span, told)


def both(meeting: Meeting) -> str:
    """Name the two axes that meet; one name serves for both."""
    left, right = meeting.left, meeting.right
    if axis_of(left.dim) == axis_of(right.dim):
        named = left.value.name or right.value.name
        return f"{_axis(left)} and of {name_of(right.value)}" if named else f"`{axis_of(left.dim)}` of both operands"
    return f"{_axis(left)} and {_axis(right)}"


def broadcasts(meeting: Meeting) -> bool:
    """Whether an operand with fewer axes is lined up with the last ones of another; losses line up the first."""
    left, right = meeting.left, meeting.right
    behind = len(left.dims) - left.place == len(right.dims) - right.place
    return meeting.how == "elementwise" and behind and len(left.dims) != len(right.dims)


def is_stacked(dim: Dim) -> bool:
    """Whether a `vmap` made an axis."""
    return any(label.kind == "vmap" for label in dim.labels)


def _axis(side: Side) -> str:
    return f"`{axis_of(side.dim)}` of {name_of(side.value)}"
