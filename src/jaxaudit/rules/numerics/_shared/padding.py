"""Indices padded with negative numbers: an index that is tested for being absent, then read as if it were there."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import prod

from jaxaudit.analyses.extents import counts_from_end
from jaxaudit.analyses.lineage.elements import whole_of
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import depends, last, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.ir import Argument, Op, Program, Region, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS, CONJUNCTIONS, DISJUNCTIONS
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.values import leaves_nothing_out
from jaxaudit.rules.base import Obligation, Step, named


def plain_index(index: Value, flow: Flow) -> Value:
    """Return an index before what JAX does to it: negative ones are counted from the end."""
    return last(index, lambda one: _before(flow.maker(one), flow))


def _before(maker: Op | None, flow: Flow) -> Value | None:
    inner: Argument = None
    if maker is None:
        return None
    if maker.name in KEEPING or (maker.name == "array.join" and len(maker.operands) == 1):
        inner = next(iter(maker.operands), None)
    elif maker.name == "py.item" and leaves_nothing_out(maker.arguments.get("index", 0)):
        inner = maker.arguments.get("base")
    elif maker.name == "array.select" and (maker.api or counts_from_end(maker, flow)):
        inner = maker.arguments.get("y")
    return inner if isinstance(inner, Value) else None


_TESTS = {("greater_equal", 0), ("less", 0), ("greater", -1), ("less_equal", -1), ("equal", -1), ("not_equal", -1)}
"""Questions that only make sense where -1 stands for nothing."""
_EACH_ELEMENT = ("array.map", "array.convert", "array.normalise")
_ASKS = tuple(sorted({function for function, _ in _TESTS}))


def padded_reads(program: Program, flow: Flow, ranges: Ranges) -> Iterator[Obligation]:
    """Return every gather whose padding is mixed into a result."""
    filled = {value for value in _filled(program) if _starts_at_minus_one(flow.maker(value), ranges)}
    if not filled and not any(_tested(op) is not None for op in program.mapping(*_ASKS)):
        return
    for region in program.regions():
        yield from _in_region(region, flow, filled)


def _filled(program: Program) -> Iterator[Value]:
    """Return the arrays that some entries are written into."""
    bases = (op.argument("base") for op in program.named("py.set_item", "array.scatter"))
    return (base for base in bases if isinstance(base, Value))


def _starts_at_minus_one(op: Op | None, ranges: Ranges) -> bool:
    """Whether an array is made of -1 alone, before some of its entries are written."""
    if op is None:
        return False
    if "fill_value" in op.arguments:
        return op.arguments["fill_value"] == -1
    numbers = [ranges.look(op).of(one).constant for one in op.arguments.values()] if op.name == "array.map" else []
    known = [one for one in numbers if one is not None]
    return len(known) == len(numbers) > 0 and {"negative": -known[0], "multiply": prod(known)}.get(op.function) == -1


def _in_region(region: Region, flow: Flow, filled: Collection[Value]) -> Iterator[Obligation]:
    tested = {index: op for op in region.ops if op.name == "array.map" and (index := _tested(op)) is not None}
    for op in region.ops if tested or filled else ():
        index = op.argument("index", "indices") if op.name in ("py.item", "array.gather") and op.results else None
        if not isinstance(index, Value):
            continue
        index = plain_index(index, flow)
        says = tested.get(index) or (None if is_extended(op, flow) else _builder(index, flow, filled))
        tests = [result for one in region.ops if _tested(one) is index for result in one.results]
        mixer = None if says is None else _mixed(op.results[0], tests, flow)
        if says is not None and mixer is not None:
            yield _finding(op, index, says, mixer)


def is_extended(op: Op, flow: Flow) -> bool:
    """Whether something was put behind what is read, such as a row of zeros that -1 stands for."""
    base = next(iter(op.arguments.values()), None)
    made = flow.maker(whole_of(flow, base)) if isinstance(base, Value) else None
    return made is not None and (made.name == "array.join" or made.function == "pad")


def _builder(index: Value, flow: Flow, filled: Collection[Value]) -> Op | None:
    """Return what made the -1 that an index is full of, before some of its entries were written."""

    def before(one: Value) -> Value | None:
        whole = whole_of(flow, one)
        made = flow.maker(whole)
        if made is None or whole in filled:
            return whole if whole is not one else None
        base = made.argument("base") if made.name == "array.scatter" else made.argument("a", "object")
        copies = made.name == "array.scatter" or made.function in ARRAYS_OF_ITEMS
        return base if copies and isinstance(base, Value) else whole if whole is not one else None

    whole = last(index, before) if filled else index
    return flow.maker(whole) if whole in filled else None


def _tested(op: Op) -> Value | None:
    """Return the index that an op asks about whether it is there."""
    x, y = op.arguments.get("x"), op.arguments.get("y")
    asks = isinstance(y, int) and (op.function, int(y)) in _TESTS
    # What JAX's functions test inside is no question of the author's: whether to count an index from the end.
    return x if asks and not op.is_inner and isinstance(x, Value) else None


def _mixed(read: Value, tests: list[Value], flow: Flow) -> Op | None:
    """Return the op that mixes what was read with the rest; None where a mask comes first, or nobody mixes it."""

    def computing(value: Value) -> list[Op]:
        return [op for op in flow.readers.get(value, ()) if _computes(op, tests, flow)]

    reached = walk((read,), lambda one: (made for op in computing(one) for made in op.results))
    ends = [op for one in reached for op in flow.readers.get(one, ()) if op not in computing(one)]
    mixes = all(op.name == "array.reduce" and "where" not in op.arguments for op in ends)
    return ends[0] if ends and mixes else None


def _computes(op: Op, tests: list[Value], flow: Flow) -> bool:
    """Whether an op computes something else of each element, and masks none: `absent | read`, `present & read`."""
    masks = op.function in CONJUNCTIONS | DISJUNCTIONS and any(depends(flow, one, tests) for one in op.operands)
    return op.name in _EACH_ELEMENT and op.function != "multiply" and not masks


def _finding(op: Op, index: Value, test: Op, mixer: Op) -> Obligation:
    name = named(index, "the index")
    return Obligation(
        op.span,
        message=f"{name} is padded with -1, which reads the last element here",
        current="a negative index counts from the end, so every missing entry brings in the last element",
        expected="missing entries add nothing",
        steps=(
            Step(test.span, f"{name} is negative where there is nothing"),
            Step(mixer.span, "what was read for missing entries is mixed in here"),
        ),
        suggestion=f"mask what was read: `jnp.where(({index.name or 'index'} >= 0)[..., None], ..., 0)`",
    )
