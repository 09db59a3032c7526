"""Axes across the borders of functions, loops, branches and transformations."""

from __future__ import annotations

from jaxaudit.analyses.threads.relation import Relation, Seen, Slot, in_order, near, same_shape
from jaxaudit.ir import Value
from jaxaudit.ir.interfaces import Loop, given_to


def body(relation: Relation, seen: Seen) -> None:
    """What goes in and out of a call keeps its axes."""
    for region in seen.op.regions:
        for param, value in given_to(seen.op, region):
            same_shape(relation, seen, value, param)
        for inner, result in zip(region.results, seen.op.results, strict=False):
            same_shape(relation, seen, inner, result)


def gradient(relation: Relation, seen: Seen) -> None:
    """A gradient has the axes of what it is taken for."""
    body(relation, seen)
    for result, place in zip(seen.op.results, seen.op.wrt or (), strict=False):
        if isinstance(place, int) and place < len(seen.op.operands):
            same_shape(relation, seen, seen.op.operands[place], result)


def branches(relation: Relation, seen: Seen) -> None:
    """What goes into a branch keeps its axes; the first operand only chooses."""
    body(relation, seen)


def loop(relation: Relation, seen: Seen) -> None:
    """What a loop carries keeps its axes."""
    view = Loop(seen.op)
    for region in seen.op.regions:
        for one in view.carried_in(region):
            same_shape(relation, seen, one.start, one.param)
    for one in view.carried:
        if one.position < len(seen.op.results):
            result = seen.op.results[one.position]
            same_shape(relation, seen, view.body.results[one.position], result)
            same_shape(relation, seen, one.param, result)


def mapped(relation: Relation, seen: Seen) -> None:
    """Inside `vmap` an array still has the mapped axis, which all mapped arrays have in common."""
    body(relation, seen)
    op = seen.op
    places = [*_places(op.operands, op.mapped_in), *_places(op.results, op.mapped_out)]
    for slot in places:
        relation.link(*places[0], *slot)
        relation.deed("vmapped" if slot.value in op.operands else "collected", *slot)


def _places(values: tuple[Value, ...], axes: tuple[int | None, ...] | None) -> list[Slot]:
    return [Slot(value, axis) for value, axis in zip(values, axes or (), strict=False) if isinstance(axis, int)]


def scan(relation: Relation, seen: Seen) -> None:
    """A scan takes the first axis off what it reads, and puts it on what it collects."""
    loop(relation, seen)
    op, view = seen.op, Loop(seen.op)
    wholes = [*((whole, one) for one, whole in view.elements), *((whole, one) for one, whole in view.stacked)]
    for whole, one in wholes:
        in_order(relation, seen, whole, one, (0,))
    turns = [Slot(whole, 0) for whole, _ in wholes if seen.shape(whole)]
    for slot in turns:
        relation.link(*turns[0], *slot)
        relation.deed("scanned" if slot.value in op.operands else "stacked", *slot)


def each(relation: Relation, seen: Seen) -> None:
    """`lax.map` and `pmap` take the first axis off everything that is mapped."""
    op = seen.op
    known = op.in_axes or (0,) * len(op.operands)
    kind = "sharded" if op.name == "pmap" else "vmapped"
    slots: list[Slot] = []
    for value, param, axis in zip(op.operands, op.regions[0].params, known, strict=False):
        taken = isinstance(axis, int) and len(seen.shape(param)) < len(seen.shape(value))
        in_order(relation, seen, value, param, (axis,) if taken and isinstance(axis, int) else ())
        if isinstance(axis, int) and seen.shape(value):
            slots.append(Slot(value, axis))
    for inner, result in zip(op.regions[0].results, op.results, strict=False):
        before, after = seen.shape(inner), seen.shape(result)
        grown = len(after) > len(before)
        in_order(relation, seen, result, inner, (0,) if grown else ())
        if grown or (op.name == "pmap" and before[:1] == (1,) and after[:1] != (1,)):
            slots.append(Slot(result, 0))
    for slot in slots:
        relation.link(*slots[0], *slot)
        relation.deed(kind if slot.value in op.operands else "collected", *slot)


def sharded(relation: Relation, seen: Seen) -> None:
    """Inside `shard_map` each array is a part of itself: its axes are the same, those that are spread shorter."""
    op = seen.op
    for value, param in zip(op.operands, op.regions[0].params, strict=False):
        for axis, (size, part) in enumerate(zip(seen.shape(value), seen.shape(param), strict=False)):
            relation.link(value, axis, param, axis)
            if size != part:
                relation.deed("sharded", value, axis)
    for inner, result in zip(op.regions[0].results, op.results, strict=False):
        for axis, (part, size) in enumerate(zip(seen.shape(inner), seen.shape(result), strict=False)):
            relation.link(inner, axis, result, axis)
            if size != part:
                relation.deed("collected", result, axis)


def kept(relation: Relation, seen: Seen) -> None:
    """A collective or a move between devices keeps what keeps its shape."""
    for value in seen.arrays():
        for result in seen.op.results:
            if len(seen.shape(value)) == len(seen.shape(result)):
                for axis in range(len(seen.shape(value))):
                    near(relation, seen, (value, axis), (result, axis))
