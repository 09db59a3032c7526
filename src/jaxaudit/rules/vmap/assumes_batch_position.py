"""The rule `assumes-batch-position`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.domain import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Rule, Step, Verdict
from jaxaudit.rules.vmap.scalars import Scalar, pointless, reductions

_PROGRAM = """import jax
import jax.numpy as jnp

WEIGHTS = jnp.ones((9, 6))


def predict(x):
    scores = (x @ WEIGHTS){index}
    return jnp.argmax(scores)


jax.vmap(predict)(jnp.ones((200, 9)))
"""


class AssumesBatchPosition(Rule):
    """A mapped function takes a batch axis off that `vmap` has taken already.

    ## What it does

    Finds `x[0]` and its kin under `vmap` where the index takes the last axis away, and what is left, one number, is
    then searched for its largest entry or asked for its spread.

    ## Why is this bad?

    A function that was written for a batch of one strips the batch axis with `[0]`. Under `vmap` there is none: it
    keeps the first score alone, and the `argmax` of one number is class 0, for every input.

    ## Example

    ```python
    jax.vmap(lambda x: jnp.argmax(model(x)[0]))(xs)
    ```

    ## Use instead

    ```python
    jax.vmap(lambda x: jnp.argmax(model(x)))(xs)
    ```

    ## When it cannot tell

    When the rank of the indexed array is not known. An index whose result is used as a number is taken as meant.
    """

    name = "assumes-batch-position"
    family = "vmap"
    summary = "Under `vmap`, `[0]` takes away an axis that is not the batch."
    needs = ("shapes",)

    valid = (
        Example(_PROGRAM.format(index=""), "no batch axis to take off"),
        Example(
            "import jax\nimport jax.numpy as jnp\n\ny = jax.vmap(lambda x: x[0] * 2)(jnp.ones((200, 9)))\n",
            "used as a number",
        ),
    )
    invalid = (Example(_PROGRAM.format(index="[0]  #!"), "only the first score is left"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every search under `vmap`."""
        shapes = facts.of("shapes")
        assert isinstance(shapes, Shapes)
        bad = [one for one in pointless(program, shapes) if one.index is not None]
        found = [_finding(one, one.index) for one in bad if one.index is not None]
        guilty = {one.op for one in bad}
        fine = [op for op, _ in reductions(program) if op.name == "array.order" and op not in guilty]
        reason = "what is searched under `vmap` has not been cut down to one number by an index"
        yield from [*found, *(Obligation(self.name, op.span, Verdict.PROVED, reason) for op in fine)]


def _finding(scalar: Scalar, index: Op) -> Obligation:
    name = f"`{scalar.value.name}`" if scalar.value.name else "the result"
    at = index.arguments.get("index")
    return Obligation(
        AssumesBatchPosition.name,
        index.span,
        Verdict.VIOLATED,
        message=f"`[{at}]` leaves one number under `vmap`: {scalar.outcome}",
        current="`vmap` has taken the batch axis already, so the index takes an axis of the data",
        expected=f"{name} keeps its axis; under `vmap` there is no batch axis to take off",
        steps=(Step(scalar.op.span, scalar.outcome),),
        suggestion=f"drop `[{at}]`, or call the function on whole batches without `vmap`",
    )
