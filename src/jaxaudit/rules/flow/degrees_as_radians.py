"""The rule `degrees-as-radians`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import elements_of
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import Answers, behind, nothing
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import INVERSE_ANGLES, PERIODIC, SAME_UNIT, SCALINGS
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import JOINING
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved

_DEGREES, _RADIANS = "degrees", "radians"
_CONVERSIONS = {"rad2deg": (_RADIANS, _DEGREES), "deg2rad": (_DEGREES, _RADIANS)}
"""The units that functions convert from and to."""
_SAME_UNIT_FACTORS = (0.5, 1.0, 2.0)
"""Half of an angle is still one; other factors may make something else of it."""
_DEGREES_PER_RADIAN = 180.0 / math.pi
_ROUNDING = 1e-4
"""How far a factor that is written out may be off: `57.2958`."""
_Ask = Callable[[Value], "_Angle | None"]


class DegreesAsRadians(Rule):
    """An angle is taken in one unit and measured in the other.

    ## What it does
    Reads off the functions and factors that made an angle (`arctan2`, `degrees`, `* 180 / pi`) whether it is in degrees
    or in radians, and compares that with what a sine, cosine, tangent or conversion takes.

    ## Why is this bad?
    Both are plain numbers, so nothing is raised: the angle is off by a factor of 57.3.

    ## Example
        angle = jnp.degrees(jnp.arctan2(dy, dx))
        return jnp.sin(angle)

    ## Use instead
        angle = jnp.arctan2(dy, dx)
        return jnp.sin(angle)

    ## When it cannot tell
    An angle that comes from outside has no known unit; there is nothing to judge.
    """

    summary = "An angle in degrees is taken for radians, or the other way round."

    valid = """
    ## converted before the sine
    def heading(dx, dy):
        degrees = jnp.degrees(jnp.arctan2(dy, dx)) % 360.0
        return degrees, jnp.sin(jnp.deg2rad(degrees))
    """
    invalid = """
    ## degrees in a sine
    def heading(dx, dy):
        angle = jnp.degrees(jnp.arctan2(dy, dx))
        return jnp.sin(angle)  #!

    ## in a function that is called twice
    def components(speed, bearing):
        return speed * jnp.sin(bearing)  #!

    def drift(u, v):
        bearing = jnp.rad2deg(jnp.arctan2(u, v)) % 360.0
        return components(u, bearing) - components(v, bearing)

    ## converted twice
    def heading(dx, dy):
        angle = jnp.arctan2(dy, dx) * 180.0 / jnp.pi
        return jnp.rad2deg(angle)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sine, cosine, tangent and conversion of an angle whose unit is known."""
        angles = _Angles(facts.flow)
        for op in program.mapping(*sorted(PERIODIC), *_CONVERSIONS, *sorted(SCALINGS)):
            taken = None if op.backward or not op.operands else _taken(op, angles)
            found = None if taken is None else angles.of(taken[1])
            if taken is not None and found is not None:
                wanted, value = taken
                yield _fits(op, found) if found.unit == wanted else _clash(op, value, found, wanted)


def _taken(op: Op, angles: _Angles) -> tuple[str, Value] | None:
    """Return the unit that an op takes, and what it takes in it."""
    if op.function in PERIODIC:
        return _RADIANS, op.operands[0]
    conversion = angles.conversion(op)
    return None if conversion is None else (conversion.before, conversion.value)


def _deed(op: Op) -> str:
    return "the conversion" if op.function in SCALINGS else f"`{op.function}`"


def _fits(op: Op, found: _Angle) -> Obligation:
    return proved(op.span, f"{_deed(op)} is given {found.unit} (line {found.made.span.line}), which it takes")


def _clash(op: Op, value: Value, found: _Angle, wanted: str) -> Obligation:
    converts = op.function not in PERIODIC
    return Obligation(
        op.span,
        message=f"{_deed(op)} takes {wanted}, but {named(value, 'what it is given')} is in {found.unit}",
        current="the angle is converted a second time" if converts else "the angle is off by a factor of 57.3",
        expected=f"an angle in {wanted}",
        steps=(Step(found.made.span, f"it is made in {found.unit} here"),),
        suggestion="leave one conversion out" if converts else "convert it with `jnp.deg2rad`, or keep it in radians",
    )


@record
class _Angle:
    """What an angle is measured in, and the op that shows it."""

    unit: str
    made: Op


@record
class _Conversion:
    """A conversion from one unit to the other, and what it converts."""

    before: str
    after: str
    value: Value


class _Angles:
    """The angles of a program, found on demand."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.of: Answers[Value, _Angle | None] = Answers(self._read, None)
        """The unit of a value; None where nothing shows one."""

    def conversion(self, op: Op) -> _Conversion | None:
        """Return what an op converts: by a function, or by `* 180 / pi` and its reverse in one step or several."""
        if op.function in _CONVERSIONS and op.operands:
            return _Conversion(*_CONVERSIONS[op.function], op.operands[0])
        for base, factor in self._multiples(op.result) if op.function in SCALINGS else ():
            if math.isclose(abs(factor), _DEGREES_PER_RADIAN, rel_tol=_ROUNDING):
                return _Conversion(_RADIANS, _DEGREES, base)
            if math.isclose(abs(factor), 1 / _DEGREES_PER_RADIAN, rel_tol=_ROUNDING):
                return _Conversion(_DEGREES, _RADIANS, base)
        return None

    def _read(self, value: Value, ask: _Ask) -> _Angle | None:
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

    def _computed(self, op: Op, ask: _Ask) -> _Angle | None:
        converted = self.conversion(op)
        if converted is not None:
            return _Angle(converted.after, op)
        if op.function in INVERSE_ANGLES:
            return _Angle(_RADIANS, op)
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


def _alike(found: list[_Angle | None]) -> _Angle | None:
    """Return what all of some values are measured in."""
    return found[0] if len({None if one is None else one.unit for one in found}) == 1 else None
