"""Numbers that several loops count together, such as `epoch + i`, and whether different turns make the same of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import gcd

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.induction import turns_of
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.ops import CALLS
from jaxaudit.ir.record import record


@record
class Count:
    """A number that grows by the same amount in every turn of a loop, or from one element of a map to the next."""

    value: Value
    loop: Op
    region: Region
    step: int
    turns: int | None
    """How many turns there are, where that is known."""


@record
class Counted:
    """A count, and by how much it moves the number that it is a part of."""

    count: Count
    weight: int


@record
class Together:
    """A number as the sum of several counts, and of what stays the same over all of their turns."""

    counts: tuple[Counted, ...]

    @property
    def alike(self) -> tuple[Counted, Counted] | None:
        """Two counts that make the same number in different turns: what the one is ahead the other is behind."""
        return next((pair for pair in combinations(self.counts, 2) if _meet(*pair)), None)

    @property
    def is_open(self) -> bool:
        """Whether it is not known of all counts how far they go."""
        return any(one.count.turns is None for one in self.counts)


def together(facts: Facts, number: Value) -> Together | None:
    """Return the counts of several loops that a number is the sum of; None where it is anything else."""
    sums = Sums.of(facts.flow, {})
    found = list[Counted]()
    for part in sums.products(number):
        counts = [count for one in part.factors if (count := count_of(facts, one, sums)) is not None]
        if not counts:
            # What else is added has to be the same in every turn: it is checked below.
            continue
        weight = part.coefficient * counts[0].step
        if len(part.factors) != 1 or part.masks or weight != int(weight) or not weight:
            return None
        found.append(Counted(counts[0], int(weight)))
    rest = [one for part in sums.products(number) for one in part.factors if count_of(facts, one, sums) is None]
    loops = [one.count.loop for one in found]
    several = len(found) > 1 and len(set(loops)) == len(loops)
    return Together(tuple(found)) if several and all(is_fixed(facts, one, loops) for one in rest) else None


def is_fixed(facts: Facts, value: Value, loops: Sequence[Op]) -> bool:
    """Whether a value is the same in every turn of some loops, since it was made before all of them."""
    value = Sums.of(facts.flow, {}).source(value)
    seen = set[Value]()
    while (loop := facts.flow.loop_of(value)) is not None and value not in seen:
        seen.add(value)
        kept = next((one for one, end in loop.successors if one is value and end is value), None)
        start = next((one.start for one in loop.carried if one.param is kept), None)
        if start is None:
            return False
        value = Sums.of(facts.flow, {}).source(start)
    home = facts.flow.places.region_of_value(value)
    return not any(facts.places.within(home, region) for loop in loops for region in loop.regions)


def count_of(facts: Facts, value: Value, sums: Sums) -> Count | None:
    """Return what a value counts; None where it is no count."""
    op = facts.flow.maker(value)
    if op is not None:
        region = facts.places.region_of[op]
        loop = facts.places.holder.get(id(region))
        counts = op.name == "py.element" and loop is not None and loop.name == "py.loop"
        step = _step(op.arguments.get("iterable"), sums) if counts else None
        return None if step is None or loop is None else Count(value, loop, region, step, _turns(facts, loop))
    entry = facts.flow.entered(value)
    if entry is None:
        return None
    if entry.op.name in ("py.loop", "fori") and entry.region.params[:1] == (value,):
        return Count(value, entry.op, entry.region, 1, _turns(facts, entry.op))
    view = Loop.of(entry.op) if entry.op.name == "scan" else Mapped.of(entry.op) if entry.op.name == "vmap" else None
    for param, whole in () if view is None else view.elements:
        step = _step(whole, sums) if param is value else None
        if step is not None:
            return Count(value, entry.op, entry.region, step, _size(facts, whole))
    return None


def _step(given: object, sums: Sums) -> int | None:
    """Return by how much the numbers of a range grow; None where that, or where they begin, is not written down."""
    made = sums.maker(given) if isinstance(given, Value) else None
    if made is not None and made.name == "array.create" and made.function == "arange":
        bounds: Mapping[str, object] = made.arguments if "stop" in made.arguments else {"start": 0}
    elif isinstance(given, Mapping):
        bounds = given
    else:
        return None
    start, step = bounds.get("start", 0), made.arguments.get("step", 1) if made is not None else bounds.get("step", 1)
    return step if isinstance(step, int) and isinstance(start, int) else None


def _turns(facts: Facts, loop: Op) -> int | None:
    shapes = facts.get(Shapes)
    turns = turns_of(Loop(loop), shapes, lambda one: shapes.of(one).number if isinstance(one, Value) else None)
    if turns is not None:
        return turns.constant
    sizes = [_size(facts, one) for one in _run_through(loop)] if loop.name == "py.loop" else []
    known = [one for one in sizes if one is not None]
    return min(known) if known and len(known) == len(sizes) else None


def _run_through(loop: Op) -> Iterator[Value]:
    """Return what a loop of Python runs through."""
    for op in loop.regions[-1].ops:
        given = op.arguments.get("iterable") if op.name == "py.element" else None
        if isinstance(given, Value):
            yield given


def _size(facts: Facts, whole: Value) -> int | None:
    dims = facts.get(Shapes).of(whole).dims
    return dims[0].constant if dims else None


def _meet(one: Counted, other: Counted) -> bool:
    """Whether some steps of one count make up for some steps of another."""
    common = gcd(one.weight, other.weight)
    return _reaches(one.count, abs(other.weight) // common) and _reaches(other.count, abs(one.weight) // common)


def _reaches(count: Count, steps: int) -> bool:
    """Whether a count takes so many steps; any loop is there to take one."""
    return steps == 1 if count.turns is None else steps < count.turns


def is_position(facts: Facts, number: Value, of: Together) -> bool:
    """Whether a sum of counts is a place or a time as well: whoever gets there again may be meant to see the same."""
    sums = Sums.of(facts.flow, {})
    wanted = _counted(sums.products(number))
    inside = (op for one in of.counts for op in one.count.region.walk() if op.name == "array.map" and op.results)
    alike = (op for op in inside if _counted(sums.products(op.result)) == wanted)
    return any(one.name not in _HANDING for op in alike for one in facts.flow.readers.get(op.result, ()))


_HANDING = CALLS | {"key.fold_in", "key.seed"}


def _counted(parts: Sequence[Product]) -> frozenset[tuple[float, tuple[Value, ...]]]:
    return frozenset((part.coefficient, part.factors) for part in parts if part.factors)
