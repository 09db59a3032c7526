"""The rule `bootstrap-never-moves`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.recursions import Standing, recursions, standing
from jaxaudit.ir import Program
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved

_CARRIED = """
def advantages(rewards, dones, values, last_value):
    def step(carry, x):
        total, later = carry
        reward, done, value = x
        delta = reward + 0.99 * {later} * (1 - done) - value
        total = delta + 0.95 * (1 - done) * total{sum}
        return (total, {handed}), total{mark}
    start = (last_value * 0, last_value)
    return jax.lax.scan(step, start, (rewards, dones, values), reverse=True)[1]
"""


class BootstrapNeverMoves(Rule):
    """Every step of a trajectory is bootstrapped with the value of the last one, or with its own.

    ## What it does
    Finds scans that add up temporal differences `reward + discount * next value - value`. Where the next value is in
    the carry, each turn must put its own value there for the turn that follows: if the carry goes on unchanged, all
    steps share one next value. Where the value that is subtracted is also the one that is discounted, there is no
    next value at all.

    ## Why is this bad?
    All advantages but the last are taken against the value of a state that is far away. Nothing is raised, and the
    policy merely learns badly.

    ## Example
        delta = reward + gamma * next_value * (1 - done) - value
        return (gae, next_value), gae

    ## Use instead
        delta = reward + gamma * next_value * (1 - done) - value
        return (gae, value), gae

    ## When it cannot tell
    Where the next value comes from elsewhere, or the sum has another form, there is nothing to judge.
    """

    summary = "An advantage scan has no next value, or one that is never renewed."

    valid = (
        Example(_CARRIED.format(later="later", sum="", handed="value", mark=""), "each turn hands on its value"),
        Example(
            """
def filtered(sources, rates, signal, decay):
    def step(carry, x):
        source, rate, value = x
        carry = source + rate * value - value + decay * carry
        return carry, carry
    return jax.lax.scan(step, 0.0, (sources, rates, signal))[1]
""",
            "a gain and a loss of one signal, which nothing discounts as the sum is",
        ),
    )
    invalid = (
        Example(_CARRIED.format(later="later", sum="", handed="later", mark="  #!"), "the first one goes on for ever"),
        Example(_CARRIED.format(later="value", sum="  #!", handed="value", mark=""), "each step has its own"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every scan that adds up temporal differences with a next value in its carry."""
        flow = facts.flow
        for one in recursions(program, flow):
            if one.hands_on:
                yield proved(one.scan.span, "each turn hands its own value on as the next one of the turn that follows")
        yield from (_finding(one) for one in standing(program, flow))


def _finding(one: Standing) -> Obligation:
    if one.later is one.value:
        value = named(one.value, "the value")
        return Obligation(
            one.place.span,
            message=f"the temporal difference has {value} of one step twice: no next value is in it",
            current=f"{value} is discounted and taken away in the same step",
            expected=f"the discounted one is the value of the step that follows, and {value} is taken away",
            suggestion="discount the next value",
        )
    later, value = named(one.later, "the next value"), named(one.value, "its own value")
    return Obligation(
        one.place.span,
        message=f"{later} goes into the next turn unchanged, so every step is bootstrapped with the same value",
        current=f"{later} stands for the value of the step that follows, and stays what it was at the start",
        expected=f"each turn hands on {value}, which is the next value of the turn that follows",
        steps=(Step(one.update.span, f"{later} is discounted and {value} taken away here"),),
        suggestion=f"hand on {value} in the place of {later}",
    )
