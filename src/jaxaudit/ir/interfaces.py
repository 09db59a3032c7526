"""How ops with regions line up with their regions: loops, maps, calls and branches seen through one small view each.

The one place that knows which operand a parameter stands for and which result a region's value leaves as. `source_of`
and `leaves_as` answer both questions for any op; analyses follow values across borders with these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from jaxaudit.ir.functions import CUMULATIVE, FLIPS, NEGATIONS
from jaxaudit.ir.ops import BODIES, BRANCHES, LOOPS, MAPPED, MOVING
from jaxaudit.ir.record import record
from jaxaudit.ir.types import REST, Exit, Op, Region
from jaxaudit.ir.values import Argument, Value, index_parts, is_whole

Seen = TypeVar("Seen")

_COUNTED = frozenset(("py.loop", "py.while", "fori"))
"""Loops whose regions have a counter as first parameter."""


class Carried(NamedTuple):
    """One value that a loop hands from turn to turn."""

    param: Value
    """What it is called inside."""
    start: Value
    """The operand that the first turn gets."""
    position: int
    """Where the region gives the next one, and the loop the last one, among their results."""


def _kept(op: Op, what: object, make: Callable[[], Seen]) -> Seen:
    """Return what is told of an op, made when it is first asked for: who looks at all parts asks for each of them."""
    if op.views is None:
        op.views = {}
    if what not in op.views:
        op.views[what] = make()
    return op.views[what]


@record
class Loop:
    """A loop of Python or JAX: its body runs again and again."""

    op: Op

    @staticmethod
    def of(op: Op) -> Loop | None:
        """Return the view of a loop; None for any other op."""
        return Loop(op) if op.name in LOOPS and op.regions else None

    @property
    def body(self) -> Region:
        """The region that runs in every turn; a `while_loop` has its condition before it."""
        return self.op.regions[-1]

    def carried_in(self, region: Region) -> list[Carried]:
        """Return what the loop carries, as one of its regions names it."""
        return _kept(self.op, id(region), lambda: self._carried_in(region))

    def _carried_in(self, region: Region) -> list[Carried]:
        first, start, count = self.layout(region)
        params, starts = region.params[first : first + count], self.op.operands[start : start + count]
        return list(map(Carried, params, starts, range(count)))

    def layout(self, region: Region) -> tuple[int, int, int]:
        """Return at which parameter of a region, and at which operand, what is carried begins, and how many it is."""
        op, first, start = self.op, 0, 0
        most = len(op.operands)
        if op.name == "scan":
            most = op.carry or 0
        elif op.name == "associative_scan":
            most = 0
        elif op.name in _COUNTED:
            first = 1
            if op.name == "fori":
                # The bounds stand first, unless they are constants.
                start = max(len(op.operands) - len(region.params) + 1, 0)
        return first, start, max(min(most, len(region.params) - first, len(op.operands) - start), 0)

    def position(self, region: Region, param: Value) -> int | None:
        """Return the place of a parameter of a region among what is carried; None where it is not."""
        first, _, count = self.layout(region)
        at = region.params.index(param) - first if param in region.params else -1
        return at if 0 <= at < count else None

    @property
    def carried(self) -> list[Carried]:
        """What the loop carries, as its body names it."""
        return self.carried_in(self.body)

    @property
    def successors(self) -> list[tuple[Value, Value]]:
        """Each parameter of the body that is carried, with what the body gives for the next turn."""
        return _kept(self.op, "successors", self._successors)

    def _successors(self) -> list[tuple[Value, Value]]:
        first, _, count = self.layout(self.body)
        return list(zip(self.body.params[first : first + count], self.body.results, strict=False))

    @property
    def counter(self) -> Value | None:
        """The number of the turn, where the body gets it."""
        return self.body.params[0] if self.op.name in _COUNTED and self.body.params else None

    @property
    def elements(self) -> list[tuple[Value, Value]]:
        """Each parameter that holds one element of an operand, with that operand."""
        if self.op.name == "associative_scan":
            return list(zip(self.body.params, self.op.operands * 2, strict=False))
        if self.op.name != "scan":
            return []
        count = self.layout(self.body)[2]
        return list(zip(self.body.params[count:], self.op.operands[count:], strict=False))

    @property
    def stacked(self) -> list[tuple[Value, Value]]:
        """What each turn of a scan gives, with the array of all of them outside."""
        if self.op.name != "scan" or len(self.body.results) != len(self.op.results):
            return []
        first = self.layout(self.body)[2]
        return list(zip(self.body.results[first:], self.op.results[first:], strict=True))

    def is_condition(self, region: Region) -> bool:
        """Whether a region only decides whether the loop goes on."""
        return self.op.name == "while" and len(self.op.regions) > 1 and region is self.op.regions[0]


@record
class Recurrence:
    """An op that goes through an axis of arrays, whose result at each place depends on the places before it.

    A scan, or a cumulative function. What it gives is in the order of what it was given, whichever way it runs.
    """

    op: Op

    @staticmethod
    def of(op: Op) -> Recurrence | None:
        """Return the view of a scan or a cumulative function; None for any other op."""
        goes = op.name in ("scan", "associative_scan") and op.regions
        return Recurrence(op) if goes or (op.name == "array.scan" and op.function in CUMULATIVE) else None

    @property
    def axis(self) -> int | None:
        """The axis it goes through; None where it is not known, and where an array is flattened first."""
        if self.op.name == "scan":
            return 0
        if self.op.name == "associative_scan":
            return self.op.axis
        given = self.op.arguments.get("axis", 0 if self.op.qualified.startswith("jax.lax.") else None)
        return given if isinstance(given, int) else None

    @property
    def reverse(self) -> bool | None:
        """Whether it starts at the end; None where that is not known."""
        if self.op.name != "array.scan":
            return self.op.reverse
        given = self.op.arguments.get("reverse", False)
        return given if isinstance(given, bool) else None

    @property
    def elements(self) -> tuple[Value, ...]:
        """The arrays that it goes through."""
        if self.op.name == "array.scan":
            return self.op.operands[:1]
        return tuple(dict.fromkeys(array for _, array in Loop(self.op).elements))

    @property
    def stacked(self) -> tuple[Value, ...]:
        """What it gives for all places."""
        return tuple(array for _, array in Loop(self.op).stacked) if self.op.name == "scan" else self.op.results


@record
class Turn:
    """An array that is turned back to front along one axis."""

    base: Value
    axis: int
    """Negative where it is counted from the back."""

    @staticmethod
    def of(op: Op | None) -> Turn | None:
        """Return what an op turns; None for any other op."""
        base = None if op is None or not op.operands else op.operands[0]
        if op is None or base is None:
            return None
        if op.name == "array.move" and op.function in FLIPS:
            given = op.argument("axis", "dimensions")
            axis = given[0] if isinstance(given, tuple) and len(given) == 1 else given
            axis = FLIPS[op.function] if axis is None else axis
            return Turn(base, axis) if isinstance(axis, int) else None
        if op.name == "py.call_library" and op.function == "reversed":
            return Turn(base, 0)
        axis = turned_part(op.arguments.get("index")) if op.name == "py.item" else None
        return None if axis is None else Turn(base, axis)


def turned_part(index: Argument) -> int | None:
    """Return the axis that an index such as `[:, ::-1]` turns, where it leaves all others as they are."""
    parts = index_parts(index)
    places = [at for at, part in enumerate(parts) if isinstance(part, Mapping) and part.get("step") == -1]
    others = (part for at, part in enumerate(parts) if at not in places)
    if len(places) != 1 or not all(part == REST or is_whole(part) for part in others):
        return None
    part = parts[places[0]]
    if not isinstance(part, Mapping) or part.get("start") is not None or part.get("stop") is not None:
        return None
    return places[0] - len(parts) if REST in parts[: places[0]] else places[0]


@record
class Part:
    """What is taken out of something by its place: `a, b = both`, or `a = both[0]` and `b = both[1]`."""

    whole: Value
    at: int

    @staticmethod
    def of(op: Op | None, value: Value) -> Part | None:
        """Return the view of a value that an op makes; None where it is no part, or from where is not known."""
        base = op.arguments.get("base") if op is not None and op.name in ("py.unpack", "py.item") else None
        if op is None or not isinstance(base, Value):
            return None
        at = op.results.index(value) if op.name == "py.unpack" else op.arguments.get("index")
        known = isinstance(at, int) and at >= 0 and (op.star is None or at < op.star)
        return Part(base, at) if known and isinstance(at, int) else None


@record
class Mapped:
    """An op whose region runs for every element of an axis, or for every leaf of a tree."""

    op: Op

    @staticmethod
    def of(op: Op) -> Mapped | None:
        """Return the view of a map; None for any other op."""
        return Mapped(op) if op.name in MAPPED and op.regions else None

    def is_mapped(self, position: int) -> bool | None:
        """Whether an operand is mapped and not shared; None when that is not known."""
        if self.op.name in ("map", "tree.map"):
            return True
        axes = self.op.in_axes
        if axes is None or position >= len(axes) or axes[position] == "?":
            return None
        return axes[position] is not None

    @property
    def shared(self) -> list[tuple[Value, Value]]:
        """Each parameter that holds the whole of an operand, with that operand."""
        pairs = zip(self.op.regions[0].params, self.op.operands, strict=False)
        return [pair for i, pair in enumerate(pairs) if self.is_mapped(i) is False]

    @property
    def elements(self) -> list[tuple[Value, Value]]:
        """Each parameter that holds, or may hold, one element of an operand, with that operand."""
        pairs = zip(self.op.regions[0].params, self.op.operands, strict=False)
        return [pair for i, pair in enumerate(pairs) if self.is_mapped(i) is not False]

    @property
    def stacked(self) -> list[tuple[Value, Value]]:
        """What one element gives, with the array of all of them outside; results without the axis are left out."""
        region = self.op.regions[0]
        if len(region.results) != len(self.op.results):
            return []
        axes = self.op.mapped_out or self.op.out_axes
        whole = {i for i, axis in enumerate(axes) if axis is None} if axes is not None else set()
        pairs = enumerate(zip(region.results, self.op.results, strict=True))
        return [pair for position, pair in pairs if position not in whole]


@record
class Call:
    """An op whose region runs once: a call of a function, or of a transformed one."""

    op: Op

    @staticmethod
    def of(op: Op) -> Call | None:
        """Return the view of a call; None for any other op."""
        return Call(op) if op.name in BODIES and op.regions else None

    @property
    def body(self) -> Region:
        """The body of the function."""
        return self.op.regions[0]

    def inside(self, position: int) -> Value | None:
        """Return the value of the body that a result is; None where the op makes results of its own."""
        results = self.body.results
        return results[position] if position < len(results) else None


@record
class Branch:
    """An op of which one region runs."""

    op: Op

    @staticmethod
    def of(op: Op) -> Branch | None:
        """Return the view of a branch; None for any other op."""
        return Branch(op) if op.name in BRANCHES and op.regions else None

    @property
    def operands(self) -> tuple[Value, ...]:
        """What the regions are given: `cond` has its predicate before."""
        return self.op.operands[1:] if self.op.name == "cond" else self.op.operands

    @property
    def arms(self) -> list[Region]:
        """The regions after which control goes on behind the op."""
        return [region for region in self.op.regions if region.exit is Exit.FALL]


def given_to(op: Op, region: Region) -> list[tuple[Value, Value]]:
    """Return each parameter of a region with the operand that it stands for, or is an element of.

    What a loop carries stands for its operand in the first turn; a counter stands for none.
    """
    if (loop := Loop.of(op)) is not None:
        return [*((one.param, one.start) for one in loop.carried_in(region)), *loop.elements]
    if op.name == "tree.map" and len(region.params) != len(op.operands):
        # Each parameter is a leaf of some tree.
        return [(param, leaf) for param in region.params for leaf in op.operands]
    return list(zip(region.params, _operands(op), strict=False))


def given_as(op: Op, region: Region, param: Value) -> Iterator[Value]:
    """Return the operands that one parameter of a region stands for, or is an element of."""
    if op.name == "tree.map":
        yield from (given for one, given in given_to(op, region) if one is param)
    elif (loop := Loop.of(op)) is not None:
        at = loop.position(region, param)
        if at is not None:
            yield op.operands[loop.layout(region)[1] + at]
        yield from (given for one, given in loop.elements if one is param)
    else:
        at = region.params.index(param)
        yield from _operands(op)[at : at + 1]


def stands_for(op: Op, region: Region, value: Value) -> Iterator[Value]:
    """Return the parameters of a region that stand for an operand, or are elements of it: `given_as` the other way."""
    if op.name == "tree.map":
        yield from (one for one, given in given_to(op, region) if given is value)
    elif (loop := Loop.of(op)) is not None:
        first, start, count = loop.layout(region)
        yield from (region.params[first + at - start] for at in _places(op.operands, value, start, start + count))
        yield from (one for one, given in loop.elements if given is value)
    else:
        yield from (region.params[at] for at in _places(_operands(op), value, 0, len(region.params)))


def _places(values: tuple[Value, ...], value: Value, start: int, end: int) -> Iterator[int]:
    """Return where a value stands among others, between two places."""
    try:
        while True:
            start = values.index(value, start, end) + 1
            yield start - 1
    except ValueError:
        return


def _operands(op: Op) -> tuple[Value, ...]:
    """Return what the regions of a call, map or branch are given."""
    branch = Branch.of(op)
    return op.operands if branch is None else branch.operands


def turn_before(op: Op, region: Region, param: Value) -> Iterator[Value]:
    """Return what a parameter of a loop's region stands for after the first turn: results of the turn before."""
    loop = Loop.of(op)
    if loop is None:
        return
    results, at = loop.body.results, loop.position(region, param)
    if at is not None:
        yield from results[at : at + 1]
    if op.name == "associative_scan" and results:
        # Both sides may be what other pairs were combined to.
        yield results[region.params.index(param) % len(results)]


def source_of(op: Op, region: Region, param: Value) -> Iterator[Value]:
    """Return the values that a parameter of a region stands for: operands, and in a loop what the turn before gave."""
    yield from given_as(op, region, param)
    yield from turn_before(op, region, param)


def inside_of(op: Op, position: int) -> Iterator[tuple[Region, Value]]:
    """Return what a result of an op is inside, or is made of, with the region: that of each branch, or of the body."""
    branch = Branch.of(op)
    regions = op.regions[-1:] if branch is None else branch.arms
    yield from ((region, region.results[position]) for region in regions if position < len(region.results))


def leaves_as(op: Op, region: Region, value: Value) -> Iterator[Value]:
    """Return the results of an op that a result of one of its regions leaves as, or is a part of."""
    if (loop := Loop.of(op)) is not None and loop.is_condition(region):
        return
    if len(region.results) == len(op.results):
        yield from _across(region.results, op.results, value)
    elif value in region.results:
        # A derivative or a library's transformation makes results of its own from what the body gives.
        yield from op.results


def moved(op: Op | None, ops: frozenset[str] = MOVING) -> Value | None:
    """Return the array whose elements an op gives back; None where it is none of those that merely move them."""
    if op is None or op.name not in ops:
        return None
    given = next(iter(op.arguments.values()), None) if op.arguments else next(iter(op.operands), None)
    return given if isinstance(given, Value) else None


def complement(op: Op | None) -> Value | None:
    """Return the flag that an op gives the opposite of, as `~done` and `1 - done` do."""
    if op is None or not op.operands:
        return None
    rest = op.function == "subtract" and op.arguments.get("x") in (1, 1.0)
    return op.operands[-1] if op.name == "array.map" and (rest or op.function in NEGATIONS) else None


def made_inside(op: Op, region: Region, result: Value) -> Iterator[Value]:
    """Return the results of a region that a result of its op is, or is made of: `leaves_as` the other way round."""
    if (loop := Loop.of(op)) is not None and loop.is_condition(region):
        return
    if len(region.results) == len(op.results):
        yield from _across(op.results, region.results, result)
    else:
        yield from region.results


def _across(inner: tuple[Value, ...], outer: tuple[Value, ...], value: Value) -> Iterator[Value]:
    return (other for one, other in zip(inner, outer, strict=False) if one is value)
