"""The rule `nothing-to-reduce`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import NORMALISED_EXPONENTIALS
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict, named, proved, unknown
from jaxaudit.rules.vmap._shared.scalars import outcome_for_number

_PROGRAM = """
def act(probabilities, atoms):
    values = jnp.sum(probabilities * atoms{axis})
    return jnp.argmax(values){mark}


act(jnp.ones((4, 51)), jnp.ones(51))
"""


class NothingToReduce(Rule):
    """A spread, the position of an extreme or a share is taken of one number, and is the same whatever that is.

    ## What it does
    Looks at what `argmax`, `std`, `var` and their kin are taken of without an axis: where it has no axes at all, the
    result is always 0. So is a number minus its own mean. A `softmax` along an axis of size 1 is always 1: this is a
    warning, because the size may be a setting. What happens under `vmap` is told by `hard-coded-axis`.

    ## Why is this bad?
    An axis too many was reduced before, or the wrong one. Nothing is raised: the best action is always the first one,
    the spread is 0, and what is divided by it is as large as the epsilon lets it be.

    ## Example
        values = jnp.sum(probabilities * atoms)  # one number for all actions
        action = jnp.argmax(values)  # always 0

    ## Use instead
        values = jnp.sum(probabilities * atoms, axis=-1)  # one number for each action
        action = jnp.argmax(values)

    ## When it cannot tell
    When the rank of what is reduced is not known.
    """

    summary = "A spread or the position of an extreme is taken of one number, and is always 0."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(axis=", axis=-1", mark=""), "one value for each action"),
        Example("def loss(x):\n    return jnp.mean(jnp.sum(x * jnp.ones((4, 3))))\n", "a mean that changes nothing"),
        Example("def share(x):\n    return jax.nn.softmax(x * jnp.ones((4, 3)), axis=-1)\n", "over three entries"),
    )
    invalid = (
        Example(_PROGRAM.format(axis="", mark="  #!"), "the sum is over the actions too"),
        Example(
            "def scaled(x):\n    total = jnp.sum(x * jnp.ones((4, 3)))\n    return total / (total.std() + 1e-8)  #!\n",
            "one number has no spread",
        ),
        Example(
            "def centred(x):\n    total = jnp.sum(x * jnp.ones((4, 3)))\n    return total - total.mean()  #!\n",
            "a number minus its own mean",
        ),
        Example(
            "def share(x, w):\n    return jax.nn.softmax(x @ w)  #?\n\nshare(jnp.ones((8, 3)), jnp.ones((3, 1)))\n",
            "one output has nothing to compete with",
        ),
        Example(
            "def contrast(first, second):\n    score = first @ second\n"
            "    return -jax.nn.log_softmax(score[None])[0]  #!\n\n"
            "jax.vmap(contrast)(jnp.ones((8, 4)), jnp.ones((8, 4)))\n",
            "one pair under `vmap`, without those that it competes with",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every reduction that would say nothing of one number, outside of `vmap`."""
        mapped = set(mapped_ops(facts))
        for op in program.named("array.reduce", "array.order", "array.normalise"):
            if not op.operands:
                continue
            value = op.operands[0]
            if op.name == "array.normalise":
                yield from self._share(op, value, facts)
            elif op.argument("axis") is None and op not in mapped:
                yield from self._of_all(op, value, facts)

    def _of_all(self, op: Op, value: Value, facts: Facts) -> Iterator[Obligation]:
        outcome = outcome_for_number(op, value, facts.flow)
        if not outcome:
            return
        known = [fact for one in facts.get(Shapes).contexts(op) if (fact := one.of(value)).is_array]
        if known and all(fact.dims == () and fact.number is None for fact in known):
            yield _number(op, value, outcome, facts)
        elif known and all(fact.dims for fact in known):
            yield proved(op.span, f"{named(value)} has an axis to reduce")
        else:
            yield unknown(op.span, f"how many axes {named(value)} has is not known")

    def _share(self, op: Op, value: Value, facts: Facts) -> Iterator[Obligation]:
        if op.function not in NORMALISED_EXPONENTIALS:
            return
        axes = axes_in(op.argument("axis")) or (-1,)
        known = [one.of(value).dims for one in facts.get(Shapes).contexts(op)]
        sizes = [dims[axes[0]].constant for dims in known if dims and -len(dims) <= axes[0] < len(dims)]
        sure = len(axes) == 1 and bool(sizes) and len(sizes) == len(known)
        if sure and all(size == 1 for size in sizes):
            yield _alone(op, value, axes[0], sure=_is_new(value, facts))
        elif sure and all(size is not None and size > 1 for size in sizes):
            yield proved(op.span, f"it is over {sizes[0]} entries")
        else:
            yield unknown(op.span, f"over how many entries of {named(value)} it is, is not known")


def _number(op: Op, value: Value, outcome: str, facts: Facts) -> Obligation:
    maker = facts.flow.maker(value)
    return Obligation(
        op.span,
        message=f"{named(value)} is one number, and {outcome}",
        current=f"{named(value)} has no axis left, so the result is the same whatever its value is",
        expected=f"`{op.function}` runs over the entries of an array",
        steps=(Step(maker.span, f"{named(value)} comes from here"),) if maker is not None else (),
        suggestion="keep the axis where this value is made: name the axis that is reduced there",
        cause=(*op.results, value),
    )


def _is_new(value: Value, facts: Facts) -> bool:
    """Whether the only axis of an array was just put there, around one number."""
    made = facts.flow.maker(value)
    adds = made is not None and (made.name == "array.expand" or made.arguments.get("index", 0) is None)
    shapes = facts.get(Shapes)
    return made is not None and adds and all(shapes.of(one).dims == () for one in made.operands)


def _alone(op: Op, value: Value, axis: int, *, sure: bool) -> Obligation:
    share = 0 if op.function == "log_softmax" else 1
    return Obligation(
        op.span,
        Verdict.VIOLATED if sure else Verdict.UNKNOWN,
        f"axis {axis} has one entry; whether its size is a setting that may grow is not known",
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"axis {axis} of {named(value)} has one entry, so `{op.function}` is always {share}",
        current=f"the result is {share} whatever {named(value)} is, and no gradient goes through it",
        expected="several entries compete along this axis, or one output goes through a `sigmoid`",
        suggestion="name the axis of the entries that compete, or use `jax.nn.sigmoid` for one output",
    )
