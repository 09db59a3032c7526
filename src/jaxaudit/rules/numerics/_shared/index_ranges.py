"""Indices whose range is known, next to the size of the axis that they index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from math import inf

from jaxaudit.analyses.extents import Clipped, clipped, met, size_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import left, walk
from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import CONJUNCTIONS, LOOKUPS
from jaxaudit.ir.ops import KEEPING, LOOPS, PASSED_ON, SELECTED
from jaxaudit.ir.values import index_parts, is_whole, leaves_nothing_out
from jaxaudit.rules.base import Obligation, Severity, Step, named, proved
from jaxaudit.rules.numerics._shared.padding import plain_index

_INDEXES = ("", "getitem", "take", "take_along_axis", "set", "add", "multiply", "max", "min")
"""What the user calls where JAX itself decides what happens beyond the end."""


def judge_ranges(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge for every index of an op whether its range fits the axis."""
    ranges, flow = facts.get(Ranges), facts.flow
    for index, size in _indices(op, ranges):
        known = ranges.within(flow.holder(op), op, index)
        # Code that makes empty arrays fills them somewhere else.
        if size == 0 or not known.integer:
            continue
        if -size <= known.low and known.high <= size - 1:
            yield proved(op.span, f"{named(index, 'the index')} is {range_text(known)}, within an axis of size {size}")
        elif known.low >= size and (known.constant is None or "dimension_numbers" in op.arguments):
            if not _may_be_empty(index, flow):
                yield _beyond(op, index, size, known, None)
        elif (found := clipped(plain_index(index, flow), facts)) is not None and found.most >= size:
            if not is_masked(op, facts):
                yield _clipped_beyond(op, index, size, found)
        elif size <= known.high < inf:
            counted = _placed_by(index, ranges, flow)
            if counted is not None and not is_masked(op, facts):
                yield _beyond(op, index, size, known, counted)


def _may_be_empty(index: Value, flow: Flow) -> bool:
    """Whether an index counts a loop of Python, which has no turn where the axis is too short for it."""
    maker = flow.maker(index)
    if maker is not None and maker.name == "array.map" and maker.operands:
        maker = flow.maker(maker.operands[0])
    return maker is not None and maker.name == "py.element"


def _indices(op: Op, ranges: Ranges) -> Iterator[tuple[Value, int]]:
    """Return every index that is a value, with the size of its axis where that is known."""
    base = op.argument("base", "a", "arr")
    sizes = ranges.known.sizes(base) if isinstance(base, Value) else None
    if not sizes or not isinstance(base, Value) or ranges.known.number(base) is not None or is_meant(op, ranges):
        return
    if "dimension_numbers" in op.arguments:
        pairs = traced_index(op)
    elif op.name == "array.gather":
        pairs = taken(op, len(sizes))
    else:
        pairs = written(op.arguments.get("index"), ranges)
    for index, axis in pairs:
        size = sizes[axis] if -len(sizes) <= axis < len(sizes) else None
        if size is not None:
            yield index, size


def is_meant(op: Op, ranges: Ranges) -> bool:
    """Whether the code itself says what shall happen beyond the end, or may still say so."""
    if op.name == "array.at":
        return True
    if ranges.known.types and op.name in ("array.gather", "array.scatter"):
        return bool(op.says_mode or op.library or op.api not in _INDEXES)
    return op.arguments.get("mode") is not None or op.api not in ("", "getitem")


def written(index: Argument, ranges: Ranges) -> Iterator[tuple[Value, int]]:
    """Return the indices in brackets with their axes, up to the first part that takes several axes."""
    axis = 0
    parts = [part for part in index_parts(index) if part is not None]
    for part in parts:
        if part == "...":
            # Behind it, axes are counted from the end.
            axis = axis - len(parts)
        elif isinstance(part, Value) and ranges.known.dtype(part) == "bool":
            return
        elif isinstance(part, Value):
            yield part, axis
        axis += 1


def taken(op: Op, rank: int) -> Iterator[tuple[Value, int]]:
    """Return the index of `take`."""
    index, axis = op.arguments.get("indices"), op.arguments.get("axis")
    if axis is None and rank == 1:
        axis = 0
    if op.function == "take" and isinstance(index, Value) and isinstance(axis, int):
        yield index, axis


def traced_index(op: Op) -> Iterator[tuple[Value, int]]:
    """Return the index of a gather or scatter in a trace that takes single entries along one axis."""
    numbers, index = op.arguments.get("dimension_numbers"), op.argument("index", "indices")
    if not isinstance(numbers, Mapping) or not isinstance(index, Value):
        return
    places = numbers.get("start_index_map" if op.name == "array.gather" else "scatter_dims_to_operand_dims")
    axis = places[0] if isinstance(places, tuple) and len(places) == 1 else None
    windows = op.arguments.get("slice_sizes")
    if op.name == "array.gather":
        single = op.function == "take" and isinstance(windows, tuple) and isinstance(axis, int) and windows[axis] == 1
    else:
        single = numbers.get("inserted_window_dims") == places
    if isinstance(axis, int) and single:
        yield index, axis


def _placed_by(index: Value, ranges: Ranges, flow: Flow) -> Op | None:
    """Return the op that looks up among edges where any number whatever belongs: also after the last."""
    maker = flow.maker(plain_index(index, flow))
    given = maker.argument("v", "x") if maker is not None and maker.function in LOOKUPS else None
    return maker if isinstance(given, Value) and ranges.of(given).high == inf else None


def is_masked(op: Op, facts: Facts) -> bool:
    """Whether something afterwards may leave out what was read beyond the end."""
    flow = facts.flow
    if not op.results or op.name == "array.scatter":
        return False

    # Entries that an index array selects along the first axis stand there as long as nothing moves the axes.
    in_front = op.name == "py.item" and isinstance(index_parts(op.arguments.get("index"))[0], Value)
    straight = set(walk(op.results[:1], lambda one: _made(one, flow, _keeps_rows))) if in_front else set()

    def keeps(reader: Op) -> bool:
        return (_is_row_wise(reader) and reader.base in straight) or _takes_only_one(reader, facts)

    # Whoever gets it from elsewhere knows nothing of the index that it would have to mask.
    reached = set(walk(op.results[:1], lambda one: _made(one, flow, lambda reader: _hands_on(reader) or keeps(reader))))
    readers = (reader for value in reached for reader in flow.readers.get(value, ()))
    return any(_masks(reader, reached) for reader in readers if not keeps(reader))


def _made(value: Value, flow: Flow, through: Callable[[Op], bool]) -> Iterator[Value]:
    yield from (made for reader in flow.readers.get(value, ()) if through(reader) for made in reader.results)
    for region in flow.leaving.get(value, ()):
        around = flow.places.holder.get(id(region))
        if around is not None and around.name in LOOPS:
            yield from left(flow, value)


def _keeps_rows(op: Op) -> bool:
    return op.name == "array.map" or op.name in PASSED_ON or _is_row_wise(op)


def _is_row_wise(op: Op) -> bool:
    """Whether an op is `x[:, 0]` or the like, which takes something of every row."""
    parts = index_parts(op.arguments.get("index")) if op.name == "py.item" else ()
    return len(parts) > 1 and is_whole(parts[0]) and not any(isinstance(part, Value) for part in parts)


def _takes_only_one(op: Op, facts: Facts) -> bool:
    """Whether an op is `x[..., 0]` where that axis has one element, so that nothing is left out."""
    given = index_parts(op.arguments.get("index")) if op.name == "py.item" else ()
    parts = [part for part in given if part is not None]
    if op.base is None or not parts or not all(part in (0, -1, "...") or is_whole(part) for part in parts):
        return False
    ahead = parts.index("...") if "..." in parts else len(parts)
    at = {place if place < ahead else place - len(parts): part for place, part in enumerate(parts) if part in (0, -1)}
    fact = met(facts.get(Shapes), op, op.base)
    sizes = [size_of(fact, axis) for axis in at]
    return all(size is not None and size.constant == 1 for size in sizes)


def _hands_on(op: Op) -> bool:
    whole = op.name == "py.item" and leaves_nothing_out(op.arguments.get("index"))
    return whole or op.name in ("array.map", "array.scatter") or op.name in KEEPING


def _masks(reader: Op, read: Set[Value]) -> bool:
    if reader.name == "py.item" and leaves_nothing_out(reader.arguments.get("index")):
        return False
    if reader.name == "array.scatter":
        # What is written is kept, until something else is written over it.
        return reader.base in read and reader.function == "set" and reader.arguments.get("value") not in read
    if reader.name in (*SELECTED, "array.select"):
        return True
    weighs = reader.function == "multiply" and len(reader.operands) > 1
    return reader.name == "array.map" and (weighs or reader.function in CONJUNCTIONS)


def _clipped_beyond(op: Op, index: Value, size: int, found: Clipped) -> Obligation:
    writes = op.name == "array.scatter"
    return Obligation(
        op.span,
        severity=Severity.ERROR if writes else Severity.WARNING,
        message=f"{named(index, 'the index')} goes up to {found.most} in an axis of size {size}",
        current="JAX silently drops these updates" if writes else "JAX raises nothing and gives the element at the end",
        expected=f"an index below {size}",
        steps=(Step(found.source.span, "what is clipped here gets the largest place"),),
        suggestion=f"clip the index itself: `jnp.clip(index, 0, {size - 1})`",
    )


def _beyond(op: Op, index: Value, size: int, known: Range, counted: Op | None) -> Obligation:
    if counted is not None:
        extent = f"goes up to {int(known.high)}"
    else:
        extent = f"is {range_text(known) if known.constant is None else int(known.constant)}"
    reads = op.name != "array.scatter"
    return Obligation(
        op.span,
        message=f"{named(index, 'the index')} {extent} in an axis of size {size}",
        current="JAX raises nothing and gives the element at the end" if reads else "JAX silently drops these updates",
        expected=f"an index below {size}",
        steps=(Step(counted.span, "it is made here"),) if counted is not None else (),
        suggestion="stop one earlier, or clip the index where the last element is meant",
    )
