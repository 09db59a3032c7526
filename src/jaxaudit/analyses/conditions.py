"""What holds where an op stands, read off the `if`s around it: `if a:` and `if not a:` exclude each other."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.ops import PYTHON_LOOPS
from jaxaudit.ir.record import record

if TYPE_CHECKING:
    from jaxaudit.analyses.paths import Places

Subject = tuple[object, ...]
"""What a condition is about; reading one attribute twice is about the same thing."""

_EQUAL = {"equal": True, "==": True, "not_equal": False, "!=": False}
_IS = {"is": True, "is not": False}
_MANY = 1000
"""How many turns of a loop are not worth to be tried one by one."""

HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
"""What each comparison says of two numbers."""


@record
class Condition:
    """One thing that is known to hold: a value is true, equals a constant, or is None, or not."""

    subject: Subject
    value: Value
    relation: str
    """`true`, `==` or `is`."""
    against: object
    holds: bool

    def contradicts(self, other: Condition) -> bool:
        """Whether two conditions cannot hold at once."""
        if self.subject != other.subject:
            return False
        if self.relation == other.relation and self.against == other.against:
            return self.holds != other.holds
        if self.relation == other.relation == "==":
            return self.holds and other.holds
        none, truth = sorted((self, other), key=lambda one: one.relation)
        return (none.relation, truth.relation) == ("is", "true") and none.holds and truth.holds


def conditions(places: Places, op: Op, inside: Region | None = None) -> Iterator[Condition]:
    """Return what holds where an op stands, as far as the branches around it say (those within a region, if given)."""
    for region, holder in places.up(places.region_of[op]):
        if region is inside:
            return
        if holder is not None and holder.name == "py.branch" and len(holder.operands) == 1 and len(holder.regions) == 2:
            yield from _expand(places, holder.operands[0], region is holder.regions[0])


def turns_left(places: Places, loop: Op, op: Op) -> int | None:
    """Return in how many turns of a loop over known items the conditions hold under which an op in it runs."""
    body, trips = loop.regions[-1], loop.trips
    if loop.name not in PYTHON_LOOPS or trips is None or trips > _MANY:
        return None
    left = set(range(trips))
    for known in conditions(places, op, body):
        left = {turn for turn in left if _holds(places, known, body, turn) is not False}
    return len(left)


def _holds(places: Places, known: Condition, body: Region, turn: int) -> bool | None:
    """Whether a condition holds in one turn of a loop; None where that is not known."""
    maker = places.maker.get(known.value)
    compares = known.relation == "true" and maker is not None and maker.function in HOLDS
    if known.relation == "==":
        one, other, holds = known.value, known.against, operator.eq
    elif maker is not None and compares:
        one, other, holds = maker.arguments.get("x"), maker.arguments.get("y"), HOLDS[maker.function]
    else:
        return None
    sides = [_in_turn(places, side, body, turn) for side in (one, other)]
    try:
        return None if None in sides else bool(holds(*sides)) is known.holds
    except TypeError:
        return None


def _in_turn(places: Places, side: object, body: Region, turn: int) -> object:
    """Return the constant that something is in one turn of a loop; None where it is none, or not known."""
    if not isinstance(side, Value):
        return side if isinstance(side, int | float | str) else None
    made = places.maker.get(side)
    if side in body.params[:1]:
        return turn
    if made is None or made.name != "py.element" or made.arguments.get("index") not in body.params[:1]:
        return None
    items = made.arguments.get("iterable")
    if isinstance(items, Mapping):
        start, step = items.get("start"), items.get("step")
        return start + step * turn if isinstance(start, int) and isinstance(step, int) else None
    return _in_turn(places, items[turn], body, turn) if isinstance(items, tuple) and turn < len(items) else None


def _expand(places: Places, value: Value, holds: bool) -> Iterator[Condition]:
    maker = places.maker.get(value)
    asked = "" if maker is None else maker.operator or maker.qualified
    if maker is None:
        yield _truth(places, value, holds)
    elif asked == "not" and len(maker.operands) == 1:
        yield from _expand(places, maker.operands[0], not holds)
    elif maker.name == "py.join":
        if _connective(places, maker) == ("and" if holds else "or"):
            for part in maker.operands:
                yield from _expand(places, part, holds)
    elif (asked in _EQUAL or asked in _IS) and len(maker.operands) == 1:
        relation, table = ("==", _EQUAL) if asked in _EQUAL else ("is", _IS)
        about = maker.operands[0]
        yield Condition(_subject(places, about), about, relation, _constant(maker), table[asked] == holds)
    else:
        yield _truth(places, value, holds)


def _truth(places: Places, value: Value, holds: bool) -> Condition:
    return Condition(_subject(places, value), value, "true", None, holds)


def _connective(places: Places, join: Op) -> str:
    """Whether a joined condition is an `and` or an `or`: the test of its first part says so."""
    for op in places.region_of[join].ops:
        if op.name == "py.test" and op.operands == join.operands[:1] and op.construct in ("and", "or"):
            return op.construct
    return ""


def _constant(op: Op) -> object:
    constants = [argument for argument in op.arguments.values() if not isinstance(argument, Value)]
    return constants[0] if len(constants) == 1 else constants


def _subject(places: Places, value: Value) -> Subject:
    maker = places.maker.get(value)
    if maker is not None and maker.name == "py.attr" and maker.operands:
        return ("attribute", maker.label, *_subject(places, maker.operands[0]))
    if maker is not None and maker.name == "py.global":
        return ("global", maker.label)
    return (value,)
