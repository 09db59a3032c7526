"""Indices whose range is known, next to the size of the axis that they index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.rules.base import Obligation, Step, Verdict
from jaxaudit.rules.numerics._shared.domains import short
from jaxaudit.rules.phrases import proved

_COPIES = frozenset({"array.expand", "array.reshape", "array.squeeze", "array.convert", "array.join"})
_PASSES = frozenset({"array.map", "array.convert", "array.reshape", "array.expand"})
_INDEXES = frozenset(("", "getitem", "take", "take_along_axis", "set", "add", "multiply", "max", "min"))
_MOST_STEPS = 10


@dataclass(frozen=True, slots=True)
class Indexed:
    """One index that is a value, and the size of its axis."""

    index: Value
    size: int


def judged(rule: str, op: Op, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    """Say of every index of an op whether its range fits the axis."""
    for one in _indices(op, ranges):
        if one.size == 0:
            # Code that makes empty arrays fills them somewhere else.
            continue
        known = _here(op, one.index, ranges, flow)
        if not known.integer:
            continue
        if -one.size <= known.low and known.high <= one.size - 1:
            reason = f"{_name(one.index)} is {range_text(known)}, within an axis of size {one.size}"
            yield proved(rule, op.span, reason)
        elif known.low >= one.size and (known.constant is None or "dimension_numbers" in op.arguments):
            if not _may_be_empty(one.index, flow):
                yield _beyond(rule, op, one, known, None)
        elif one.size <= known.high < float("inf"):
            counted = counted_by(one.index, flow) or _placed_by(one.index, ranges, flow)
            if counted is not None and not _is_masked(op, flow, far=known.high > one.size):
                yield _beyond(rule, op, one, known, counted)


def _may_be_empty(index: Value, flow: Flow) -> bool:
    """Whether an index counts a loop of Python, which has no turn where the axis is too short for it."""
    maker = flow.maker(index)
    if maker is not None and maker.name == "array.map" and maker.operands:
        maker = flow.maker(maker.operands[0])
    return maker is not None and maker.name == "py.element"


def _here(op: Op, index: Value, ranges: Ranges, flow: Flow) -> Range:
    """Return the range of an index where the op stands: a branch around it may say more."""
    holder = flow.holder(op)
    if holder is None or holder.name not in ("py.branch", "cond") or not holder.operands or len(holder.regions) != 2:
        return ranges.of(index)
    return ranges.under(holder, holder.operands[0], index, holds=op in holder.regions[0].ops)


def _indices(op: Op, ranges: Ranges) -> Iterator[Indexed]:
    base = op.arguments.get("base", op.arguments.get("a", op.arguments.get("arr")))
    sizes = ranges.known.sizes(base) if isinstance(base, Value) else None
    if (
        _is_meant(op, ranges)
        or not sizes
        or ranges.known.number(base if isinstance(base, Value) else op.results[0]) is not None
    ):
        return
    if op.name == "array.gather" and short(op) == "take":
        yield from _taken(op, sizes)
    elif op.name == "array.scatter" and "dimension_numbers" in op.arguments:
        yield from _scattered(op, sizes)
    elif op.name in ("py.item", "array.scatter"):
        yield from _written(op.arguments.get("index"), sizes, ranges)


def _is_meant(op: Op, ranges: Ranges) -> bool:
    """Whether the code itself says what shall happen beyond the end."""
    if ranges.known.types and op.name in ("array.gather", "array.scatter"):
        return bool(op.says_mode or op.library or op.api not in _INDEXES)
    return op.arguments.get("mode") is not None or op.api not in ("", "getitem")


def _written(index: Argument, sizes: tuple[int | None, ...], ranges: Ranges) -> Iterator[Indexed]:
    """Pair the axes of an array with the values that index them, up to the first part that takes several axes."""
    axis = 0
    for part in index if isinstance(index, tuple) else (index,):
        if part is None:
            continue
        if part == "..." or axis >= len(sizes):
            return
        if isinstance(part, Value):
            if ranges.known.dtype(part) == "bool":
                return
            if (size := sizes[axis]) is not None:
                yield Indexed(part, size)
        axis += 1


def _taken(op: Op, sizes: tuple[int | None, ...]) -> Iterator[Indexed]:
    index, numbers = op.arguments.get("indices"), op.arguments.get("dimension_numbers")
    axis: Argument = op.arguments.get("axis")
    if isinstance(numbers, Mapping):
        places = numbers.get("start_index_map")
        axis = places[0] if isinstance(places, tuple) and len(places) == 1 else None
        windows = op.arguments.get("slice_sizes")
        if not isinstance(axis, int) or not isinstance(windows, tuple) or windows[axis] != 1:
            return
    elif axis is None and len(sizes) == 1:
        axis = 0
    if isinstance(index, Value) and isinstance(axis, int) and -len(sizes) <= axis < len(sizes):
        size = sizes[axis]
        if size is not None:
            yield Indexed(index, size)


def _scattered(op: Op, sizes: tuple[int | None, ...]) -> Iterator[Indexed]:
    """Return the index of an update in a trace that writes single entries along one axis."""
    index, numbers = op.arguments.get("index"), op.arguments.get("dimension_numbers")
    places = numbers.get("scatter_dims_to_operand_dims") if isinstance(numbers, Mapping) else None
    inserted = numbers.get("inserted_window_dims") if isinstance(numbers, Mapping) else None
    if not isinstance(index, Value) or not isinstance(places, tuple) or len(places) != 1 or inserted != places:
        return
    axis = places[0]
    size = sizes[axis] if isinstance(axis, int) and axis < len(sizes) else None
    if size is not None:
        yield Indexed(index, size)


def plain_index(index: Value, flow: Flow) -> Value:
    """Look through what JAX does to an index before it uses it: negative ones are counted from the end."""
    for _ in range(_MOST_STEPS):
        maker = flow.maker(index)
        if maker is None:
            break
        inner: Argument = None
        if maker.name in _COPIES and len(maker.operands) == 1:
            inner = maker.operands[0]
        elif maker.name == "py.item" and _is_whole(maker.arguments.get("index")):
            inner = maker.arguments.get("base")
        elif maker.name == "array.select" and (maker.api or _counts_from_end(maker, flow)):
            inner = maker.arguments.get("y")
        if not isinstance(inner, Value):
            break
        index = inner
    return index


def _is_whole(index: Argument) -> bool:
    """Tell `x[:, None]`, which leaves nothing out."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(part is None or (isinstance(part, Mapping) and not any(part.values())) for part in parts)


def _counts_from_end(select: Op, flow: Flow) -> bool:
    """Whether a choice is `where(i < 0, i + size, i)`."""
    condition, kept = select.arguments.get("condition"), select.arguments.get("y")
    test = flow.maker(condition) if isinstance(condition, Value) else None
    return test is not None and short(test) == "less" and kept in test.operands and test.arguments.get("y") == 0


def counted_by(index: Value, flow: Flow, depth: int = 1) -> Op | None:
    """Return the op that counts an index up, so that both ends of its range are surely reached; None for others."""
    for _ in range(_MOST_STEPS):
        index = plain_index(index, flow)
        maker = flow.maker(index)
        if maker is None:
            return _counting_loop(index, flow)
        if maker.name == "array.create" and short(maker) in ("arange", "iota"):
            return maker
        if maker.name == "py.const" and maker.extent is not None:
            return maker
        if maker.name == "key.draw" and short(maker) == "randint":
            return maker
        if maker.name == "py.element":
            return maker if _counts_all(maker, flow) else None
        if maker.name != "array.map" or short(maker) not in ("add", "subtract", "multiply"):
            return None
        varying = [one for one in maker.arguments.values() if isinstance(one, Value)]
        if len(varying) == 2 and short(maker) == "add" and depth > 0:
            # Each of two counters runs through all its values, whatever the other one is.
            found = [counted_by(one, flow, depth - 1) for one in varying]
            return found[0] if None not in found and found[0] is not found[1] else None
        if len(varying) != 1:
            return None
        index = varying[0]
    return None


def _placed_by(index: Value, ranges: Ranges, flow: Flow) -> Op | None:
    """Return the op that looks up among edges where any number whatever belongs: also after the last."""
    maker = flow.maker(plain_index(index, flow))
    if maker is None or short(maker) not in ("digitize", "searchsorted"):
        return None
    given = maker.arguments.get("x" if short(maker) == "digitize" else "v")
    return maker if isinstance(given, Value) and ranges.of(given).high == float("inf") else None


def _counts_all(element: Op, flow: Flow) -> bool:
    """Whether a loop of Python goes through all of a `range`: nothing in it is decided."""
    loop = flow.holder(element)
    if loop is None or not isinstance(element.arguments.get("iterable"), Mapping):
        return False
    return not any(op.name in ("py.test", "py.branch") for op in loop.regions[0].walk())


def _counting_loop(index: Value, flow: Flow) -> Op | None:
    region = flow.places.owner.get(index)
    holder = flow.places.holder.get(id(region)) if region is not None else None
    if holder is not None and region is not None and holder.name == "scan":
        return _scanned(holder, region.params.index(index), flow)
    counts = holder is not None and holder.name == "fori" and region is not None and region.params[0] is index
    return holder if counts and holder is not None and isinstance(holder.trips, int) else None


def _scanned(scan: Op, at: int, flow: Flow) -> Op | None:
    """Return the op that counts what a scan goes through."""
    count = scan.carry
    if not isinstance(count, int) or at < count or len(scan.operands) != len(scan.regions[0].params):
        return None
    maker = flow.maker(scan.operands[at])
    return maker if maker is not None and maker.name == "array.create" and short(maker) in ("arange", "iota") else None


def _is_masked(op: Op, flow: Flow, *, far: bool) -> bool:
    """Whether something afterwards may leave out what was read beyond the end, by more than one place or not."""
    if not op.results or op.name == "array.scatter":
        return False
    pending = [op.results[0]]
    for value in pending:
        for reader in flow.readers.get(value, ()):
            if far and reader.name == "py.item" and _drops_one(reader.arguments.get("index")):
                continue
            if reader.name in ("array.select", "array.scatter", "py.item", "array.gather"):
                return True
            if reader.name == "array.map" and short(reader) in ("multiply", "logical_and", "bitwise_and"):
                return True
            if reader.name in _PASSES and len(pending) < _MOST_STEPS:
                pending.extend(reader.results)
    return False


def _drops_one(index: Argument) -> bool:
    """Tell `x[:, 1:]` and `x[:, :-1]`, which leave out one place at most along each axis."""
    parts = index if isinstance(index, tuple) else (index,)
    ends = [part.get(end) for part in parts if isinstance(part, Mapping) for end in ("start", "stop", "step")]
    return all(isinstance(part, Mapping) for part in parts) and all(one in (None, 1, -1) for one in ends)


def _name(value: Value) -> str:
    return f"`{value.name}`" if value.name else "the index"


def _told(known: Range) -> str:
    return range_text(known) if known.constant is None else str(int(known.constant))


def _beyond(rule: str, op: Op, one: Indexed, known: Range, counted: Op | None) -> Obligation:
    reads = op.name != "array.scatter"
    return Obligation(
        rule,
        op.span,
        Verdict.VIOLATED,
        message=f"{_name(one.index)} goes up to {int(known.high)} in an axis of size {one.size}"
        if counted is not None
        else f"{_name(one.index)} is {_told(known)} in an axis of size {one.size}",
        current="JAX raises nothing and gives the element at the end" if reads else "JAX silently drops these updates",
        expected=f"an index below {one.size}",
        steps=(Step(counted.span, "it is made here"),) if counted is not None else (),
        suggestion="stop one earlier, or clip the index where the last element is meant",
    )
