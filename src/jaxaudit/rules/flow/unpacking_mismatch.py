"""The rule `unpacking-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Raises, Rule, proved, unknown


class UnpackingMismatch(Rule):
    """A value is taken apart into more or fewer variables than it has parts.

    ## What it does
    Compares every unpacking of a tuple or record with the number of its parts, those that JAX gives included:
    `value_and_grad` gives a pair, with `has_aux=True` a pair whose first part is a pair. A function that is unpacked
    before it is called is found too.

    ## Why is this bad?
    It raises on the day that somebody gets there, after the model was compiled or the checkpoint loaded.

    ## Example
        loss, aux, grads = jax.value_and_grad(loss_fn, has_aux=True)(params)

    ## Use instead
        (loss, aux), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)

    ## When it cannot tell
    When the number of parts is not known, or the unpacking stands on one side of a condition that is not known, which
    may be about this very number.
    """

    summary = "A value is unpacked into more or fewer variables than it has parts."
    valid = """
    ## as many as there are
    def pair(x):
        return x, 2 * x

    def use(x):
        a, b = pair(x)
        first, *rest = pair(x)
        return a + b + first, rest

    ## has_aux
    def train(params, x):
        def loss_fn(p):
            return jnp.sum(p * x), x
        (loss, aux), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
        return loss, aux, grads

    ## a condition may be about it
    def use(f, x, wants):
        out = (x, x)
        if wants:
            a, b, c = out
            return a + b + c
        a, b = out
        return a + b
    """
    invalid = """
    ## one too many
    def pair(x):
        return x, 2 * x

    def use(x):
        a, b, c = pair(x)  #!
        return a + b + c

    ## has_aux
    def train(params, x):
        def loss_fn(p):
            return jnp.sum(p * x), x
        loss, aux, grads = jax.value_and_grad(loss_fn, has_aux=True)(params)  #!
        return loss, aux, grads

    ## not called
    def train(params, x):
        def loss_fn(p):
            return jnp.sum(p * x)
        loss, grads = jax.value_and_grad(loss_fn)  #!
        return loss, grads
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every unpacking of something whose parts are known."""
        unfit = {op.span: op for op in program.named("py.unfit")}
        yield from (_finding(op) for op in unfit.values())
        for span, count in program.unpacked.items():
            if span not in unfit:
                yield proved(span, f"there are {count} parts for the {count} variables")


def _finding(op: Op) -> Obligation:
    if op.guarded:
        return unknown(op.span, f"{op.reason}, but a condition may be about that")
    return Obligation(
        op.span,
        message=op.reason,
        current="this line raises an exception",
        expected="there are as many variables as the value has parts",
        suggestion="unpack it as it is made, with nested variables where a part has parts, or call the function first",
        raises=Raises.TRACING,
    )
