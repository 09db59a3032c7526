"""The rule `carry-type-changes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, proved, unknown
from jaxaudit.rules.scan._shared.structures import CarriedLeaf, carried_leaves, other_structure, type_change


class CarryTypeChanges(Rule):
    """The carry of a loop leaves its body with another shape or dtype than it came in with.

    ## What it does
    Follows every leaf of the carry of `scan`, `while_loop` and `fori_loop` through the body and compares its shape and
    dtype on the way in and on the way out.

    ## Why is this bad?
    A compiled loop is one program for all turns, so JAX demands that the carry keeps its type. A leaf that broadcasts
    inside the body, or turns from integers to floats, raises `TypeError`, far from the line that caused it.

    ## Example
        def body(total, x):  # total: (), x: (3,)
            return total + x, None


        jax.lax.scan(body, jnp.zeros(()), jnp.ones((10, 3)))

    ## Use instead
        def body(total, x):
            return total + x.sum(), None

    ## When it cannot tell
    When the shape or dtype of the leaf is not known on one side.
    """

    summary = "A loop's carry leaves the body with another shape or dtype than it came in with."
    always_raises = True
    needs = (Shapes,)

    valid = """
    ## the carry keeps its shape
    def run(xs):
        return jax.lax.scan(lambda total, x: (total + x.sum(), None), jnp.zeros(()), jnp.ones((10, 3)))

    ## a Python number takes on the dtype of the body
    def run(x):
        return jax.lax.fori_loop(0, 10, lambda i, total: total + 0.5, 0)
    """
    invalid = """
    ## carry and output exchanged
    def f(xs):
        def body(carry, x):
            a, b = carry
            return a + x, (a, b)
        return jax.lax.scan(body, (0.0, 1.0), xs)  #!

    ## broadcast in the body
    def run():
        def body(total, x):
            return total + x, None

        return jax.lax.scan(body, jnp.zeros(()), jnp.ones((10, 3)))  #!

    ## no pair
    def run(x, rates):
        def body(x, rate):
            return rate * x * (1 - x)

        return jax.lax.scan(body, x, rates)  #!

    ## integers become floats
    def run(x):
        count = jnp.zeros((), dtype=jnp.int32)
        return jax.lax.fori_loop(0, 10, lambda i, count: count + 0.5, count)  #!

    ## a carry that grows
    def run(x):
        rows = x.shape[0]
        start = jnp.zeros((rows,))
        return jax.lax.while_loop(lambda s: s.sum() < 3, lambda s: jnp.concatenate([s, s]), start)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop that carries something."""
        for op, leaves in carried_leaves(facts):
            other = other_structure(op, facts.flow)
            yield from _judge(op, leaves) if other is None else (other,)


def _judge(op: Op, leaves: Sequence[CarriedLeaf]) -> Iterator[Obligation]:
    fits = [leaf.match.fit for leaf in leaves]
    changed = next((leaf for leaf in leaves if leaf.match.fit is Fit.CLASHES and leaf.is_renewed), None)
    if changed is not None:
        before, after = changed.match.first, changed.match.second
        yield type_change(
            changed,
            f"{changed.name} is carried in as {before} and out as {after}",
            f"{changed.name} leaves the body as {before}",
            f"make the body give {before} back, or start the loop with {after}",
        )
    elif Fit.CLASHES in fits:
        # `initial-carry-mismatch` speaks of it.
        return
    elif leaves and Fit.OPEN not in fits:
        yield proved(op.span, f"every part of the carry of this `{op.name}` keeps its shape and dtype")
    else:
        what = leaves[fits.index(Fit.OPEN)].name if leaves else "the carry"
        yield unknown(op.span, f"the type of {what} is not fully known")
