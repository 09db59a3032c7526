"""Recursions over temporal differences: a loop that adds up `reward + discount * next value - value`.

They are recognised by what is added to what, never by names: a carry that is scaled and added to a sum in which one
value is subtracted and its successor in time is added, scaled down, beside something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.lineage.courses import Course, Seen, course
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.analyses.queries import behind, depends, sources, through_ops, walk
from jaxaudit.ir import Argument, Op, Program, Region, Value
from jaxaudit.ir.interfaces import Branch, Loop, Recurrence, Turn, complement
from jaxaudit.ir.ops import ELEMENTWISE, LOOPS, PASSED_ON
from jaxaudit.ir.record import record, replace


@record
class Recursion:
    """One loop that accumulates temporal differences."""

    scan: Op
    update: Op
    """What makes the new carry."""
    successor: Product
    """The part with the next value."""
    value: Value
    """The value that the next one succeeds."""
    carry: Value
    kept: Product
    """The part with the carry."""
    backwards: bool
    """Whether the loop runs from the end of time to its beginning."""
    sums: Sums
    turn: frozenset[Value]
    """What the body sees of each step: elements, and other carries."""

    @property
    def hands_on(self) -> bool:
        """Whether the carry holds the next value for one turn."""
        return any(one.param in self.successor.factors for one in Loop(self.scan).carried)

    def differs(self, value: Value) -> bool:
        """Whether a value of the body depends on the step."""
        return any(one in self.turn for one in walk((self.sums.source(value),), self._made_of))

    def _made_of(self, value: Value) -> Iterator[Value]:
        op = self.sums.flow.maker(value)
        return (self.sums.source(one) for one in (() if op is None else op.operands))


def recursions(program: Program, flow: Flow) -> Sequence[Recursion]:
    """Find every recursion over temporal differences."""
    known = flow.table(recursions)
    if program not in known:
        known[program] = [one for found, sums in courses(program, flow) for one in _in_loop(found, sums)]
    return known[program]


def courses(program: Program, flow: Flow) -> Sequence[tuple[Course, Sums]]:
    """Return how every loop of a program goes through arrays, in each context."""
    known = flow.table(courses)
    if program not in known:
        ways = ((op, Sums.of(flow, context)) for op in program.named(*LOOPS) for context in contexts(flow, op))
        known[program] = [(found, sums) for op, sums in ways if (found := course(op, sums)) is not None]
    return known[program]


def _in_loop(loop: Course, sums: Sums) -> Iterator[Recursion]:
    region, slots = Loop(loop.op).body, [(one.param, end) for one, end in loop.successors]
    successors = {param: sums.source(end) for param, end in slots}
    turn = frozenset(region.params) - {param for param, end in successors.items() if end is param}
    for param, end in slots:
        update = sums.maker(end)
        if update is None:
            continue
        parts = sums.products(end)
        kept = [one for one in parts if one.factors.count(param) == 1]
        if len(kept) != 1 or any(param in one.factors for one in parts if one is not kept[0]):
            continue
        rest = tuple(_unpacked(sums, loop.elements, [one for one in parts if one is not kept[0]]))
        added = _without(rest, _common(rest))
        for value, successor in _differences(added, sums, successors, loop.elements):
            backwards = loop.backwards
            if backwards is not None:
                yield Recursion(loop.op, update, successor, value, param, kept[0], backwards, sums, turn)
            break


@record
class Accumulated:
    """A cumulative sum of temporal differences, each weighed by a power of the discount."""

    op: Op
    value: Value
    backwards: bool


def accumulated(program: Program, flow: Flow) -> Iterator[Accumulated]:
    """Find every discounted sum of temporal differences that a cumulative function makes."""
    for op in program.named("array.scan"):
        view = Recurrence.of(op)
        for context in contexts(flow, op) if view is not None and op.function == "cumsum" and view.elements else ():
            sums = Sums.of(flow, context)
            turn = Turn.of(sums.maker(view.elements[0])) if view is not None else None
            parts = sums.products(op.operands[0] if turn is None else turn.base)
            weights = _common(parts)
            if view is None or view.reverse is None or not any(_is_power(sums, one) for one in weights):
                continue
            for value, _ in _differences(_without(parts, weights), sums, {}, {}):
                yield Accumulated(op, value, view.reverse is (turn is None))
                break


def _is_power(sums: Sums, value: Value) -> bool:
    """Whether a value is the powers of one number: `discount ** jnp.arange(n)`."""
    op = sums.maker(value)
    exponent = None if op is None or op.function != "power" else op.argument("y")
    made = sums.maker(exponent) if isinstance(exponent, Value) else None
    return made is not None and made.function == "arange"


def _common(parts: tuple[Product, ...]) -> frozenset[Value]:
    """Return what all parts of a sum are weighed by."""
    return (
        frozenset(parts[0].factors).intersection(*(one.factors for one in parts[1:])) if len(parts) > 1 else frozenset()
    )


def _without(parts: tuple[Product, ...], weights: frozenset[Value]) -> tuple[Product, ...]:
    """Return the parts of a sum before it was weighed."""
    return tuple(replace(one, factors=tuple(two for two in one.factors if two not in weights)) for one in parts)


@record
class Bootstrapped:
    """A discounted sum over steps that starts from what the last step left."""

    op: Op
    update: Op
    start: Value
    steps: Op
    """The scan that made the steps."""
    backwards: bool


def bootstrapped(program: Program, flow: Flow) -> Iterator[Bootstrapped]:
    """Find every discounted sum over what a scan stacked that starts from the last carry of that scan."""
    for found, sums in courses(program, flow):
        yield from () if found.backwards is None else _from_the_end(found, sums)


def _from_the_end(loop: Course, sums: Sums) -> Iterator[Bootstrapped]:
    for one, end in loop.successors:
        update, parts = sums.maker(end), sums.products(end)
        kept = [part for part in parts if one.param in part.factors]
        added = {value for part in parts if part not in kept for value in part.factors if value in loop.elements}
        scaled = len(kept) == 1 and kept[0].factors.count(one.param) == 1 and kept[0] != Product(1.0, (one.param,))
        if update is None or not scaled or not added or loop.backwards is None:
            continue
        scans = {scan for value in added for scan in _stacking(loop.elements[value].array, sums.flow)}
        ends = {value: scan for scan in scans for value in scan.results[: scan.carry or 0]}
        made_of = sources(sums.flow, (one.start,), _hands_numbers_on) if ends else ()
        scan = next((ends[value] for value in made_of if value in ends), None)
        # What is made of the steps themselves, such as their first element, is not what comes after the last of them.
        if scan is not None and {*made_of}.isdisjoint(scan.results[scan.carry or 0 :]):
            yield Bootstrapped(loop.op, update, one.start, scan, loop.backwards)


def _hands_numbers_on(op: Op) -> bool:
    """Whether the numbers of an operand matter to an op, and not just its shape."""
    return op.name not in ("array.create", "array.shape")


def _stacking(value: Value, flow: Flow) -> Iterator[Op]:
    """Return the scans that stacked what an array is made of, element by element."""
    elementwise = through_ops(*ELEMENTWISE, *PASSED_ON)
    for one in walk((value,), lambda one: () if _is_stacked(one, flow) else behind(flow, one, elementwise)):
        op = flow.maker(one)
        if op is not None and _is_stacked(one, flow):
            yield op


def _is_stacked(value: Value, flow: Flow) -> bool:
    op = flow.maker(value)
    return op is not None and op.name == "scan" and flow.position(op.results, value) >= (op.carry or 0)


@record
class Standing:
    """A scan over temporal differences whose next value stays what it was at the start, or is the step's own."""

    later: Value
    value: Value
    """The value of the step; the same as `later` where the step is bootstrapped with its own."""
    update: Op
    place: Op
    """What hands the carry on, the end of the body; the sum where the step is bootstrapped with its own value."""


def standing(program: Program, flow: Flow) -> Iterator[Standing]:
    """Find every recursion over temporal differences whose next value is a carry that never changes, or the value."""
    for op in program.named("scan"):
        for context in contexts(flow, op):
            found = _stands(op, Sums.of(flow, context))
            if found is not None:
                yield found
                break


def _stands(op: Op, sums: Sums) -> Standing | None:
    region, slots = op.regions[0], Loop(op).carried
    fixed = {param for param, _, at in slots if _unchanged(sums, region.results, param, at)}
    carried = {param for param, _, _ in slots}
    end = next((one for one in reversed(region.ops) if one.name == "py.return"), None)
    for param, _, at in slots:
        update = sums.maker(region.results[at]) if at < len(region.results) else None
        parts = sums.products(region.results[at]) if update is not None and param not in fixed else ()
        kept = [one for one in parts if param in one.factors]
        if update is None or len(kept) != 1:
            continue
        rest = [one for one in parts if param not in one.factors]
        taken = [one.factors[0] for one in rest if one.coefficient == -1.0 and len(one.factors) == 1 and not one.masks]
        if len(taken) != 1 or taken[0] in carried or not depends(sums.flow, taken[0], region.params):
            continue
        added = [one for one in rest if one.coefficient > 0 and {*fixed, *taken}.intersection(one.factors)]
        later = [one for part in added for one in part.factors if one in fixed or one in taken]
        rewards = [one for one in rest if one.coefficient > 0 and one not in added]
        others = [one for part in added for one in part.factors if one not in later]
        # A discount is on both, or comes from outside.
        if len(later) != 1 or not rewards or not all(_is_mask(one, region, sums) for one in others):
            continue
        if later[0] in fixed and end is not None and len(rest) == 3:
            return Standing(later[0], taken[0], update, end)
        shared = {_written(one, sums) for one in others}.intersection(_written(one, sums) for one in kept[0].factors)
        if later == taken and shared:
            return Standing(later[0], taken[0], update, update)
    return None


def _written(value: Value, sums: Sums) -> object:
    """Return what a factor is, however often it is written down: `1 - done` twice is one mask."""
    value = sums.source(value)
    op = sums.flow.maker(value)
    if op is None or op.regions or op.name not in ("array.map", "py.item", "py.attr"):
        return value
    given = (sums.source(one) if isinstance(one, Value) else repr(one) for one in op.arguments.values())
    return (op.name, op.function, op.label, *given)


def _is_mask(value: Value, region: Region, sums: Sums) -> bool:
    """Whether a value is `1 - done`, or comes from outside of the scan."""
    return complement(sums.flow.maker(value)) is not None or not depends(sums.flow, value, region.params)


def _unchanged(sums: Sums, results: tuple[Value, ...], param: Value, at: int) -> bool:
    return at < len(results) and sums.source(results[at]) is param


def _unpacked(sums: Sums, elements: Mapping[Value, Seen], parts: list[Product]) -> Iterator[Product]:
    """Take apart what was summed before the loop and is only handed to it."""
    for part in parts:
        seen = elements.get(part.factors[0]) if len(part.factors) == 1 else None
        inner = sums.products(seen.array) if seen is not None else ()
        if len(inner) > 1:
            scale = replace(part, factors=())
            yield from (one.times(scale) for one in inner)
        else:
            yield part


def _differences(
    parts: tuple[Product, ...], sums: Sums, successors: Mapping[Value, Value], elements: Mapping[Value, Seen]
) -> Iterator[tuple[Value, Product]]:
    """Find a value that is subtracted, its successor that is added on a smaller scale, and something else beside."""
    for old in parts:
        if old.coefficient != -1.0 or len(old.factors) != 1 or old.masks:
            continue
        value = old.factors[0]
        for new in parts:
            later = [one for one in new.factors if _succeeds(one, value, sums, successors, elements)]
            discounted = len(new.factors) > 1 or bool(new.masks) or 0 < new.coefficient < 1
            if later and discounted and any(_is_reward(one, old, new) for one in parts):
                yield value, new


def _is_reward(part: Product, old: Product, new: Product) -> bool:
    return part is not old and part is not new and part.coefficient > 0 and bool(part.factors)


def _succeeds(
    later: Value, value: Value, sums: Sums, successors: Mapping[Value, Value], elements: Mapping[Value, Seen]
) -> bool:
    """Whether a value is the next one in time: the carry holds it for one turn, or it is shifted by one."""
    if successors.get(later) is value:
        return True
    first, second = elements.get(value), [elements[one] for one in _ways(later, sums) if one in elements]
    if first is not None and any(one.follows(first) for one in second):
        return True
    later, value = (sums.source(elements[one].array if one in elements else one) for one in (later, value))
    shifted, base = _dropped(sums, later, first=True), _dropped(sums, value, first=False)
    return shifted is not None and (shifted is value or shifted is base)


def _ways(value: Value, sums: Sums) -> Iterator[Value]:
    """Return what a value is, or may be where it was chosen."""
    yield value
    op = sums.flow.maker(value)
    branch = None if op is None else Branch.of(op)
    if op is not None and branch is not None:
        at = sums.flow.position(op.results, value)
        yield from (sums.source(arm.results[at]) for arm in branch.arms if at < len(arm.results))


def _dropped(sums: Sums, value: Value, *, first: bool) -> Value | None:
    """Return the array of which a value is all but the first or last entry, perhaps with something put in its place."""
    op = sums.flow.maker(value)
    if op is not None and op.name == "array.join" and first and op.operands:
        op = sums.maker(op.operands[0])
    if op is None or op.name != "py.item":
        return None
    window = _leading(op.arguments.get("index"))
    base = op.arguments.get("base")
    cut = window.get("start") == 1 if first else window.get("stop") == -1
    return sums.source(base) if cut and isinstance(base, Value) else None


def _leading(index: Argument) -> Mapping[str, Argument]:
    first = index[0] if isinstance(index, tuple) and index else index
    return first if isinstance(first, Mapping) else {}
