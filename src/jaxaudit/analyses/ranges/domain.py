"""The ranges domain: an interval with flags for every value, by context, with widening in loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.domain import (
    Direction,
    Read,
    Solution,
    Transfer,
    any_branch,
    anywhere,
    never_parts,
    not_at_once,
    whole,
)
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.ranges import facts, regions
from jaxaudit.analyses.ranges.dtypes import of_dtype
from jaxaudit.analyses.ranges.facts import WILD, Filler, Range, meet
from jaxaudit.analyses.ranges.look import Look, known_of
from jaxaudit.analyses.ranges.look import Transfer as Inner
from jaxaudit.analyses.ranges.refine import Bound, apply
from jaxaudit.analyses.ranges.result import Ranges
from jaxaudit.analyses.ranges.transfer import create, fillers, layout, maps, python, reduce, select
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.interfaces import given_to
from jaxaudit.ir.ops import BODIES, BRANCHES, REARRANGED

TABLE: Mapping[str, Inner] = {
    **python.TABLE,
    **create.TABLE,
    **maps.TABLE,
    **reduce.TABLE,
    **layout.TABLE,
    **select.TABLE,
}


_SHARING = REARRANGED | {"py.item", "array.numpy", "py.join", "py.branch"}
"""Ops whose results may share their memory with what they are given."""


def mutated_values(program: Program) -> frozenset[Value]:
    """Return every value that an assignment to an item, or a method of a list, may change."""
    changed = [value for op in program.named("py.set_item", "py.append") for value in op.operands[:1]]
    if not changed:
        return frozenset()
    makers, elsewhere = program.makers, _elsewhere(program)

    def same_object(value: Value) -> Iterator[Value]:
        yield from elsewhere.get(value, ())
        maker = makers.get(value)
        if maker is not None and maker.name in _SHARING:
            yield from maker.operands

    return frozenset(walk(changed, same_object))


def _elsewhere(program: Program) -> Mapping[Value, list[Value]]:
    """Return what each parameter of a function stands for, and what each result of an op is inside."""
    found: defaultdict[Value, list[Value]] = defaultdict(list)
    for op in (op for op in program.walk() if op.regions):
        for region in op.regions:
            for param, given in given_to(op, region) if op.name in BODIES else ():
                found[param].append(given)
            for made, inner in zip(op.results, region.results, strict=False):
                found[made].append(inner)
    return found


_SLOPE = Range(nan=True)


def _filled(one: Range, filler: Filler | None) -> Range:
    return one if one.filler == filler else one._replace(filler=filler)


class RangesDomain:
    """Ranges of values; it reads sizes and dtypes off the shapes that were solved before."""

    name = "ranges"
    direction = Direction.FORWARD
    by_summary = False
    taken = any_branch
    place = anywhere
    at_once = not_at_once
    part = whole
    widen_after = 1
    parts = never_parts
    """Loops are widened at once: two turns settle nearly all of them, and loops nest."""

    def __init__(self, solved: Facts) -> None:
        program = solved.program
        self.known = known_of(program, solved.get(Shapes))
        self.mutated = mutated_values(program) if program.front_end != "jaxpr" else frozenset()
        self._guards: list[tuple[Op, Mapping[Value, Bound]]] = []
        self._guarded: tuple[Read[Range], Read[Range]] | None = None
        """The last reader that was asked for, and the one that minds the guards, until these change."""
        self._table = {name: self._wrap(transfer) for name, transfer in TABLE.items()}

    @property
    def table(self) -> Mapping[str, Transfer[Range]]:
        """The transfer functions by op name."""
        return self._table

    def unknown(self, value: Value) -> Range:
        """Return what the dtype says; what comes from outside the program is taken for an ordinary number."""
        dtype = self.known.dtype(value)
        told = of_dtype(dtype)
        return told if value in self.known.inputs or told.integer else WILD

    def join(self, first: Range, second: Range) -> Range:
        """Return the range that covers both."""
        return facts.join(first, second)

    def widen(self, old: Range, new: Range) -> Range:
        """Return a range that covers both and whose ends move in few steps."""
        return facts.widen(old, new)

    def enter(self, op: Op, region: Region, read: Read[Range], turn: int) -> Sequence[Range]:
        """Return the ranges of a region's parameters."""
        self._leave_branch(op)
        guarded = self._reader(read)
        made = regions.enter(op, region, guarded, turn, self.known)
        if op.name in BRANCHES:
            self._guards.append((op, regions.branch_bounds(op, region, guarded, self.known)))
            self._guarded = None
        return [self._typed(value, one) for value, one in zip(region.params, made, strict=True)]

    def leave(self, op: Op, read: Read[Range]) -> Sequence[Range | None]:
        """Return the ranges of an op's results once its regions are solved."""
        self._leave_branch(op)
        made = regions.leave(op, self._reader(read), self.known)
        return self._fitted(op, made)

    def finish(self, solved: Facts, solution: Solution[Range]) -> Ranges:
        """Return rules the ranges of all values."""
        return Ranges(solution.facts, self.known, self.unknown)

    def _leave_branch(self, op: Op) -> None:
        if self._guards and self._guards[-1][0] is op:
            self._guards.pop()
            self._guarded = None

    def _reader(self, read: Read[Range]) -> Read[Range]:
        """Read values as they are where the program stands: in a branch, its condition holds."""
        if self._guarded is None or self._guarded[0] is not read:
            self._guarded = (read, self._minding_guards(read))
        return self._guarded[1]

    def _minding_guards(self, read: Read[Range]) -> Read[Range]:
        guards = [bounds for _, bounds in self._guards if bounds]
        if not guards:
            return read

        def guarded(value: Value) -> Range:
            found = read(value)
            for bounds in guards:
                bound = bounds.get(value)
                found = found if bound is None else apply(found, bound)
            return found

        return guarded

    def _wrap(self, transfer: Inner) -> Transfer[Range]:
        def run(op: Op, read: Read[Range]) -> Sequence[Range | None]:
            # A slope may be any number, and nobody asks what JAX computes it of.
            look = Look(op, self._reader(read), self.known)
            made = (_SLOPE,) * len(op.results) if op.is_derived else transfer(look)
            filler = fillers.filler_of(look)
            return self._fitted(op, [one if one is None else _filled(one, filler) for one in made])

        return run

    def _fitted(self, op: Op, made: Sequence[Range | None]) -> Sequence[Range | None]:
        if len(made) == len(op.results) == 1:
            value, one = op.results[0], made[0]
            return (WILD if value in self.mutated else self._typed(value, WILD if one is None else one),)
        missing = len(op.results) - len(made)
        given = made if missing <= 0 else [*made, *(None,) * missing]
        return [
            WILD if value in self.mutated else self._typed(value, WILD if one is None else one)
            for value, one in zip(op.results, given, strict=False)
        ]

    def _typed(self, value: Value, one: Range) -> Range:
        """Narrow a range by what the dtype of the value says anyway."""
        dtype = self.known.dtype(value)
        if dtype is None:
            return one
        told = of_dtype(dtype)
        if not told.integer:
            return one
        one = one if one.integer and not one.nan and one.finite else facts.as_integer(one)
        return meet(one, told.low, told.high) if one.low < told.low or one.high > told.high else one
