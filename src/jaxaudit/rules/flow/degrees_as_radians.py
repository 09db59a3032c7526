"""The rule `degrees-as-radians`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning.angles import CONVERSIONS, RADIANS, Angle, Angles
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import PERIODIC, SCALINGS
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved


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
        angles = Angles(facts.flow)
        for op in program.mapping(*sorted(PERIODIC), *CONVERSIONS, *sorted(SCALINGS)):
            taken = None if op.backward or not op.operands else _taken(op, angles)
            found = None if taken is None else angles.of(taken[1])
            if taken is not None and found is not None:
                wanted, value = taken
                yield _fits(op, found) if found.unit == wanted else _clash(op, value, found, wanted)


def _taken(op: Op, angles: Angles) -> tuple[str, Value] | None:
    """Return the unit that an op takes, and what it takes in it."""
    if op.function in PERIODIC:
        return RADIANS, op.operands[0]
    conversion = angles.conversion(op)
    return None if conversion is None else (conversion.before, conversion.value)


def _deed(op: Op) -> str:
    return "the conversion" if op.function in SCALINGS else f"`{op.function}`"


def _fits(op: Op, found: Angle) -> Obligation:
    return proved(op.span, f"{_deed(op)} is given {found.unit} (line {found.made.span.line}), which it takes")


def _clash(op: Op, value: Value, found: Angle, wanted: str) -> Obligation:
    converts = op.function not in PERIODIC
    return Obligation(
        op.span,
        message=f"{_deed(op)} takes {wanted}, but {named(value, 'what it is given')} is in {found.unit}",
        current="the angle is converted a second time" if converts else "the angle is off by a factor of 57.3",
        expected=f"an angle in {wanted}",
        steps=(Step(found.made.span, f"it is made in {found.unit} here"),),
        suggestion="leave one conversion out" if converts else "convert it with `jnp.deg2rad`, or keep it in radians",
    )
