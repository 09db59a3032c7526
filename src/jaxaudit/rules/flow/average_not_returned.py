"""The rule `average-not-returned`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.uses import Uses
from jaxaudit.analyses.versions import Versions
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved

_MOMENTS = """def moments(mean, square, g):
    mean = 0.9 * mean + 0.1 * g
    newer = 0.99 * square + 0.01 * g**2
    return mean / newer, mean, {given}{mark}

def step(mean, square, g):
    return moments(mean, square, g)
"""


class AverageNotReturned(Rule):
    """A function moves two running averages on and gives one of them back as it was.

    ## What it does
    Finds functions that compute the next value of a running average, `decay * mean + (1 - decay) * x`, use it, and give
    the old one back, while another average of theirs goes back moved.

    ## Why is this bad?
    The average stays at its start for ever. In an optimizer the second moment never grows, and steps are far too long.

    ## Example
        m = b1 * m + (1 - b1) * g
        new_v = b2 * v + (1 - b2) * g**2
        return m / jnp.sqrt(new_v), (m, v)

    ## Use instead
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        return m / jnp.sqrt(v), (m, v)

    ## When it cannot tell
    Where no other average is given back moved, the caller may keep it by other means.
    """

    summary = "A function moves a running average on and gives the old one back."
    needs = (Uses, Versions)

    valid = (Example(_MOMENTS.format(given="newer", mark=""), "both are given back"),)
    invalid = (Example(_MOMENTS.format(given="square", mark="  #!"), "one of two stays"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function that gives running averages back."""
        versions, uses = facts.get(Versions), facts.get(Uses)
        for op in program.named("py.return"):
            region = facts.places.region_of[op]
            given = region.params
            moved = {one: old for one in region.results for old in _averages(one, given, versions)}
            stays = [value for value in dict.fromkeys(region.results) if value in given]
            for old in stays if set(moved.values()) - set(stays) else ():
                newer = [one for one in versions.newer(old) if _is_average(one, versions) and one not in region.results]
                newer = [one for one in newer if facts.places.region_of_value(one) is region]
                if newer and uses.is_read(newer[0]):
                    yield _finding(op, old, versions.maker(newer[0]))
            if moved and not stays:
                yield proved(op.span, "the running averages are given back as they were moved")


def _averages(value: Value, given: Sequence[Value], versions: Versions) -> Iterator[Value]:
    """Return the parameter that a value is a running average of."""
    found = versions.of(value) if _is_average(value, versions) else None
    return (param for param in given if found is not None and param in found.old)


def _is_average(value: Value, versions: Versions) -> bool:
    return versions.of(value) is not None and versions.maker(value).name == "array.map"


def _finding(op: Op, old: Value, newer: Op) -> Obligation:
    return Obligation(
        op.span,
        message=f"`{old.name}` is given back as it was, though its next value was computed",
        current=f"the old `{old.name}` is returned, so the running average never moves",
        expected=f"the function gives the next `{old.name}` back",
        steps=(Step(newer.span, "the next value is computed here"),),
        suggestion=f"return the next value of `{old.name}`",
    )
