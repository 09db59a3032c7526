"""The rule `branch-type-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.types import one_type
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import Match, compare
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved, unknown
from jaxaudit.rules.scan._shared.structures import other_branch


class BranchTypeMismatch(Rule):
    """The branches of a `cond` or `switch` give different types.

    ## What it does
    Compares the shapes and dtypes that the branches of `lax.cond` and `lax.switch` give, leaf by leaf.

    ## Why is this bad?
    Which branch runs is decided on the device, so the result must have one type whichever it is. JAX raises
    `TypeError` while tracing, even if the other branch would never run.

    ## Example
        jax.lax.cond(done, lambda x: jnp.zeros(3), lambda x: x[None], x)

    ## Use instead
        jax.lax.cond(done, lambda x: jnp.zeros_like(x), lambda x: x, x)

    ## When it cannot tell
    When the type of a result is not known in one of the branches.
    """

    summary = "The branches of a `cond` or `switch` give different shapes or dtypes."
    always_raises = True
    needs = (Shapes,)

    valid = """
    ## alike
    def pick(flag):
        x = jnp.ones((4, 3))
        return jax.lax.cond(flag, lambda x: jnp.zeros_like(x), lambda x: 2 * x, x)

    ## a Python number of the same dtype
    def pick(flag):
        return jax.lax.cond(flag, lambda x: x, lambda x: 0.0, jnp.float32(1))
    """
    invalid = """
    ## other shapes
    def pick(flag):
        x = jnp.ones((4, 3))
        return jax.lax.cond(flag, lambda x: x.sum(0), lambda x: x.sum(1), x)  #!

    ## other dtypes
    def pick(i):
        branches = [lambda x: x, lambda x: x.astype(jnp.int32)]
        return jax.lax.switch(i, branches, jnp.ones(3))  #!

    ## a whole number for a fraction
    def pick(flag):
        return jax.lax.cond(flag, lambda x: x, lambda x: 0, jnp.float32(1))  #!

    ## a tuple or an array
    def pick(i):
        branches = [lambda x: (x, x), lambda x: (x, 2 * x), lambda x: x.sum()]
        return jax.lax.switch(i, branches, jnp.ones(3))  #!

    ## a missing entry
    def pick(flag):
        return jax.lax.cond(flag, lambda x: {"a": x, "b": x}, lambda x: {"a": x}, jnp.ones(3))  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `cond` and `switch`."""
        shapes, flow = facts.get(Shapes), facts.flow
        for op in program.named("cond"):
            other = other_branch(op, shapes)
            if other is not None:
                yield other
            else:
                yield from (_judge(op, context, flow) for context in shapes.contexts(op))


def _judge(op: Op, context: Context, flow: Flow) -> Obligation:
    open_leaf = False
    for column in zip(*(region.results for region in op.regions), strict=False):
        first = context.of(column[0])
        for other in column[1:]:
            match = compare(first, context.of(other), yielding=True)
            # A Python number does not yield here: JAX wants one dtype of all branches.
            if match.fit is Fit.CLASHES or match.first != match.second:
                steps = (Step(column[0].span, "this is one branch's result"), Step(other.span, "and this the other's"))
                return _mismatch(op, named(column[0], named(other, "the result")), match, steps)
            open_leaf = open_leaf or (match.fit is Fit.OPEN and not one_type(flow, column[0], other))
    if open_leaf:
        return unknown(op.span, "the types that the branches give are not all known")
    return proved(op.span, "all branches give the same shapes and dtypes")


def _mismatch(op: Op, name: str, match: Match, steps: tuple[Step, ...]) -> Obligation:
    return Obligation(
        op.span,
        message=f"{name} is {match.first} in one branch and {match.second} in another",
        current="JAX refuses this: all branches must give the same types",
        expected=f"every branch gives {match.first}",
        steps=steps,
        suggestion="bring both results to one shape and dtype, with `reshape`, `broadcast_to` or `astype`",
    )
