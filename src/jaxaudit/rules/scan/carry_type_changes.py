"""The rule `carry-type-changes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Rule
from jaxaudit.rules.phrases import proved, unknown
from jaxaudit.rules.scan._shared.carries import Carried, carried, finding
from jaxaudit.rules.scan._shared.structures import other_structure


class CarryTypeChanges(Rule):
    """The carry of a loop leaves its body with another shape or dtype than it came in with.

    ## What it does

    Follows every leaf of the carry of `scan`, `while_loop` and `fori_loop` through the body and compares its shape and
    dtype on the way in and on the way out.

    ## Why is this bad?

    A compiled loop is one program for all turns, so JAX demands that the carry keeps its type. A leaf that broadcasts
    inside the body, or turns from integers to floats, raises `TypeError`, far from the line that caused it.

    ## Example

    ```python
    def body(total, x):  # total: (), x: (3,)
        return total + x, None


    jax.lax.scan(body, jnp.zeros(()), jnp.ones((10, 3)))
    ```

    ## Use instead

    ```python
    def body(total, x):
        return total + x.sum(), None
    ```

    ## When it cannot tell

    When the shape or dtype of the leaf is not known on one side.
    """

    name = "carry-type-changes"
    family = "scan"
    summary = "A loop's carry leaves the body with another shape or dtype than it came in with."
    may_raise = True
    always_raises = True
    needs = (Shapes,)

    valid = (
        Example(
            """
            import jax, jax.numpy as jnp

            def run(xs):
                return jax.lax.scan(lambda total, x: (total + x.sum(), None), jnp.zeros(()), jnp.ones((10, 3)))
            """,
            "the carry keeps its shape",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def run(x):
                return jax.lax.fori_loop(0, 10, lambda i, total: total + 0.5, 0)
            """,
            "a Python number takes on the dtype of the body",
        ),
    )
    invalid = (
        Example(
            "import jax\n\ndef f(xs):\n    def body(carry, x):\n        a, b = carry\n        return a + x, (a, b)\n"
            "    return jax.lax.scan(body, (0.0, 1.0), xs)  #!\n",
            "carry and output exchanged",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def run():
                def body(total, x):
                    return total + x, None

                return jax.lax.scan(body, jnp.zeros(()), jnp.ones((10, 3)))  #!
            """,
            "broadcast in the body",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def run(x):
                count = jnp.zeros((), dtype=jnp.int32)
                return jax.lax.fori_loop(0, 10, lambda i, count: count + 0.5, count)  #!
            """,
            "integers become floats",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def run(x):
                rows = x.shape[0]
                start = jnp.zeros((rows,))
                return jax.lax.while_loop(lambda s: s.sum() < 3, lambda s: jnp.concatenate([s, s]), start)  #!
            """,
            "a carry that grows",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop that carries something."""
        shapes = facts.get(Shapes)
        flow = facts.flow
        for op, leaves in carried(facts.flow, shapes):
            told = list(other_structure(self.name, op, flow))
            yield from told or _judge(op, leaves)


def _judge(op: Op, leaves: Sequence[Carried]) -> Iterator[Obligation]:
    changed = [leaf for leaf in leaves if leaf.match.fit is Fit.CLASHES and leaf.kept]
    if changed:
        yield _changed(changed[0])
    elif any(leaf.match.fit is Fit.CLASHES for leaf in leaves):
        return
    elif leaves and all(leaf.match.fit is Fit.FITS for leaf in leaves):
        reason = f"every part of the carry of this `{op.name}` keeps its shape and dtype"
        yield proved(CarryTypeChanges.name, op.span, reason)
    else:
        known = [leaf.name for leaf in leaves if leaf.match.fit is Fit.OPEN]
        what = known[0] if known else "the carry"
        yield unknown(CarryTypeChanges.name, op.span, f"the type of {what} is not fully known")


def _changed(leaf: Carried) -> Obligation:
    before, after = leaf.match.first, leaf.match.second
    return finding(
        CarryTypeChanges.name,
        leaf,
        f"{leaf.name} is carried in as {before} and out as {after}",
        f"{leaf.name} leaves the body as {before}",
        f"make the body give {before} back, or start the loop with {after}",
    )
