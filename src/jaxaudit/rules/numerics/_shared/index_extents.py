"""Indices that reach as far as a size does, next to the size of the axis that they index."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE, ZERO, Dim, constant, same
from jaxaudit.analyses.extents import Extent, clipped, extents, met, size_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.induction import same_number
from jaxaudit.analyses.labels import contradiction, in_lines, related
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import ShapeFact, as_number, shown
from jaxaudit.analyses.shapes.literals import shape_of as as_shape
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import COMPARISONS, LOOKUPS
from jaxaudit.ir.ops import BRANCHES, KEEPING
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.types import Exit
from jaxaudit.rules.axes._shared.phrases import axis_of
from jaxaudit.rules.base import Obligation, Severity, Step, named, proved, unknown
from jaxaudit.rules.numerics._shared.index_ranges import is_masked, is_meant, taken, traced_index, written
from jaxaudit.rules.numerics._shared.padding import plain_index


def judge_extents(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge for every index of an op whether it ends where the axis does, and whether it is about that axis at all."""
    base = op.argument("base", "a", "arr")
    if not isinstance(base, Value) or is_meant(op, facts.get(Ranges)):
        return
    fact = met(facts.get(Shapes), op, base)
    indices = list(indices_of(op, fact, facts.get(Ranges)))
    for index, axis in indices:
        extent, size = extents(facts)(plain_index(index, facts.flow)), size_along(op, base, axis, facts)
        if extent is None or size is None or extent.single is not None:
            continue
        over = (extent.end - size).constant
        astray = next((at for at, dim in enumerate(fact.dims or ()) if over is None and same(dim, extent.end)), None)
        own = _axis_counted(extent, axis, fact)
        if own is not None and not _is_selected(own, fact, indices, facts):
            yield _other_name(op, index, extent, (axis, own), fact)
        elif _runs_over_other_axis(extent, base, axis, fact, facts.get(Shapes)):
            yield _other_axis(op, index, extent, axis)
        elif astray is not None and not any(at == astray for _, at in indices):
            yield _other_size(op, index, extent, (axis, astray))
        elif over is None or size.constant == 0:
            continue
        elif over <= 0:
            if extent.bottomless or (extent.low.constant or 0) < 0:
                continue
            if over + extent.further > 0:
                yield unknown(op.span, "a value behind the last edge gets an index that the axis does not have")
                continue
            reason = f"{named(index, 'the index')} ends before {shown(extent.end)}, in an axis of size {shown(size)}"
            yield proved(op.span, reason)
        elif _is_left_out(op, extent, facts) or _is_guarded(op, extent, facts):
            yield unknown(op.span, "what is read beyond the end may be left out afterwards")
        elif extent.part:
            yield unknown(op.span, f"only some of the numbers up to {shown(extent.last)} are used as indices")
        else:
            yield _too_far(op, index, _as_wrapped(extent, size, facts), size, facts.flow)


def judge_starts(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Say of every start of a dynamic slice whether the slice ends within the axis."""
    base = op.arguments.get("operand")
    if not isinstance(base, Value):
        return
    fact = met(facts.get(Shapes), op, base)
    for start, axis, length in _starts(op, facts.get(Shapes)):
        extent, size = reach(op, start, facts), size_of(fact, axis)
        over = None if extent is None or size is None else (extent.last + length - size).constant
        if extent is None or size is None or over is None or _is_open(op, extent, over, facts):
            yield unknown(op.span, "whether the slice ends within the axis is not known")
        elif over <= 0:
            yield proved(op.span, f"the last slice ends within an axis of size {shown(size)}")
        else:
            yield _clamped(op, start, extent, length, size)


@record
class Places:
    """How many places there are for numbers: classes, segments, branches."""

    count: Dim
    what: str
    beyond: str
    """What becomes of a number that has no place."""


def judge_places(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Say of every one-hot encoding, segment sum and switch whether there is a place for each of the numbers."""
    index, places = _places(op, facts)
    if index is None:
        return
    extent = None if places is None else reach(op, index, facts)
    over = None if extent is None or places is None else (extent.end - places.count).constant
    if extent is None or places is None or over is None or _is_open(op, extent, over, facts):
        yield unknown(op.span, "whether there is a place for each of the numbers is not known")
    elif over <= 0:
        yield proved(
            op.span, f"{named(index, 'the index')} ends before {shown(places.count)}, the number of {places.what}"
        )
    else:
        count = shown(places.count)
        yield Obligation(
            op.span,
            severity=Severity.ERROR if extent.reached or extent.over is not None else Severity.WARNING,
            message=f"{named(index, 'it')} goes up to {shown(extent.last)}, and there are {count} {places.what}",
            current=f"JAX raises nothing: {places.beyond}",
            expected=f"{shown(extent.end)} {places.what}, or numbers below {count}",
            steps=() if extent.source is op else (Step(extent.source.span, "it is made here"),),
            suggestion="count from 0, and have as many places as there are numbers",
        )


def _places(op: Op, facts: Facts) -> tuple[Argument, Places | None]:
    shapes = facts.get(Shapes)
    if op.name == "cond":
        # What decides between two may be a boolean.
        index = op.operands[0] if len(op.regions) > 2 and op.operands else None
        return index, Places(constant(len(op.regions)), "branches", "an index beyond the last branch runs the last one")
    if op.name == "array.expand":
        index, count = op.arguments.get("x"), _count(op, "num_classes", shapes)
        beyond = "a number that has no class gets a row of zeros"
        return index, None if count is None else Places(count, "classes", beyond)
    if op.function == "bincount":
        index, count = op.arguments.get("x"), _count(op, "length", shapes)
        beyond = "a number that has no bin is not counted"
        return index, None if count is None else Places(count, "bins", beyond)
    index, count = op.arguments.get("segment_ids"), _count(op, "num_segments", shapes)
    beyond = "what belongs to a segment that does not exist is left out"
    return index, None if count is None else Places(count, "segments", beyond)


def _count(op: Op, name: str, shapes: Shapes) -> Dim | None:
    fact = met(shapes, op, op.arguments.get(name))
    return None if fact.is_array and fact.number is None else as_number(fact)


def judge_choices(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Say of every choice between positions along an axis and other numbers whether both end at the same place."""
    found = [extents(facts)(one) for one in (op.value("x", "on_true"), op.value("y", "on_false")) if one is not None]
    ends = [one for one in found if one is not None]
    if len(ends) != 2 or (ends[0].over is None) is (ends[1].over is None):
        return
    place, other = ends if ends[1].over is None else reversed(ends)
    over = (other.end - place.end).constant
    if over == 0:
        yield proved(op.span, f"both sides of the choice end before {shown(place.end)}")
    elif over is None or not other.reached:
        yield unknown(op.span, "whether both sides of the choice are positions along one axis is not known")
    else:
        far = over > 0
        meant = f"up to {shown(place.end - ONE)}, the last position along the axis"
        yield Obligation(
            other.source.span,
            severity=Severity.ERROR if far else Severity.WARNING,
            message=f"this goes up to {shown(other.end - ONE)}, in the place of a position below {shown(place.end)}",
            current="a number beyond the last position is given" if far else "the last position is never given",
            expected=meant,
            steps=(Step(place.source.span, "positions along the axis"), Step(op.span, "one or the other is taken")),
            suggestion="end where the axis does: the upper end of a range is not part of it",
        )


def reach(op: Op, index: Argument, facts: Facts) -> Extent | None:
    """Return how far an index reaches where an op stands: what is known of it, or a bound that need not be met."""
    known = extents(facts)(index) if isinstance(index, Value) else None
    number = met(facts.get(Shapes), op, index).number if known is None else None
    if number is not None:
        return Extent(number, number + ONE, op)
    ranges = facts.get(Ranges)
    bound = clipped(index, facts) if known is None and isinstance(index, Value) else None
    if bound is not None:
        return Extent(ZERO, constant(bound.most + 1), bound.source)
    found = ranges.within(facts.flow.holder(op), op, index) if known is None and isinstance(index, Value) else None
    if found is None or not found.integer or not found.is_bounded:
        return known
    return Extent(constant(int(found.low)), constant(int(found.high) + 1), op, reached=False)


def _starts(op: Op, shapes: Shapes) -> Iterator[tuple[Argument, int, Dim]]:
    """Return the starts of a slice that a program computes, each with its axis and how long the slice is."""
    update = met(shapes, op, op.arguments.get("update")).dims
    lengths = as_shape(met(shapes, op, op.arguments.get("slice_sizes"))) if update is None else update
    starts, axis = op.arguments.get("start_indices"), op.arguments.get("axis", 0)
    if isinstance(starts, tuple) and lengths is not None and len(starts) == len(lengths):
        yield from ((start, at, length) for at, (start, length) in enumerate(zip(starts, lengths, strict=True)))
    elif "start_index" in op.arguments and isinstance(axis, int):
        given = met(shapes, op, op.arguments.get("slice_size"))
        length = as_number(given) if update is None else update[axis] if axis < len(update) else None
        if length is not None:
            yield op.arguments["start_index"], int(axis), length


def size_along(op: Op, base: Value, axis: int, facts: Facts) -> Dim | None:
    """Return the size of an axis; there are as many subkeys as were asked for, whatever kind of keys they are."""
    fact = met(facts.get(Shapes), op, base)
    split = facts.flow.maker(same_number(base, facts.flow)) if fact.dims is None and axis == 0 else None
    if split is None or split.name != "key.split":
        return size_of(fact, axis)
    number = as_number(met(facts.get(Shapes), split, split.arguments.get("num", 2)))
    return number if number is not None and number.known else None


def indices_of(op: Op, fact: ShapeFact, ranges: Ranges) -> Iterator[tuple[Value, int]]:
    """Return every index that is a value, with the axis it is for."""
    rank = None if fact.dims is None else len(fact.dims)
    for index, axis in _paired(op, rank, ranges):
        yield index, axis % rank if rank and -rank <= axis < rank else axis


def _paired(op: Op, rank: int | None, ranges: Ranges) -> Iterator[tuple[Value, int]]:
    if "dimension_numbers" in op.arguments:
        return traced_index(op)
    if op.name != "array.gather":
        return written(op.arguments.get("index"), ranges)
    index, axis = op.arguments.get("indices"), op.arguments.get("axis")
    if op.function == "take_along_axis" and isinstance(index, Value) and isinstance(axis, int):
        return iter([(index, int(axis))])
    return taken(op, -1 if rank is None else rank)


def _runs_over_other_axis(extent: Extent, base: Value, axis: int, fact: ShapeFact, shapes: Shapes) -> bool:
    """Whether an index says where along one axis of an array, and is used along another one of its like."""
    if extent.over is None:
        return False
    array, own = extent.over
    other = met(shapes, extent.source, array)
    if fact.dims is None or other.dims is None:
        # Of unknown rank, 0 and -1 may be the same axis.
        alike = array is base or (fact.outline is not None and fact.outline == other.outline)
        return alike and own != axis and (own < 0) == (axis < 0)
    if len(fact.dims) != len(other.dims) or not all(map(same, fact.dims, other.dims)):
        return False
    # Two arrays of one shape may have their axes in different orders; names tell.
    named_so = related(other.dims[own].labels, fact.dims[axis].labels)
    return own % len(fact.dims) != axis % len(fact.dims) and not named_so


def _axis_counted(extent: Extent, axis: int, fact: ShapeFact) -> int | None:
    """Return the axis that has the name by which an index counts, where the one it selects along has another."""
    dims, names = fact.dims, extent.end.labels
    if dims is None or not -len(dims) <= axis < len(dims) or contradiction(names, dims[axis].labels) is None:
        return None
    return next((at for at, dim in enumerate(dims) if at != axis % len(dims) and related(dim.labels, names)), None)


def _is_selected(axis: int, fact: ShapeFact, indices: list[tuple[Value, int]], facts: Facts) -> bool:
    """Whether one of several indices selects along an axis, and counts it."""
    found = (extents(facts)(plain_index(index, facts.flow)) for index, at in indices if at == axis)
    names = fact.dims[axis].labels if fact.dims is not None else frozenset()
    return any(one is not None and related(one.end.labels, names) for one in found)


def _is_left_out(op: Op, extent: Extent, facts: Facts) -> bool:
    """Whether what is read beyond the end may be left out afterwards.

    Of what is drawn, looked up or wrapped around, only who knows it can do so: any of it may be the last.
    """
    flow, source = facts.flow, extent.source
    if source.name == "key.draw" or source.function in LOOKUPS or source.function == "remainder":
        known = (*source.results, *(source.operands if source.function == "remainder" else ()))
        made = walk(known, lambda one: ahead(flow, one, through_ops("array.map", *KEEPING)))
        if not any(reader.function in COMPARISONS for one in made for reader in flow.readers.get(one, ())):
            return False
    return is_masked(op, facts)


def _as_wrapped(extent: Extent, size: Dim, facts: Facts) -> Extent:
    """Return numbers that were wrapped around: at the end of the axis they surely get there, elsewhere they may not."""
    if extent.source.function != "remainder":
        return extent
    around = extents(facts)(extent.source.result)
    return replace(extent, reached=extent.reached and around is not None and same(around.end, size))


def _is_open(op: Op, extent: Extent, over: int, facts: Facts) -> bool:
    """Whether nothing follows from how far numbers go: they need not get there, or others may go further."""
    if over > 0:
        return _may_not_happen(op, extent, facts)
    return extent.bottomless or over + extent.further > 0


def _may_not_happen(op: Op, extent: Extent, facts: Facts) -> bool:
    """Whether the last number need not get here: it is a mere bound, or a condition may keep it away."""
    return (extent.source is op and not extent.reached) or _is_guarded(op, extent, facts)


def _is_guarded(op: Op, extent: Extent, facts: Facts) -> bool:
    """Whether a condition inside of what counts may keep the last turns away from here."""
    places = facts.places
    home = places.region_of[extent.source]
    region = places.region_of[op]
    around = list(places.up(region))
    for one, holder in around:
        if holder is not None and holder.name in BRANCHES:
            return True
        if any(inner.exit is not Exit.FALL for other in one.ops if other.name in BRANCHES for inner in other.regions):
            return True
        if one is home:
            return False
    return False


def _other_axis(op: Op, index: Value, extent: Extent, axis: int) -> Obligation:
    own = extent.over[1] if extent.over is not None else axis
    function = extent.source.function
    return Obligation(
        op.span,
        message=f"{named(index, 'the index')} says where along axis {own}, and selects along axis {axis}",
        current=f"`{function}` gives positions along axis {own}, which mean nothing along axis {axis}",
        expected=f"positions along axis {own} select along axis {own}",
        steps=(Step(extent.source.span, f"positions along axis {own}"),),
        suggestion=f"use `jnp.take_along_axis(x, index, axis={own})`, with the axis kept",
    )


def _other_name(op: Op, index: Value, extent: Extent, axes: tuple[int, int], fact: ShapeFact) -> Obligation:
    axis, own = axes
    dims = fact.dims or ()
    counted, indexed = axis_of(dims[own]), axis_of(dims[axis])
    told = (label for at in (axis, own) for label in in_lines(dims[at].labels))
    makers = dict.fromkeys(label.op for label in told if label.kind in ("vmap", "scan") and label.op is not None)
    made = (Step(one.span, f"`{one.name}` makes an axis of it here") for one in makers)
    return Obligation(
        op.span,
        message=f"{named(index, 'the index')} counts `{counted}`, and selects along `{indexed}` (axis {axis})",
        current=f"positions along `{counted}` mean nothing along `{indexed}`; JAX clamps those that are too large",
        expected=f"positions along `{counted}` select along axis {own}, which is `{counted}`",
        steps=(Step(extent.source.span, f"positions along `{counted}`"), *made),
        suggestion="exchange the indices, or the axes where they are made (`out_axes`, a transpose)",
    )


def _other_size(op: Op, index: Value, extent: Extent, axes: tuple[int, int]) -> Obligation:
    axis, own = axes
    return Obligation(
        op.span,
        severity=Severity.WARNING,
        message=f"{named(index, 'the index')} runs over {shown(extent.end)}, and selects along axis {axis}",
        current=f"it has as many values as axis {own} is long, and is used along axis {axis}",
        expected=f"an index that runs over axis {axis}, or one that selects along axis {own}",
        steps=(Step(extent.source.span, f"as many as axis {own} is long"),),
        suggestion=f"count up to the size of axis {axis}",
    )


def _clamped(op: Op, start: Argument, extent: Extent, length: Dim, size: Dim) -> Obligation:
    last = extent.end - ONE
    verb = "read" if op.name == "array.gather" else "written"
    return Obligation(
        op.span,
        severity=Severity.ERROR if extent.reached else Severity.WARNING,
        message=f"a slice of {shown(length)} from {shown(last)} does not fit in an axis of size {shown(size)}",
        current=f"JAX raises nothing and moves the start back, so that other elements are {verb}",
        expected=f"{named(start, 'the start')} is at most {shown(size - length)}",
        steps=(Step(extent.source.span, "it is made here"),) if extent.source is not op else (),
        suggestion="let the start end one slice before the end, or pad the array",
    )


def _too_far(op: Op, index: Value, extent: Extent, size: Dim, flow: Flow) -> Obligation:
    reads = op.name != "array.scatter"
    # Places among edges count from 1: who looks them up has to take one away, whoever uses them.
    looked_up = extent.source.function in LOOKUPS and flow.maker(plain_index(index, flow)) is extent.source
    span, name = (extent.source.span, "this") if looked_up else (op.span, named(index, "the index"))
    step = Step(op.span, "it is used as an index here") if looked_up else Step(extent.source.span, "it is made here")
    return Obligation(
        span,
        severity=Severity.ERROR if extent.reached else Severity.WARNING,
        message=f"{name} goes up to {shown(extent.end - ONE)} in an axis of size {shown(size)}",
        current="JAX raises nothing and gives the element at the end" if reads else "JAX silently drops these updates",
        expected=f"an index below {shown(size)}",
        steps=(step,),
        suggestion="subtract 1: between the first two edges it is 1"
        if looked_up
        else "stop one earlier, or clip the index where the last element is meant",
    )
