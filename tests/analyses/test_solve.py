"""The solver by context, with intervals as a small domain of its own."""

from dataclasses import dataclass

from sketch import Sketch

from jaxaudit.analyses.domain import WIDEN_AFTER, Direction, any_branch, anywhere, never_parts, not_at_once
from jaxaudit.analyses.solve import solve_domain
from jaxaudit.ir import Op, Region
from jaxaudit.ir.ops import BODIES, BRANCHES

INFINITE = 10**9


@dataclass(frozen=True)
class Interval:
    low: int
    high: int


class Intervals:
    """Ranges of integers: constants and sums."""

    name = "intervals"
    direction = Direction.FORWARD
    by_summary = False
    widen_after = WIDEN_AFTER
    taken = any_branch
    place = anywhere
    parts = never_parts
    at_once = not_at_once

    @property
    def table(self):
        return {
            "py.const": lambda op, read: (Interval(op.attrs["value"], op.attrs["value"]),),
            "array.map": lambda op, read: (self.add(*map(read, op.operands)),),
        }

    def add(self, a: Interval, b: Interval) -> Interval:
        return Interval(max(a.low + b.low, -INFINITE), min(a.high + b.high, INFINITE))

    def unknown(self, value):
        return Interval(-INFINITE, INFINITE)

    def join(self, a, b):
        return Interval(min(a.low, b.low), max(a.high, b.high))

    def widen(self, old, new):
        return Interval(old.low if new.low >= old.low else -INFINITE, old.high if new.high <= old.high else INFINITE)

    def enter(self, op: Op, region: Region, read, turn: int):
        if turn == 0:
            return [read(value) for value in op.operands]
        return [read(value) for value in region.results]

    def leave(self, op: Op, read):
        if op.name in BODIES:
            return [read(value) for value in op.regions[0].results]
        if op.name in BRANCHES:
            columns = zip(*(region.results for region in op.regions), strict=True)
            return [self.join(read(a), read(b)) for a, b in columns]
        return [self.join(read(a), read(b)) for a, b in zip(op.operands, op.regions[0].results, strict=True)]

    def finish(self, facts, solution):
        return solution


def solved(s: Sketch):
    return solve_domain(s.program(), Intervals())


def const(s: Sketch, value: int):
    return s.op("py.const", attrs={"value": value}).result


def add(s: Sketch, a, b):
    return s.op("array.map", operands=(a, b), attrs={"function": "add"}).result


def test_shared_region_is_solved_for_each_context():
    s = Sketch()
    x = s.value("x")
    one, ten = const(s, 1), const(s, 10)
    with s.region("function", "double", (x,)) as region:
        inner = add(s, x, x)
    s.close(region, inner)
    region.shared = True
    a, b = s.call(region, one).result, s.call(region, ten).result
    again = s.call(region, one).result
    solution = solved(s)
    assert solution.of(a) == solution.of(again) == Interval(2, 2)
    assert solution.of(b) == Interval(20, 20)
    assert solution.of(inner) == Interval(2, 20)


def test_branches_join():
    s = Sketch()
    with s.region("branch", "then") as then:
        a = const(s, 1)
    s.close(then, a)
    with s.region("branch", "else") as otherwise:
        b = const(s, 5)
    s.close(otherwise, b)
    joined = s.branch(then, otherwise).result
    assert solved(s).of(joined) == Interval(1, 5)


def test_loops_widen():
    s = Sketch()
    start, one = const(s, 0), const(s, 1)
    carry = s.value("n")
    with s.region("loop", "body", (carry,)) as body:
        following = add(s, carry, one)
    s.close(body, following)
    after = s.op("while", operands=(start,), results=1, regions=(body,)).result
    assert solved(s).of(after) == Interval(0, INFINITE)
