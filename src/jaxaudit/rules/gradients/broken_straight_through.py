"""The rule `broken-straight-through`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.domain import Facts
from jaxaudit.analyses.flat import FlatValues
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Verdict
from jaxaudit.rules.merge import strongest

_PROGRAM = """import jax
import jax.numpy as jnp


def sample(logits):
    soft = jax.nn.softmax(logits)
    hard = jax.nn.one_hot(jnp.argmax(soft, axis=-1), 4)
    return {result}


jax.grad(lambda logits: sample(logits).sum())(jnp.ones(4))
"""


class BrokenStraightThrough(Rule):
    """A straight-through estimator stops the gradient of the wrong part.

    ## What it does

    Takes sums with `stop_gradient` apart. Where a value is added and its own `stop_gradient` is taken away, the two
    cancel in the forward pass and only the gradient of the value stays. If that value has no gradient (it comes from an
    `argmax`, a rounding, a comparison), nothing stays at all.

    ## Why is this bad?

    The forward pass gives the soft value instead of the hard choice, and nothing is raised: training goes on with a
    relaxation that was meant for the gradient alone.

    ## Example

    ```python
    soft + hard - jax.lax.stop_gradient(hard)
    ```

    ## Use instead

    ```python
    hard + soft - jax.lax.stop_gradient(soft)
    ```

    ## When it cannot tell

    When the value comes from code that was not followed: then it may have a gradient, and nothing is reported.
    """

    name = "broken-straight-through"
    family = "gradients"
    summary = "A straight-through estimator cancels the hard value instead of the soft one."
    needs = ()

    valid = (
        Example(_PROGRAM.format(result="hard + soft - jax.lax.stop_gradient(soft)"), "the hard value stays"),
        Example(_PROGRAM.format(result="soft + jax.lax.stop_gradient(hard - soft)"), "the other way to write it"),
    )
    invalid = (
        Example(_PROGRAM.format(result="soft + hard - jax.lax.stop_gradient(hard)  #!"), "the hard value cancels"),
        Example(_PROGRAM.format(result="(hard - jax.lax.stop_gradient(hard)) + soft  #!"), "in another order"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every value that a sum adds and takes away again under `stop_gradient`."""
        flat = FlatValues.of(program)
        sums = [op for op in program.walk() if _sums(op)]
        inner = {value for op in sums for value in op.operands}
        yield from strongest(one for op in sums if op.result not in inner for one in _judge(op, flat))


def _sums(op: Op) -> bool:
    return op.name == "array.map" and op.text("function").rpartition(".")[2] in ("add", "subtract", "sub")


def _judge(op: Op, flat: FlatValues) -> Iterator[Obligation]:
    terms = list(_terms(op, 1, flat))
    plain = {(value, sign) for value, sign in terms if not _stopped(value, flat)}
    for value, sign in terms:
        inner = _stopped(value, flat)
        if inner is not None and (inner, -sign) in plain:
            yield _verdict(op, inner, flat)


def _terms(op: Op, sign: int, flat: FlatValues) -> Iterator[tuple[Value, int]]:
    """Give the parts of a sum with their signs, through the sums it is made of."""
    second = sign if op.text("function").endswith("add") else -sign
    for part, factor in ((op.arguments.get("x"), sign), (op.arguments.get("y"), second)):
        if isinstance(part, Value):
            made = flat.made_by.get(part)
            if made is not None and _sums(made):
                yield from _terms(made, factor, flat)
            else:
                yield part, factor


def _stopped(value: Value, flat: FlatValues) -> Value | None:
    op = flat.made_by.get(value)
    inner = op.arguments.get("x") if op is not None and op.name == "grad.stop" else None
    return inner if isinstance(inner, Value) else None


def _verdict(op: Op, value: Value, flat: FlatValues) -> Obligation:
    name = f"`{value.name}`" if value.name else "a value"
    if not flat.is_flat(value):
        reason = f"{name} cancels in the forward pass and leaves its gradient"
        return Obligation(BrokenStraightThrough.name, op.span, Verdict.PROVED, reason)
    return Obligation(
        BrokenStraightThrough.name,
        op.span,
        Verdict.VIOLATED,
        message=f"{name} is added and taken away again, and has no gradient to leave behind",
        current=f"{name} and its `stop_gradient` cancel, so the sum is what is left without them",
        expected="the soft value cancels and leaves its gradient; the hard value stays",
        suggestion="`hard + soft - jax.lax.stop_gradient(soft)`",
    )
