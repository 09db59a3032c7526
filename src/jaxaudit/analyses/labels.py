"""Labels: what is known of an axis besides its size.

A label is soft evidence. One axis may have several (`NUM_ENVS` where it was made, `batch` where it was annotated), and
two axes that meet share theirs from then on. Only labels of one scope can contradict each other: whoever writes
`STEPS = 16` and `CHANNELS = 16` side by side means two things.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from jaxaudit.ir import Op, Size
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.record import record
from jaxaudit.spans import NOWHERE

if TYPE_CHECKING:
    from jaxaudit.analyses.dims import Dim


@record
class Label:
    """One thing that is known of an axis."""

    kind: str
    """What it tells of the axis:

    `size`: its size was given by a constant of this name; `declared`: somebody wrote that this is its name; `noted`: a
    comment says so; `axis`: it is an axis of an array whose shape the code reads; `part`, `multiple`: its size is the
    quotient or product of one with that name and scope; `block`: its size is the product of parts of several;
    `vmap`, `scan`: this op made it by collecting what its body gave in every turn;
    `product`: a reshape made it of several; `picked`: it holds elements of such an axis; `rest`: a
    reshape with `-1` left it over; `taken`: in a trace, this op maps it away, and the code inside does not see it;
    `devices`: there is one for each device; `piece`: a loop cuts it off a longer one, and the last may be shorter;
    `split`: it is spread over this axis of a mesh; `shard`: of such an axis, it is what one device has; `ordered`: its
    elements follow one another, because this op counted, sorted or subtracted them; `alike`: there is one element for
    each key of this split, or they were shuffled by it, so that none comes before another; `drawn`: it is an axis of
    random numbers, which may be put to any use; `offset`: it is a number, and this size was added to it;
    `joined`: this op made it of several, one behind the other; `cut`: it is this part of an axis that this reshape took
    apart; `run`: a reshape made it of several, one inside of the other; `slot`: it is this axis of that operand, while
    one op is looked at.
    """
    name: str = ""
    scope: str = ""
    op: Op | None = None
    where: str = ""
    """Of a name that was written down: where."""
    factors: tuple[Dim, ...] = ()
    """Of a `product`, `run` or `joined`: the axes that it was made of, in order; of a `block`: the parts; of a `cut`:
    the whole; of a `piece`: its size, and that of the last; of an `offset`: the size."""


Labels: TypeAlias = frozenset[Label]


def in_lines(labels: Labels) -> list[Label]:
    """Return labels in the order of the lines that made them."""
    return sorted(labels, key=lambda one: ((NOWHERE if one.op is None else one.op.span), one.kind, one.name))


PLACED = frozenset(("split", "shard"))
"""The kinds of labels that say over which devices an axis is spread."""


def size_labels(number: object) -> Labels:
    """Return the label of a named constant, and of those it was computed of; none for other numbers."""
    if not isinstance(number, Size):
        return frozenset()
    own = (Label("size", number.name, number.scope),) if number.name else ()
    if number.how == "sum":
        return frozenset(own)
    return frozenset((*own, *(Label(number.how, one.name, one.scope) for one in number.of if one.name)))


_IDENTITIES = frozenset(("size", "declared", "axis"))


def derived(how: str, labels: Labels) -> Labels:
    """Return the labels of a number that is a part or a multiple of a size."""
    kinds = _IDENTITIES | {how} if how == "multiple" else _IDENTITIES
    return frozenset(Label(how, label.name, label.scope) for label in labels if label.kind in kinds)


def blocks(*numbers: Dim) -> Labels:
    """Return the label of the product of some numbers, each of which is a part of a size; none for any other."""
    parts: list[Dim] = []
    for number in numbers:
        own = [number] if any(label.kind == "part" for label in number.labels) else []
        parts += own or next((label.factors for label in number.labels if label.kind == "block"), ())
    return frozenset((Label("block", factors=tuple(parts)),)) if len(parts) > 1 else frozenset()


def offsets(number: Dim) -> Labels:
    """Return the named sizes that were added to a number, itself included."""
    own = (
        Label("offset", one.name, one.scope, factors=(number.plain(),)) for one in number.labels if one.kind == "size"
    )
    return frozenset((*own, *(one for one in number.labels if one.kind == "offset")))


def length_labels(first: Dim, last: Dim) -> Labels:
    """Return the name of how long `x[i : i + WINDOW]` is: the one size by which its end is ahead of its start."""
    added = offsets(last) - offsets(first)
    gap = (last - first).terms
    return frozenset(Label("size", one.name, one.scope) for one in added if one.factors[0].terms == gap and gap)


def shortened(whole: Dim, rest: Dim) -> Labels:
    """Return the name of what is left of an axis by a slice that takes off what was added to a named size."""
    added = (one for one in whole.labels if one.kind == "offset" and one.factors[0].terms == rest.terms)
    return frozenset(Label("size", one.name, one.scope) for one in added)


def is_of(label: Label, labels: Labels) -> bool:
    """Whether a part or multiple is one of this very axis."""
    return any(one.kind in _IDENTITIES and (one.name, one.scope) == (label.name, label.scope) for one in labels)


def one_axis(first: Labels, second: Labels) -> bool:
    """Whether two sizes were read off one axis of one array, or both are what a loop cuts off by one slice."""
    return any(label.kind in ("axis", "piece") and label in second for label in first)


def in_order(labels: Labels) -> Label | None:
    """Return what says that the elements of an axis follow one another; None where nothing does."""
    return next((label for label in labels if label.kind == "ordered" or _is_course(label)), None)


def in_no_order(labels: Labels) -> Label | None:
    """Return what says that no element of an axis comes before another; None where it may be otherwise."""
    found = next((label for label in labels if label.kind == "alike"), None)
    return found if in_order(labels) is None else None


def _is_course(label: Label) -> bool:
    """Whether a scan made an axis in whose steps something goes on from the step before."""
    loop = Loop.of(label.op) if label.kind == "scan" and label.op is not None else None
    return loop is not None and any(param is not end for param, end in loop.successors)


def of_a_part(labels: Labels) -> Labels:
    """Return the labels that hold for a stretch of an axis as for all of it."""
    kept = (label for label in labels if label.kind in ("ordered", "alike"))
    return frozenset((*kept, *(Label("ordered", op=label.op) for label in labels if _is_course(label))))


def made_by(kind: str, op: Op) -> Labels:
    """Return the label of an axis that an op made."""
    return frozenset((Label(kind, op=op),))


def named(labels: Labels) -> Iterator[Label]:
    """Return the labels that are names which code relies on."""
    return (label for label in labels if label.kind in ("size", "declared"))


def told(labels: Labels) -> Iterator[Label]:
    """Return the labels that are names, those that somebody only wrote in a comment included."""
    return (label for label in labels if label.kind in ("size", "declared", "noted"))


def related(first: Labels, second: Labels) -> bool:
    """Whether two axes share a name, whoever gave it."""
    return not _names(first).isdisjoint(_names(second))


def _names(labels: Labels) -> set[str]:
    return {label.name.lower() for label in named(labels)}


def contradiction(first: Labels, second: Labels) -> tuple[Label, Label] | None:
    """Return two names of one scope by which two axes are different things; None where nothing says so."""
    if related(first, second) or not {one.name.lower() for one in told(first)}.isdisjoint(
        one.name.lower() for one in told(second)
    ):
        return None
    pairs = ((a, b) for a in named(first) for b in named(second) if (a.kind, a.scope) == (b.kind, b.scope))
    return min(pairs, key=lambda pair: (pair[0].name, pair[1].name), default=None)
