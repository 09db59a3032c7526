"""The rule `leak-across-episodes`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.recursions import Recursion, recursions
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import COMPARISONS, NEGATIONS
from jaxaudit.rules.base import Example, Obligation, Rule, Step
from jaxaudit.rules.phrases import proved

_PROGRAM = """
def advantages(rewards, dones, values, last_value, gamma, lam):
    def step(carry, x):
        gae, next_value = carry
        reward, done, value = x
        delta = reward + gamma * next_value * {first} - value
        gae = delta + gamma * lam * {second}gae{mark}
        return (gae, value), gae

    start = (jnp.zeros_like(last_value), last_value)
    return jax.lax.scan(step, start, (rewards, dones, values), reverse=True)[1]
"""


class LeakAcrossEpisodes(Rule):
    """The end of an episode stops the next value, but not what was added up after it.

    ## What it does

    Finds scans that add up temporal differences in which the next value is masked at the end of an episode, and the
    carry is not.

    ## Why is this bad?

    The first steps of the next episode, which has nothing to do with this one, are added to the advantages of its
    last steps. Shapes are right, nothing is raised, and learning suffers most where episodes are short.

    ## Example

    ```python
    delta = reward + gamma * next_value * (1 - done) - value
    gae = delta + gamma * lam * gae
    ```

    ## Use instead

    ```python
    gae = delta + gamma * lam * (1 - done) * gae
    ```

    ## When it cannot tell

    Where nothing in the sum shows that episodes end, there is nothing to judge.
    """

    name = "leak-across-episodes"
    family = "envs"
    summary = "Advantages of one episode flow into the one before."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(first="(1 - done)", second="(1 - done) * ", mark=""), "both are masked"),
        Example(_PROGRAM.format(first="jnp.where(done, 0.0, 1.0)", second="(1 - done) * ", mark=""), "in two ways"),
        Example(_PROGRAM.format(first="lam", second="", mark=""), "a task without an end"),
    )
    invalid = (
        Example(_PROGRAM.format(first="(1 - done)", second="", mark="  #!"), "only the next value is masked"),
        Example(
            """
def advantages(rewards, dones, values, last_value):
    next_values = jnp.append(values[1:], last_value)
    deltas = rewards + jnp.where(dones, 0.0, 0.99 * next_values) - values

    def step(carry, delta):
        carry = delta + 0.9405 * carry  #!
        return carry, carry

    return jax.lax.scan(step, 0.0, deltas, reverse=True)[1]
""",
            "differences from outside",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every recursion that knows of the end of an episode."""
        shapes, flow = facts.get(Shapes), facts.flow
        for one in recursions(program, flow):
            ends = [value for value in one.successor.factors if _ends(value, one, flow, shapes)]
            ends += one.successor.masks
            others = [value for value in one.kept.factors if value is not one.carry]
            if ends:
                masked = bool(one.kept.masks) or any(value in ends or one.differs(value) for value in others)
                yield _judged(one, ends[0], masked=masked)


def _judged(one: Recursion, end: Value, *, masked: bool) -> Obligation:
    rule, span = LeakAcrossEpisodes.name, one.update.span
    if masked:
        return proved(rule, span, "the end of an episode stops both the next value and the carry")
    return Obligation(
        rule,
        span,
        message="what is added up here does not stop at the end of an episode",
        current="the next value is masked where an episode ends, but what was added up so far is not",
        expected="the carry is multiplied by the same mask",
        steps=(Step(end.span, "the next value is masked by this"),),
        suggestion="multiply the carry by the mask too, as in `gamma * lam * (1 - done) * gae`",
    )


def _ends(value: Value, one: Recursion, flow: Flow, shapes: Shapes) -> bool:
    """Whether a factor of the next value is another one in each step, and not the next value itself."""
    op = flow.maker(value)
    if op is not None and op.name == "array.map" and (op.function in COMPARISONS | NEGATIONS or _is_rest(op)):
        return one.differs(value) or bool(shapes.of(value).dims)
    return False


def _is_rest(op: Op) -> bool:
    """Whether an op is `1 - x`."""
    return op.function == "subtract" and op.arguments.get("x") in (1, 1.0)
