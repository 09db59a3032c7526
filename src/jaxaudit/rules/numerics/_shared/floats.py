"""Whether a value is of floats: by its dtype, or by what it is computed with."""

from __future__ import annotations

from collections.abc import Callable

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.queries import Answers
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.functions import AVERAGES, FLOATING, KEEPS_FRACTIONS, ROUNDED
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import MOVING

_UNCHANGED = MOVING - {"array.convert"}

Ask = Callable[[Value], bool]


@remembered
def floats(facts: Facts) -> Ask:
    """Return whether values surely are floats, or arrays of floats; False where that is not known."""
    return Answers(_Look(facts, whole=True).answer, False)


@remembered
def fractions(facts: Facts) -> Ask:
    """Return the same for what is no whole number by the way it is computed, whatever its dtype."""
    return Answers(_Look(facts, whole=False).answer, False)


class _Look:
    def __init__(self, facts: Facts, *, whole: bool) -> None:
        self._shapes, self._flow = facts.get(Shapes), facts.flow
        self._whole = whole
        """Whether floats without a fraction count, such as 2.0."""

    def answer(self, value: Value, ask: Ask) -> bool:
        """Whether one value is of floats."""
        dtype = self._shapes.of(value).dtype
        if dtype is not None and (self._whole or not dtype.startswith(("float", "bfloat"))):
            return dtype.startswith(("float", "bfloat"))
        op = self._flow.maker(value)
        if op is None or op.has("dtype"):
            return False
        if op.name == "array.map":
            keeps = op.function in KEEPS_FRACTIONS and (self._whole or op.function not in ROUNDED)
            return op.function in FLOATING or (keeps and any(self._holds(one, ask) for one in op.arguments.values()))
        if op.name == "array.reduce":
            return op.function in AVERAGES
        first = moved(op, _UNCHANGED)
        return first is not None and not op.regions and ask(first)

    def _holds(self, argument: Argument, ask: Ask) -> bool:
        if isinstance(argument, Value):
            return ask(argument)
        return isinstance(argument, float) and (self._whole or argument % 1 != 0)
