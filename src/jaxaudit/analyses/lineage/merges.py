"""Statistics of one sample merged with those of another, tried out on numbers.

There are many ways to write how a running mean and a running spread take a batch in, and one result: the mean and the
spread of both samples together. So the expressions that a function computes are evaluated for numbers of one feature,
and compared with it. Which of the values that it is given is the count, the mean and the spread is tried out too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import outside_of_call
from jaxaudit.analyses.lineage.trials import Data, Leaf, Trials, axes_of, rows_of
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.ranges.look import Known, known_of
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.record import record, replace

_SIZES = (3, 2, 5)
_MOST_SAMPLES = 256
_COUNTS = (4.0, 9.0, 13.0)


@record
class Mean:
    """A running mean that takes a sample in."""

    count: Leaf
    old: Leaf
    new: Value
    moved: float
    """It moves by so much for each `base` of the samples that there are then."""
    base: float

    @property
    def is_exact(self) -> bool:
        """Whether it is the mean of both samples together."""
        return _close(self.moved, self.base)


@record
class Spread:
    """A running spread that takes a sample in beside a mean."""

    new: Value
    is_exact: bool
    """Whether it is the spread of both samples together."""
    knows: bool
    """Whether it knows of the other mean at all."""
    is_total: bool
    """Whether it adds up every element, where the count takes all elements of a sample for one."""


def _close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=1e-7, abs_tol=1e-9)


class Merging:
    """Tries out what one function makes of some data."""

    def __init__(self, flow: Flow, ends: Sequence[Value], data: Data) -> None:
        self._flow, self._ends, self.data = flow, ends, data
        self._trials = Trials(flow, data)
        for value in ends:
            self._trials.add(value)
        self.ends = [value for value in ends if self._trials.number(value, self.rows(), {}) is not None]

    def tried(self, value: Value, rows: Sequence[float], given: Mapping[Leaf, float]) -> float:
        """Return what a value is for some data and some inputs; not a number where that cannot be computed."""
        number = self._trials.number(value, rows, given)
        return math.nan if number is None else number

    def rows(self, value: float | None = None) -> tuple[float, ...]:
        """Return some data: all of one value, or various."""
        return (value,) * self.data.count if value is not None else rows_of(self.data)

    def means(self) -> Iterator[Mean]:
        """Return the running means that take the data in by a weight that falls as a count grows."""
        for new in filter(self._trials.hangs_on_data, self.ends):
            inputs = self._trials.inputs(new)
            # The mean of samples that are all alike is one of them, whatever counts.
            middles = [old for old in inputs if _close(self.tried(new, self.rows(1.0), {old: 1.0}), 1.0)]
            for old in middles:
                for count in inputs:
                    found = self._weighed(new, count, old) if count != old else None
                    if found is not None:
                        yield Mean(count, old, new, *found)

    def _weighed(self, new: Value, count: Leaf, old: Leaf) -> tuple[float, float] | None:
        """Return `r` and `q` where the data move a mean by `r / (count + q)` of the distance."""
        rows, weights = self.rows(), list[float]()
        for counted in _COUNTS:
            weight = self.tried(new, self.rows(1.0), {count: counted, old: 0.0})
            middle = weight * sum(rows) / len(rows) + (1 - weight) * 0.7
            if not weight > 0 or not _close(self.tried(new, rows, {count: counted, old: 0.7}), middle):
                return None
            weights.append(1 / weight)
        slope = (weights[1] - weights[0]) / (_COUNTS[1] - _COUNTS[0])
        if slope <= 0 or not _close(weights[2], weights[1] + slope * (_COUNTS[2] - _COUNTS[1])):
            return None
        return 1 / slope, weights[0] / slope - _COUNTS[0]

    def may_fit(self, one: Mean) -> bool:
        """Whether a weight would be right for another number of samples: a literal may stand for it."""
        if self.data.is_measured:
            return False
        more = replace(self.data, sizes=tuple(2 * size for size in self.data.sizes))
        other = Merging(self._flow, self._ends, more)._weighed(one.new, one.count, one.old)
        if other is None:
            return True
        apart, later = one.moved - one.base, other[0] - other[1]
        if _close(apart, later):
            return False
        # Both grow evenly with the samples: so many there are where they meet.
        size = self.data.count * (1 + apart / (apart - later))
        return size > 1.5 and _close(size, round(size))

    def grows(self, one: Mean) -> tuple[Value, float] | None:
        """Return the next count, where one is given back, and by how much it has grown."""
        for value in self.ends:
            if one.count in self._trials.inputs(value):
                first, second = (self.tried(value, self.rows(), {one.count: counted}) for counted in _COUNTS[:2])
                other = self.tried(value, self.rows(5.0), {one.count: _COUNTS[0]})
                if _close(second - first, _COUNTS[1] - _COUNTS[0]) and first == other and first > _COUNTS[0]:
                    return value, first - _COUNTS[0]
        return None

    def spreads(self, one: Mean) -> Iterator[Spread]:
        """Return the running spreads that take the data in beside a mean."""
        for new in self.ends:
            inputs = self._trials.inputs(new)
            for old in inputs if new is not one.new else ():
                exact = self._is_spread(new, old, one) if old not in (one.count, one.old) else None
                if exact is not None:
                    # A number that is written down may be how many elements there are: one is not.
                    whole = self.data.count > 1 and _close(one.moved, 1)
                    total = whole and any(self._fits(new, old, one, form, self.rows(), 0.7) for form in _TOTALS)
                    yield Spread(new, exact, one.old in inputs, is_total=total)

    def _is_spread(self, new: Value, old: Leaf, one: Mean) -> bool | None:
        """Whether a value is the spread of both samples; None where it is none, even of samples with one mean."""
        rows, count = self.rows(), _COUNTS[0]
        given = {one.count: count, one.old: 0.7, old: 2.9}
        scaled = {**given, one.old: 0.7 * 1.5, old: 2.9 * 1.5**2}
        before, after = self.tried(new, rows, given), self.tried(new, tuple(1.5 * row for row in rows), scaled)
        moves = self.tried(new, rows, {**given, old: 3.9}) > before
        if not moves or not _close(after, before * 1.5**2) or _close(before, self.tried(new, self.rows(0.7), given)):
            return None
        middle = sum(rows) / len(rows)
        if any(self._fits(new, old, one, form, rows, 0.7) for form in _FORMS):
            return True
        together = any(self._fits(new, old, one, form, rows, middle) for form in _FORMS)
        alike = self.data.axes and any(self._fits(new, old, one, form, self.rows(1.9), 0.7) for form in _FORMS)
        return False if together or alike else None

    def _fits(self, new: Value, old: Leaf, one: Mean, form: _Form, rows: Sequence[float], mean: float) -> bool:
        count, unit = _COUNTS[0], len(rows) / one.moved
        first = _Sample(count * unit, unit, mean, 2.9)
        middle = sum(rows) / len(rows)
        second = _Sample(len(rows), unit, middle, sum((row - middle) ** 2 for row in rows) / len(rows))
        given = {one.count: count, one.old: mean, old: form(first)}
        return _close(self.tried(new, rows, given), form(first.with_other(second)))


@record
class _Sample:
    """A sample: how many there are, how many of them count as one, their mean and variance."""

    size: float
    unit: float
    mean: float
    variance: float

    def with_other(self, other: _Sample) -> _Sample:
        """Return the sample that holds both."""
        size = self.size + other.size
        mean = (self.size * self.mean + other.size * other.mean) / size
        between = (self.mean - other.mean) ** 2 * self.size * other.size / size
        squares = self.size * self.variance + other.size * other.variance + between
        return _Sample(size, self.unit, mean, squares / size)


_Form = Callable[[_Sample], float]
_FORMS: Sequence[_Form] = (
    lambda one: one.variance,
    lambda one: one.variance * one.size,
    lambda one: one.variance * one.size / one.unit,
    lambda one: one.variance * one.size / (one.size - 1),
    lambda one: one.variance + one.mean**2,
    lambda one: (one.variance + one.mean**2) * one.size,
    lambda one: (one.variance + one.mean**2) * one.size / one.unit,
)
"""The ways in which a spread is kept: as a variance, or as a sum of squares, around the mean or around zero."""
_TOTALS = (_FORMS[1], _FORMS[5])
"""Those that add up every element."""


def _ends(region: Region, flow: Flow) -> Iterator[Value]:
    """Return what a function computes and gives back, stores or hands on."""
    for op in region.walk():
        if op.name == "array.map" and op.results and not op.backward and not op.is_derived:
            used = flow.readers.get(op.result, ())
            if op.result in flow.leaving or any(one.name not in _CALCULATIONS for one in used):
                yield op.result


_CALCULATIONS = KEEPING | {
    "array.map",
    "array.reduce",
    "array.select",
    "py.again",
    "py.item",
    "py.record",
    "py.taken",
    "py.passed",
}


def merging(facts: Facts) -> Iterator[Merging]:
    """Return every function that merges statistics of some data with others, as far as can be told beforehand."""
    flow, known = facts.flow, known_of(facts.program, facts.get(Shapes))
    ends: dict[int, list[Value]] = {}
    seen: set[tuple[int, Value, tuple[int, ...]]] = set()
    for op in facts.program.mapping("divide"):
        region = flow.places.function_of(op)
        for data in _data(op, flow):
            if (id(region), data.value, data.axes) not in seen:
                seen.add((id(region), data.value, data.axes))
                if id(region) not in ends:
                    ends[id(region)] = list(_ends(region, flow))
                yield Merging(flow, ends[id(region)], _sized(data, known))


def _sized(data: Data, known: Known) -> Data:
    """Return data with sizes: with their own where these are known, since a program may have them as numbers."""
    sizes = known.sizes(data.value) or ()
    own = tuple(sizes[axis] if -len(sizes) <= axis < len(sizes) else None for axis in data.axes)
    measured = tuple(size for size in own if size is not None)
    if len(measured) == len(own) and 0 < math.prod(measured) <= _MOST_SAMPLES:
        return replace(data, sizes=measured)
    return replace(data, sizes=_SIZES[: len(data.axes)], is_measured=False)


def _data(op: Op, flow: Flow) -> Iterator[Data]:
    """Return the arrays whose statistics are divided by something, or the single values that are."""
    makers = [made for one in walk(op.results, lambda it: _before(it, flow)) if (made := flow.maker(one)) is not None]
    reduced = [made for made in makers if made.name == "array.reduce" and made.operands]
    for made in reduced:
        axes = axes_of(made, (0,) if made.arguments.get("axis") is None else None)
        if axes is not None and made.function in AVERAGES | ADDITIONS:
            yield from (Data(value, axes) for value in _arrays(made.operands[0], flow))
    if not reduced:
        for made in makers:
            if made.name == "array.map" and made.function == "subtract":
                yield from (Data(one, ()) for one in made.operands if flow.maker(one) is None)


def _before(value: Value, flow: Flow) -> Sequence[Value]:
    """Return what a value was computed from, here or where the function around it is called."""
    op = flow.own_maker(value)
    if op is None:
        outer = outside_of_call(flow, value, {})
        return () if outer is None else (outer,)
    return op.operands if not op.regions else ()


def _arrays(value: Value, flow: Flow) -> Iterator[Value]:
    """Return the arrays that are reduced, perhaps less something, or squared."""
    op = flow.maker(value)
    if op is not None and op.name in KEEPING - {"array.reshape"}:
        yield from _arrays(op.operands[0], flow)
    elif op is not None and op.name == "array.map" and op.function in ("subtract", "square", "power", "multiply"):
        yield from _arrays(op.operands[0], flow)
    else:
        yield value
