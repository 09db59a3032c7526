"""Slots: one axis of one value, and what the same axis is called in what is made of it.

Whichever function an op stands for and however it is written, the shapes domain knows what shape it makes. Here each
axis of its operands gets a mark of its own, the same transfer function runs once more, and the marks on the axes of the
result tell where each comes from: an axis that is broadcast or contracted with another has the marks of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from jaxaudit.analyses.dims import ONE, Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label
from jaxaudit.analyses.queries import entered, holders
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import ShapeFact
from jaxaudit.analyses.shapes.mapped import axes_of, place_of
from jaxaudit.analyses.shapes.subscripts import subscripts
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.analyses.shapes.transfer.table import TABLE
from jaxaudit.ir import REST, Op, Region, Value
from jaxaudit.ir.functions import NOT_BROADCASTING
from jaxaudit.ir.interfaces import Loop, given_as, leaves_as, made_inside
from jaxaudit.ir.ops import ELEMENTWISE, PASSED_ON
from jaxaudit.ir.record import record, replace


@record
class Slot:
    """One axis of a value."""

    value: Value
    place: int | None
    """Counted from the front; from the back where that is all that is known; None where a `vmap` around took it."""


_KEEPING_PLACES = PASSED_ON | ELEMENTWISE | {"array.scan", "array.normalise"}

Origins = tuple[frozenset[Slot], ...]
"""The axes of operands that each axis of a result is."""


def slot(value: Value, axis: int, shapes: Shapes) -> Slot | None:
    """Return an axis of a value, counted from the front where the rank is known; None where there is none such."""
    rank = shapes.of(value).rank
    place = axis if rank is None else place_of(axis, rank)
    return None if place is None else Slot(value, place)


def placed(op: Op, one: Slot, shapes: Shapes) -> Slot:
    """Return an axis counted from the front, where the rank of its array or the letters of an `einsum` tell how."""
    rank = rank_in(op, one.value, shapes)
    return one if one.place is None or one.place >= 0 or rank is None else Slot(one.value, one.place + rank)


def rank_in(op: Op, value: Value, shapes: Shapes) -> int | None:
    """Return how many axes an operand has, where its shape or the letters of an `einsum` tell."""
    rank, written = shapes.of(value).rank, subscripts(op)
    if rank is not None or written is None or value not in written.operands:
        return rank
    names = written.inputs[written.operands.index(value)]
    return None if REST in names else len(names)


def origins(facts: Facts, op: Op) -> Sequence[Origins | None]:
    """Return for each result of an op without regions which axes of its operands its axes are."""
    shapes = facts.get(Shapes)
    together = _BY_HAND.get(op.name, _no_rule)(op, shapes)
    if together is not None:
        return (together,) * len(op.results)
    transfer = TABLE.get(op.name)
    if transfer is None or not op.operands:
        return (None,) * len(op.results)
    made = transfer(op, Look(op, lambda value: _marked(value, shapes.of(value))))
    found = [None if fact is None or fact.dims is None else tuple(map(_read, fact.dims)) for fact in made]
    own = {value.id: value for value in op.operands}
    return [
        None if axes is None else tuple(frozenset(Slot(own[at], place) for at, place in one) for one in axes)
        for axes in found
    ]


def _marked(value: Value, fact: ShapeFact) -> ShapeFact:
    """Return what is known of an array with a mark on each of its axes, and nothing else on them."""
    if not fact.dims:
        return fact
    dims = (Dim(dim.terms, frozenset((_mark(value, at),))) if dim != ONE else ONE for at, dim in enumerate(fact.dims))
    return replace(fact, dims=tuple(dims))


def _mark(value: Value, place: int) -> Label:
    return Label("slot", str(place), str(value.id))


def _read(dim: Dim) -> list[tuple[int, int]]:
    return [(int(label.scope), int(label.name)) for label in dim.labels if label.kind == "slot"]


def _no_rule(op: Op, shapes: Shapes) -> Origins | None:
    return None


def _spelled(op: Op, shapes: Shapes) -> Origins | None:
    """Return what the letters of an `einsum` say, whether or not ranks are known."""
    written = subscripts(op)
    if written is None:
        return None
    ranks = [shapes.of(one).rank if isinstance(one, Value) else None for one in written.operands]
    spelled = written.spelled(ranks)
    if spelled is None:
        return None
    pairs = [*zip(spelled[0], written.operands, strict=True)]
    return tuple(
        frozenset(
            Slot(value, place)
            for names, value in pairs
            if isinstance(value, Value)
            for place, one in enumerate(names or ())
            if one == letter
        )
        for letter in spelled[1]
    )


def _lined_up(op: Op, shapes: Shapes) -> Origins | None:
    """Line axes up from the back, as broadcasting does; sizes that are not known may be equal."""
    dims = {value: shapes.of(value).dims for value in op.operands}
    if op.function in NOT_BROADCASTING or any(one is None for one in dims.values()):
        return None
    rank = max((len(one or ()) for one in dims.values()), default=0)
    return tuple(
        frozenset(
            Slot(value, at + len(own) - rank)
            for value, own in dims.items()
            if own is not None and at + len(own) >= rank and own[at + len(own) - rank] != ONE
        )
        for at in range(rank)
    )


def _joined(op: Op, shapes: Shapes) -> Origins | None:
    """Pair the axes of arrays that are put beside each other; the one along which that happens is a new one."""
    given, axis = op.argument("arrays", "tup", "operands"), op.argument("axis", "dimension")
    values = [one for one in given if isinstance(one, Value)] if isinstance(given, tuple) else []
    ranks = {shapes.of(one).rank for one in values}
    rank = ranks.pop() if len(ranks) == 1 and op.function in ("stack", "concatenate") else None
    if rank is None:
        return None
    new = op.function == "stack"
    along = place_of(0 if axis is None else axis, rank + new) if isinstance(axis, int | None) else None
    if along is None:
        return None
    places = [*range(along), None, *range(along + (not new), rank)]
    return tuple(frozenset(() if at is None else (Slot(one, at) for one in values)) for at in places)


_BY_HAND: Mapping[str, Callable[[Op, Shapes], Origins | None]] = {
    "array.dot": _spelled,
    "array.map": _lined_up,
    "array.select": _lined_up,
    "array.join": _joined,
}


def onward(facts: Facts, one: Slot) -> Iterator[tuple[Op | None, Slot]]:
    """Return the same axis in what ops make of its array, with the op, and where borders hand the array on."""
    flow = facts.flow
    for op in flow.readers.get(one.value, ()):
        if op.regions:
            yield from ((None, made) for made in _inside(op, one, facts.get(Shapes)))
        else:
            yield from ((op, made) for made in _made(facts, op, one))
    for region in flow.leaving.get(one.value, ()):
        for op in holders(flow, region):
            yield from ((None, made) for made in _outside(op, region, one, facts.get(Shapes)))


def _made(facts: Facts, op: Op, one: Slot) -> Iterator[Slot]:
    rank = facts.get(Shapes).of(one.value).rank
    if one.place is None:
        yield from (Slot(value, None) for value in op.results)
    elif rank is None and op.name in _KEEPING_PLACES:
        # Broadcasting lines axes up from the back.
        others = [value for value in op.operands if value is not one.value]
        if one.place < 0 or all(facts.get(Shapes).of(value).rank == 0 for value in others):
            yield from (Slot(value, one.place) for value in op.results)
    else:
        one = placed(op, one, facts.get(Shapes))
        for value, axes in zip(op.results, facts.memo(origins, op), strict=False):
            yield from (Slot(value, at) for at, axis in enumerate(axes or ()) if one in axis)


def _axis_taken(op: Op, param: Value) -> object:
    """Return along which axis of its operand a parameter is one element; None where it is all of it."""
    if op.name in ("vmap", "pmap"):
        return axes_of(op)[op.regions[0].params.index(param)]
    scanned = op.name in ("scan", "associative_scan") and any(param is one for one, _ in Loop(op).elements)
    return 0 if scanned or op.name == "map" else None


def _inside(op: Op, one: Slot, shapes: Shapes) -> Iterator[Slot]:
    """Return the axis of the parameters that stand for an array inside of an op."""
    for param in entered(op, one.value):
        axis = _axis_taken(op, param)
        if axis is None or one.place is None:
            yield Slot(param, one.place)
        elif isinstance(axis, int):
            at = place_of(axis, shapes.of(one.value).rank) if one.place >= 0 else axis
            if at == one.place and op.name == "vmap":
                yield Slot(param, None)
            elif at is not None and at != one.place and (at < 0) == (one.place < 0):
                yield Slot(param, one.place - (0 <= at < one.place) + (one.place < at < 0))


def _outside(op: Op, region: Region, one: Slot, shapes: Shapes) -> Iterator[Slot]:
    """Return the axis of what a result of a region is called outside of the op."""
    loop = Loop.of(op)
    stacked = {} if loop is None else {whole: 0 for _, whole in loop.stacked}
    for value in leaves_as(op, region, one.value):
        axis = stacked.get(value, 0 if op.name == "map" else None)
        if op.name in ("vmap", "pmap"):
            given = op.out_axes or (op.option("out_axes", 0),) * len(op.results)
            found = given[op.results.index(value)] if len(given) == len(op.results) else "?"
            axis = place_of(found, shapes.of(value).rank) if isinstance(found, int) else None
            if axis is None:
                continue
        if axis is None:
            yield Slot(value, one.place)
        elif one.place is None:
            yield Slot(value, axis)
        else:
            yield Slot(value, one.place + (0 <= axis <= one.place))


def backward(facts: Facts, one: Slot) -> Iterator[Slot]:
    """Return the same axis in what an array was made of, and where borders hand the array in: `onward` reversed."""
    flow, op = facts.flow, facts.flow.own_maker(one.value)
    region = flow.places.owner.get(one.value) if op is None else None
    if region is not None:
        # Of a body that several calls share nobody can tell here which of them is meant.
        around = holders(flow, region)
        yield from (made for op in around if len(around) == 1 for made in _given(op, region, one, facts.get(Shapes)))
    elif op is not None and op.regions:
        yield from _given_back(op, one, facts.get(Shapes))
    elif op is not None and one.place is not None:
        axes = facts.memo(origins, op)[op.results.index(one.value)]
        yield from axes[one.place] if axes is not None and -len(axes) <= one.place < len(axes) else ()


def _given(op: Op, region: Region, one: Slot, shapes: Shapes) -> Iterator[Slot]:
    """Return the axis of the operands that a parameter stands for, or is an element of."""
    axis = _axis_taken(op, one.value)
    for value in given_as(op, region, one.value):
        at = place_of(axis, shapes.of(value).rank) if isinstance(axis, int) else None
        if axis is None:
            yield Slot(value, one.place)
        elif at is not None and (one.place is None or one.place >= 0):
            yield Slot(value, at if one.place is None else one.place + (at <= one.place))


def _given_back(op: Op, one: Slot, shapes: Shapes) -> Iterator[Slot]:
    """Return the axis of what a result of an op is inside of its body; None is the one that the op has made."""
    for region in op.regions:
        for inner in made_inside(op, region, one.value):
            rank = shapes.of(inner).rank
            places = (None, *range(rank)) if rank is not None else (one.place,)
            yield from (made for at in places if one in _outside(op, region, made := Slot(inner, at), shapes))
