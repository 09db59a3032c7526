"""The rule `initial-carry-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Program
from jaxaudit.rules.base import Obligation, Rule
from jaxaudit.rules.scan._shared.structures import CarriedLeaf, carried_leaves, type_change


class InitialCarryMismatch(Rule):
    """A loop is started with a carry of another type than its body makes.

    ## What it does
    Looks at the leaves of a carry that the body makes anew, without reading the old value, and compares them with what
    the loop is started with.

    ## Why is this bad?
    What the body makes is right by its own account, so the initial value is what has to change: a scalar where the body
    gives a matrix, a state without the batch axis. JAX raises `TypeError` at the call of the loop.

    ## Example
        def body(state, x):
            return jnp.outer(x, x), None  # (3, 3)


        jax.lax.scan(body, jnp.zeros(3), xs)  # started with (3,)

    ## Use instead
        jax.lax.scan(body, jnp.zeros((3, 3)), xs)

    ## When it cannot tell
    When the shape or dtype of the leaf is not known on one side. A leaf that the body makes from its old value is the
    matter of `carry-type-changes`.
    """

    summary = "A loop starts with a carry of another shape or dtype than its body makes."
    always_raises = True
    needs = (Shapes,)

    valid = """
    ## the same type
    def run():
        return jax.lax.scan(lambda last, x: (x, last), jnp.zeros(3), jnp.ones((10, 3)))
    """
    invalid = """
    ## another size
    def run():
        return jax.lax.scan(lambda last, x: (x, last), jnp.zeros(4), jnp.ones((10, 3)))  #!

    ## a scalar where the body makes a matrix
    def run(matrix):
        def body(state):
            i, v, quotient = state
            w = jnp.ones((8, 8)) @ v
            return i + 1, w, v.T @ w

        init = (0, jnp.ones((8, 1)), jnp.array(0.0))
        return jax.lax.while_loop(lambda state: state[0] < 5, body, init)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop whose body makes part of its carry anew."""
        for _, leaves in carried_leaves(facts):
            clashing = (leaf for leaf in leaves if leaf.match.fit is Fit.CLASHES and not leaf.is_renewed)
            yield from map(_mismatch, islice(clashing, 1))


def _mismatch(leaf: CarriedLeaf) -> Obligation:
    before, after = leaf.match.first, leaf.match.second
    return type_change(
        leaf,
        f"{leaf.name} starts as {before} but the body makes {after}",
        f"the loop starts with {leaf.name} as {after}",
        f"start with {after}, or make the body give {before} back",
    )
