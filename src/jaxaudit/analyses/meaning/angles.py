"""Whether a value is an angle in degrees or in radians, from the functions and factors that made it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.meaning.kinds import tail
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import INVERSE_ANGLES, SCALINGS, SUMS_OF_TWO

DEGREES, RADIANS = "degrees", "radians"

_TO_DEGREES = frozenset(("rad2deg",))
_TO_RADIANS = frozenset(("deg2rad",))
_KEEPS = frozenset(
    "array.reshape array.expand array.squeeze array.convert array.permute array.move array.split py.item "
    "array.gather grad.stop device.place".split()
)
CONVERSIONS = tuple(sorted(_TO_DEGREES | _TO_RADIANS | SCALINGS))
"""Functions that may turn one unit into another."""
_WRAPS = frozenset("remainder fmod abs negative clip".split())
_PLAIN = frozenset((0.5, 1.0, 2.0))
_FACTOR = 180.0 / math.pi
_CLOSE = 1e-4
_DEEPEST = 40
_STEPS = 4
"""How many factors are multiplied before they are taken for something else."""


@dataclass(frozen=True, slots=True)
class Angle:
    """What an angle is measured in, and the op that shows it."""

    unit: str
    made: Op


class Angles:
    """The angles of a program, found on demand."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._known: dict[Value, Angle | None] = {}

    def of(self, value: Value, depth: int = 0) -> Angle | None:
        """Return the unit of a value; None where nothing shows one."""
        if value not in self._known:
            if depth > _DEEPEST:
                return None
            self._known[value] = None
            self._known[value] = self._read(value, depth + 1)
        return self._known[value]

    def converts(self, op: Op) -> tuple[str, str, Value] | None:
        """Return the units that an op converts from and to, and what it converts; None when it converts nothing."""
        if op.name != "array.map" or not op.operands:
            return None
        if tail(op) in _TO_DEGREES:
            return RADIANS, DEGREES, op.operands[0]
        if tail(op) in _TO_RADIANS:
            return DEGREES, RADIANS, op.operands[0]
        return self._by_factor(op.result) if tail(op) in SCALINGS else None

    def _by_factor(self, value: Value) -> tuple[str, str, Value] | None:
        """Recognise `* 180 / pi` and `* pi / 180`, in one step or several."""
        for base, factor in self._factors(value):
            if math.isclose(abs(factor), _FACTOR, rel_tol=_CLOSE):
                return RADIANS, DEGREES, base
            if math.isclose(abs(factor), 1 / _FACTOR, rel_tol=_CLOSE):
                return DEGREES, RADIANS, base
        return None

    def _read(self, value: Value, depth: int) -> Angle | None:
        found = origin(self.flow, value, {})
        if found.value is not value:
            return self.of(found.value, depth)
        op = found.op
        if op is None or op.backward:
            return None
        converted = self.converts(op)
        if converted is not None:
            return Angle(converted[1], op)
        if tail(op) in INVERSE_ANGLES:
            return Angle(RADIANS, op)
        if op.name in _KEEPS and op.operands:
            return self.of(op.operands[0], depth)
        if op.name in ("array.select", "py.join", "array.join"):
            return self._common((one for one in op.operands if one is not op.arguments.get("condition")), depth)
        return self._computed(op, depth) if op.name == "array.map" else None

    def _computed(self, op: Op, depth: int) -> Angle | None:
        function = tail(op)
        if function in SCALINGS:
            return self._scaled(op, depth)
        if function in _WRAPS and op.operands:
            return self.of(op.operands[0], depth)
        if function in SUMS_OF_TWO:
            # Only angles of one unit can be added, so one of them tells for both.
            return next((one for value in op.operands if (one := self.of(value, depth)) is not None), None)
        return None

    def _scaled(self, op: Op, depth: int) -> Angle | None:
        base, factor = next(self._factors(op.result), (op.result, 0.0))
        return self.of(base, depth) if abs(factor) in _PLAIN else None

    def _factors(self, value: Value) -> Iterator[tuple[Value, float]]:
        """Return what a value is a multiple of, and by how much, step by step."""
        factor = 1.0
        for _ in range(_STEPS):
            op = self.flow.maker(value)
            if op is None or op.name != "array.map" or tail(op) not in SCALINGS:
                return
            x, y = op.arguments.get("x"), op.arguments.get("y")
            left, right = self._number(x), self._number(y)
            if right and isinstance(x, Value):
                value, factor = x, factor / right if "divide" in tail(op) else factor * right
            elif left is not None and isinstance(y, Value) and "divide" not in tail(op):
                value, factor = y, factor * left
            else:
                return
            yield value, factor

    def _number(self, argument: Argument) -> float | None:
        """Return the number that an argument is, through conversions and broadcasts."""
        found: object = argument
        for _ in range(_STEPS):
            op = self.flow.maker(found) if isinstance(found, Value) else None
            if op is None:
                break
            found = op.constant if op.name == "py.const" else None
            if op.name in ("array.convert", "array.expand", "array.create"):
                found = op.arguments.get("a", op.arguments.get("object"))
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None

    def _common(self, values: Iterable[Value], depth: int) -> Angle | None:
        found = [self.of(value, depth) for value in values]
        first = found[0] if found else None
        return first if first is not None and all(one is not None and one.unit == first.unit for one in found) else None
