"""Arrays that are moved by one place along an axis, and what was added up along it before or after.

`jnp.concatenate([jnp.ones_like(y[:, :1]), y[:, :-1]], axis=1)` is `y` one place later, and so is a padded `y[:, :-1]`.
A cumulative product that is moved so gives at each place the product of all before it, if both are along one axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, nothing, through_ops, walk
from jaxaudit.ir import REST, Op, Program, Value
from jaxaudit.ir.interfaces import Recurrence
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts, is_whole


@record
class Shift:
    """An array moved by one place along an axis."""

    op: Op
    base: Value
    axis: int
    """Negative where it is counted from the back."""
    constant: bool = True
    """Whether a constant is put where nothing was."""


def shift_of(op: Op, flow: Flow) -> Shift | None:
    """Return the view of an op that moves an array by one place; None for any other."""
    if op.name == "array.join" and op.function == "concatenate":
        return _joined(op, flow)
    if op.name == "array.move" and op.function == "pad" and op.operands:
        return _padded(op, op, _cut(flow.maker(op.operands[0])))
    inner = flow.maker(op.operands[0]) if op.name == "py.item" and op.operands else None
    if inner is not None and inner.function == "pad" and (cut := _cut(op)) is not None:
        return _padded(op, inner, (inner.operands[0], *cut[1:]))
    return None


def _joined(op: Op, flow: Flow) -> Shift | None:
    arrays, axis = op.argument("arrays", "operands"), op.argument("axis", "dimension")
    axis = 0 if axis is None else axis
    if not isinstance(arrays, tuple) or len(arrays) != 2 or not isinstance(axis, int):
        return None
    for kept, filler, last in ((arrays[1], arrays[0], True), (arrays[0], arrays[1], False)):
        cut = _cut(flow.maker(kept)) if isinstance(kept, Value) else None
        made = flow.maker(filler) if isinstance(filler, Value) else None
        if cut is not None and cut[2] is last:
            return Shift(op, cut[0], axis, constant=made is not None and made.name == "array.create")
    return None


def _padded(op: Op, pad: Op, cut: tuple[Value, int, bool] | None) -> Shift | None:
    width = pad.argument("pad_width")
    places = [at for at, one in enumerate(width) if one not in ((0, 0), 0)] if isinstance(width, tuple) else []
    if cut is None or not isinstance(width, tuple) or len(places) != 1:
        return None
    place = width[places[0]]
    fits = place == ((1, 0) if cut[2] else (0, 1))
    return Shift(op, cut[0], places[0]) if fits else None


def _cut(op: Op | None) -> tuple[Value, int, bool] | None:
    """Return the array that lost its last element along an axis, or its first, and along which."""
    parts = index_parts(op.arguments.get("index")) if op is not None and op.name == "py.item" else ()
    cuts = [at for at, part in enumerate(parts) if part != REST and not is_whole(part)]
    part = parts[cuts[0]] if len(cuts) == 1 else None
    base = None if op is None else op.value("base")
    if not isinstance(part, Mapping) or base is None or part.get("step") not in (None, 1):
        return None
    bounds = (part.get("start"), part.get("stop"))
    axis = cuts[0] - len(parts) if REST in parts[: cuts[0]] else cuts[0]
    last = bounds in ((None, -1), (0, -1))
    return (base, axis, last) if last or bounds == (1, None) else None


def shifts(program: Program, flow: Flow) -> Iterator[Shift]:
    """Return every array that is moved by one place, and every pair of stretches that differ by one place."""
    for op in program.named("array.join", "array.move", "py.item"):
        found = shift_of(op, flow)
        yield from () if found is None else (found,)
    for op in program.named("array.map"):
        first, second, *_ = (*(_cut(flow.maker(one)) for one in op.operands), None, None)
        if first is not None and second is not None and first[:2] == second[:2] and first[2] is not second[2]:
            yield Shift(op, first[0], first[1])


def stencils(program: Program, flow: Flow) -> Iterator[Shift]:
    """Return every array that is rolled by a fixed number of places, and whose neighbours are then calculated with."""
    through = through_ops("array.map")
    for op in program.named("array.move"):
        array, axis = op.argument("a"), op.argument("axis")
        if op.function != "roll" or not isinstance(array, Value) or not isinstance(axis, int):
            continue
        met = {*walk(op.results, lambda one: ahead(flow, one, through))}
        own = walk((array,), lambda one: ahead(flow, one, through))
        if isinstance(op.argument("shift"), int) and any(one in met for one in own):
            yield Shift(op, array, axis)


@record
class Exclusive:
    """A cumulative function and a shift of its result, or of what it is given."""

    total: Op
    shift: Shift
    along: tuple[int | None, ...]
    """The axes of all cumulative functions that the array went through."""


def exclusive_totals(program: Program, flow: Flow) -> Iterator[Exclusive]:
    """Return every shift of an array that is added up, or multiplied up, right before or right after."""
    for op in program.named("array.join", "array.move", "py.item"):
        shift = shift_of(op, flow)
        if shift is None or not shift.constant:
            continue
        before = [flow.maker(one) for one in walk((shift.base,), lambda one: _back(one, flow))]
        after = [reader for one in walk(op.results, lambda one: _on(one, flow)) for reader in flow.readers.get(one, ())]
        found = {one: None for one in (*before, *after) if one is not None and one.name == "array.scan"}
        views = [view for one in found if (view := Recurrence.of(one)) is not None]
        if views:
            yield Exclusive(views[0].op, shift, tuple(view.axis for view in views))


def _is_alone(op: Op) -> bool:
    """Whether an op computes each element of one element of one array."""
    return op.name in PASSED_ON or (op.name == "array.map" and len(op.operands) == 1)


def _back(value: Value, flow: Flow) -> Iterator[Value]:
    op = flow.maker(value)
    if op is not None and Recurrence.of(op) is not None and op.name == "array.scan":
        yield from op.operands[:1]
    elif op is not None and _is_alone(op):
        yield from op.operands
    else:
        yield from behind(flow, value, nothing)


def _on(value: Value, flow: Flow) -> Iterator[Value]:
    yield from ahead(flow, value, _is_alone)
