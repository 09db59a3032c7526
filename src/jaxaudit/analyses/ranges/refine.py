"""What a condition says of the values it compares, and what an arm that it guards is for those elements alone.

`where(x > 0, log(x), 0)` computes the logarithm for all elements and keeps it where `x > 0`: the arm is computed again
on paper, for elements that satisfy the condition. Arm and condition must reach the compared value by the same changes
of layout, so that the elements are the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import NamedTuple

from jaxaudit.analyses.ranges.facts import Range, meet
from jaxaudit.analyses.ranges.look import Look
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import CONJUNCTIONS, DISJUNCTIONS, EQUALITIES, MIRRORED, NEGATIONS
from jaxaudit.ir.ops import PASSED_ON, REARRANGED

Layout = tuple[object, ...]
"""The changes of layout between a value and its use, innermost first."""

Place = tuple[Value, Layout]


class Bound(NamedTuple):
    """What a condition says of one value."""

    low: float = -inf
    high: float = inf
    nonzero: bool = False
    finite: bool = False
    """True when it is neither infinite nor NaN."""
    ordered: bool = False
    """True when NaN fails the condition; where a comparison is False, NaN may be the reason."""


Constraints = Mapping[Place, Bound]

_MOST_STEPS = 40
_MOST_DEPTH = 12
_OPPOSITE = {
    "greater": "less_equal",
    "greater_equal": "less",
    "less": "greater_equal",
    "less_equal": "greater",
    "equal": "not_equal",
    "not_equal": "equal",
}
_LAYOUT = REARRANGED | {"py.item"}


def constraints(look: Look, condition: Argument, *, holds: bool) -> Constraints:
    """Return what is known of values where a condition holds, or where it does not."""
    return _asked(look, condition, holds, (), _MOST_DEPTH)


def _asked(look: Look, condition: Argument, holds: bool, layout: Layout, depth: int) -> dict[Place, Bound]:
    if not isinstance(condition, Value) or depth == 0:
        return {}
    own = {(condition, layout): Bound(nonzero=True) if holds else Bound(0.0, 0.0)}
    maker = look.maker(condition)
    if maker is None:
        return own
    if maker.name in _LAYOUT:
        return own | _asked(look, _base(maker), holds, (step_of(maker), *layout), depth - 1)
    if maker.name in PASSED_ON:
        return own | _asked(look, _base(maker), holds, layout, depth - 1)
    if maker.name not in ("array.map", "py.operator"):
        return own
    return own | _compound(look, maker, holds, layout, depth)


def _compound(look: Look, maker: Op, holds: bool, layout: Layout, depth: int) -> dict[Place, Bound]:
    name = maker.operator if maker.name == "py.operator" else maker.function
    given = list(maker.arguments.values()) or list(maker.operands)
    if name in NEGATIONS or name == "not":
        return _asked(look, given[0], not holds, layout, depth - 1) if given else {}
    if len(given) < 2:
        return _question(name, given, holds, layout)
    x, y = given[0], given[1]
    if name in CONJUNCTIONS | DISJUNCTIONS | {"and", "or"}:
        parts = [_asked(look, one, holds, layout, depth - 1) for one in (x, y)]
        both = (name in CONJUNCTIONS or name == "and") == holds
        return _all(*parts) if both else _either(*parts)
    if name in EQUALITIES and (known := _truth_against(look, x, y)) is not None:
        return _asked(look, known[0], (name == "equal") == (known[1] == holds), layout, depth - 1)
    if name in _OPPOSITE:
        return _compared(look, name if holds else _OPPOSITE[name], x, y, layout, truly=holds)
    return {}


def _truth_against(look: Look, x: Argument, y: Argument) -> tuple[Argument, bool] | None:
    """Return the condition that is compared with a constant truth value, as `lt(x, 0) != False`."""
    for one, other in ((x, y), (y, x)):
        constant = look.of(other).constant
        if constant in (0.0, 1.0) and look.dtype(one) == "bool":
            return one, bool(constant)
    return None


def _question(name: str, given: list[Argument], holds: bool, layout: Layout) -> dict[Place, Bound]:
    if not given or not isinstance(given[0], Value):
        return {}
    finite = (name == "isfinite" and holds) or (name in ("isnan", "isinf") and not holds)
    return {(given[0], layout): Bound(finite=True)} if finite and name != "isinf" else {}


def _compared(look: Look, name: str, x: Argument, y: Argument, layout: Layout, *, truly: bool) -> dict[Place, Bound]:
    """Bound both sides of a comparison by the range of the other; where it fails, NaN may be why, and bounds hold."""
    found: dict[Place, Bound] = {}
    for one, other, question in ((x, y, name), (y, x, MIRRORED.get(name, name))):
        if isinstance(one, Value):
            bound = _bound(question, look.of(other), look.of(one).integer)
            if bound is not None:
                ordered = truly and name != "not_equal"
                found.update(_behind(look, one, layout, bound._replace(ordered=ordered), _MOST_DEPTH))
    return found


def _behind(look: Look, value: Value, layout: Layout, bound: Bound, depth: int) -> dict[Place, Bound]:
    """Bound a value, and what it is a copy of in another layout, or the absolute value of."""
    found = {(value, layout): bound}
    maker = look.maker(value)
    if maker is None or depth == 0:
        return found
    base = _base(maker)
    if maker.name in _LAYOUT and isinstance(base, Value):
        found |= _behind(look, base, (step_of(maker), *layout), bound, depth - 1)
    elif maker.name in PASSED_ON and isinstance(base, Value) and _is_faithful(look, maker):
        found |= _behind(look, base, layout, bound, depth - 1)
    elif maker.name == "array.map" and maker.function in ("abs", "square"):
        away = bound.nonzero or bound.low > 0
        reach = bound.high if maker.function != "square" and bound.high >= 0 else inf
        if (away or reach < inf) and isinstance(base, Value):
            found |= _behind(look, base, layout, Bound(-reach, reach, away, ordered=bound.ordered), depth - 1)
    return found


def _is_faithful(look: Look, maker: Op) -> bool:
    """Whether a conversion keeps numbers as they are."""
    return maker.name != "array.convert" or "int" not in str(look.known.dtype(maker.results[0]))


def _bound(name: str, other: Range, integer: bool) -> Bound | None:
    gap = 1.0 if integer and other.integer else 0.0
    if name == "greater":
        return Bound(low=other.low + gap, nonzero=other.low >= 0)
    if name == "greater_equal":
        return Bound(low=other.low, nonzero=other.low > 0)
    if name == "less":
        return Bound(high=other.high - gap, nonzero=other.high <= 0)
    if name == "less_equal":
        return Bound(high=other.high, nonzero=other.high < 0)
    if name == "equal":
        return Bound(other.low, other.high, not other.has_zero)
    return Bound(nonzero=True) if name == "not_equal" and other.constant == 0 else None


def _all(first: Constraints, second: Constraints) -> dict[Place, Bound]:
    made = dict(first)
    for place, bound in second.items():
        old = made.get(place)
        made[place] = bound if old is None else _both(old, bound)
    return made


def _both(one: Bound, other: Bound) -> Bound:
    return Bound(
        max(one.low, other.low),
        min(one.high, other.high),
        one.nonzero or other.nonzero,
        one.finite or other.finite,
        one.ordered or other.ordered,
    )


def _either(first: Constraints, second: Constraints) -> dict[Place, Bound]:
    """Keep what both say: one of the two conditions holds, and nobody knows which."""
    return {
        place: Bound(
            min(first[place].low, bound.low),
            max(first[place].high, bound.high),
            first[place].nonzero and bound.nonzero,
            first[place].finite and bound.finite,
            first[place].ordered and bound.ordered,
        )
        for place, bound in second.items()
        if place in first
    }


def _base(maker: Op) -> Argument:
    given = list(maker.arguments.values()) or list(maker.operands)
    return given[0] if given else None


def step_of(maker: Op) -> object:
    """Write a change of layout so that equal ones compare equal."""
    given = list(maker.arguments.items())[1:]
    return (maker.name, maker.function, str([(name, _plain(value)) for name, value in given]))


def _plain(value: Argument) -> object:
    return value.id if isinstance(value, Value) else str(value)


Recompute = Callable[[Look], Range | None]
"""Gives the range of an elementwise op once more; None for other ops."""


def refined(look: Look, arm: Argument, known: Constraints, again: Recompute) -> Range:
    """Return the range of an arm for the elements that satisfy the condition."""
    return _Arm(look, known, again).of(arm, ())


class _Arm:
    def __init__(self, look: Look, known: Constraints, again: Recompute) -> None:
        self.look, self.known, self.again = look, known, again
        self.left = _MOST_STEPS
        self.done: dict[Place, Range] = {}

    def of(self, argument: Argument, layout: Layout) -> Range:
        if not isinstance(argument, Value):
            return self.look.of(argument)
        place = (argument, layout)
        if place not in self.done:
            self.done[place] = self.bounded(argument, layout)
        return self.done[place]

    def bounded(self, value: Value, layout: Layout) -> Range:
        found = self.again_at(value, layout)
        bound = self.known.get((value, layout))
        return found if bound is None else apply(found, bound)

    def again_at(self, value: Value, layout: Layout) -> Range:
        maker = self.look.maker(value)
        self.left -= 1
        if maker is None or self.left < 0 or len(maker.results) != 1:
            return self.look.read(value)
        base = _base(maker)
        if maker.name in _LAYOUT and isinstance(base, Value):
            inner = self.of(base, (step_of(maker), *layout))
            old = self.look.read(value)
            old = old._replace(nan=old.nan and inner.nan, finite=old.finite or inner.finite)
            return meet(old, inner.low, inner.high, nonzero=inner.nonzero)
        if maker.name in ("grad.stop", "device.place"):
            return self.of(base, layout)
        made = self.again(Look(maker, lambda one: self.of(one, layout), self.look.known))
        return self.look.read(value) if made is None else made


def apply(found: Range, bound: Bound) -> Range:
    """Narrow a range by what a condition says of it."""
    made = meet(found, bound.low, bound.high, nonzero=bound.nonzero)
    if bound.finite or (bound.low > -inf and bound.high < inf):
        made = made._replace(finite=True)
    return made._replace(nan=False) if bound.finite or bound.ordered else made
