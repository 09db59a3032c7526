"""Whether a value is an angle in degrees or in radians, from the functions and factors that made it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import elements_of
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import Answers, behind, nothing
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import INVERSE_ANGLES, SAME_UNIT, SCALINGS
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import JOINING
from jaxaudit.ir.record import record

DEGREES, RADIANS = "degrees", "radians"

CONVERSIONS = {"rad2deg": (RADIANS, DEGREES), "deg2rad": (DEGREES, RADIANS)}
"""The units that functions convert from and to."""
_SAME_UNIT_FACTORS = (0.5, 1.0, 2.0)
"""Half of an angle is still one; other factors may make something else of it."""
_DEGREES_PER_RADIAN = 180.0 / math.pi
_ROUNDING = 1e-4
"""How far a factor that is written out may be off: `57.2958`."""

Ask = Callable[[Value], "Angle | None"]


@record
class Angle:
    """What an angle is measured in, and the op that shows it."""

    unit: str
    made: Op


@record
class Conversion:
    """A conversion from one unit to the other, and what it converts."""

    before: str
    after: str
    value: Value


class Angles:
    """The angles of a program, found on demand."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.of: Answers[Value, Angle | None] = Answers(self._read, None)
        """The unit of a value; None where nothing shows one."""

    def conversion(self, op: Op) -> Conversion | None:
        """Return what an op converts: by a function, or by `* 180 / pi` and its reverse in one step or several."""
        if op.function in CONVERSIONS and op.operands:
            return Conversion(*CONVERSIONS[op.function], op.operands[0])
        for base, factor in self._multiples(op.result) if op.function in SCALINGS else ():
            if math.isclose(abs(factor), _DEGREES_PER_RADIAN, rel_tol=_ROUNDING):
                return Conversion(RADIANS, DEGREES, base)
            if math.isclose(abs(factor), 1 / _DEGREES_PER_RADIAN, rel_tol=_ROUNDING):
                return Conversion(DEGREES, RADIANS, base)
        return None

    def _read(self, value: Value, ask: Ask) -> Angle | None:
        found = origin(self.flow, value, {})
        op = found.op
        if found.value is not value:
            return ask(found.value)
        if op is None:
            return _alike([ask(one) for one in behind(self.flow, value, nothing)])
        if op.backward:
            return None
        whole = moved(op)
        if whole is not None:
            return ask(whole)
        if op.name in JOINING:
            return _alike([ask(one) for one in op.operands if one is not op.arguments.get("condition")])
        return self._computed(op, ask) if op.name == "array.map" else None

    def _computed(self, op: Op, ask: Ask) -> Angle | None:
        converted = self.conversion(op)
        if converted is not None:
            return Angle(converted.after, op)
        if op.function in INVERSE_ANGLES:
            return Angle(RADIANS, op)
        if op.function in SCALINGS:
            base, factor = next(self._multiples(op.result), (op.result, 0.0))
            return ask(base) if abs(factor) in _SAME_UNIT_FACTORS else None
        # Only angles of one unit can be added, so one of them tells for both.
        units = map(ask, op.operands) if op.function in SAME_UNIT else ()
        return next((one for one in units if one is not None), None)

    def _multiples(self, value: Value) -> Iterator[tuple[Value, float]]:
        """Return what a value is a multiple of, and by how much, step by step."""
        factor = 1.0
        while (op := self.flow.maker(value)) is not None and op.name == "array.map" and op.function in SCALINGS:
            x, y = op.arguments.get("x"), op.arguments.get("y")
            left, right, divides = self._number(x), self._number(y), op.function == "divide"
            if right and isinstance(x, Value):
                value, factor = x, factor / right if divides else factor * right
            elif left is not None and isinstance(y, Value) and not divides:
                value, factor = y, factor * left
            else:
                return
            yield value, factor

    def _number(self, argument: Argument) -> float | None:
        """Return the number that an argument is, through conversions and broadcasts."""
        found: object = argument
        if isinstance(argument, Value):
            op = self.flow.maker(elements_of(self.flow, argument))
            found = op.constant if op is not None and op.name == "py.const" else None
            if op is not None and op.name in ("array.convert", "array.create"):
                found = next(iter(op.arguments.values()), None)
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _alike(found: list[Angle | None]) -> Angle | None:
    """Return what all of some values are measured in."""
    return found[0] if len({None if one is None else one.unit for one in found}) == 1 else None
