"""The rule `tangent-discarded`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Rule, proved


class TangentDiscarded(Rule):
    """Of a `jvp`, the value of the function is used, and the derivative is not.

    ## What it does
    Looks at what becomes of the two results of `jax.jvp`: the value of the function at the primals, and its derivative
    along the tangents.

    ## Why is this bad?
    Both have the same shape, so nothing is raised when the first is taken for the second: what is meant to be the
    product of a Hessian with a vector is the gradient, whatever the vector.

    ## Example
        product, _ = jax.jvp(jax.grad(loss), (x,), (v,))

    ## Use instead
        _, product = jax.jvp(jax.grad(loss), (x,), (v,))

    ## When it cannot tell
    When the primals are not given as a tuple.
    """

    summary = "Of `jvp` the value is used instead of the derivative."
    valid = """
    ## the derivative
    def product(loss, x, v):
        return jax.jvp(jax.grad(loss), (x,), (v,))[1]

    ## both
    def slope(f, x, v):
        y, dy = jax.jvp(f, (x,), (v,))
        return y + dy

    ## nothing of it
    def check(f, x, v):
        jax.jvp(f, (x,), (v,))
        return x

    ## handed on
    def pushed(f, x, v):
        return jax.jvp(f, (x,), (v,))
    """
    invalid = """
    ## the first for the second
    def product(loss, x, v):
        hv, _ = jax.jvp(jax.grad(loss), (x,), (v,))  #!
        return hv @ v

    ## by its place
    def along(f, params, direction):
        return jax.jvp(lambda p: f(p).sum(), (params,), (direction,))[0]  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `jvp` that gives a value and a derivative."""
        flow = facts.flow
        for op in program.named("jvp"):
            tangents = _tangents(op, flow)
            if not tangents or op.is_derived or op.library:
                continue
            if any(flow.is_read(one) for one in tangents) or not _is_used(op, flow):
                yield proved(op.span, "the derivative is what is used")
            else:
                yield _finding(op)


def _tangents(op: Op, flow: Flow) -> list[Value]:
    """Return the derivatives that stand beside the values of a function."""
    made = (one for value in op.results for one in flow.readers.get(value, ()) if _is_beside(one, op))
    return [value for one in made for value in one.results]


def _is_beside(one: Op, op: Op) -> bool:
    return one.name == "tree.leaf" and one.span == op.span


def _is_used(op: Op, flow: Flow) -> bool:
    """Whether anything reads the value of the function."""
    readers = (one for value in op.results for one in flow.readers.get(value, ()))
    return any(not _is_beside(one, op) for one in readers) or any(value in flow.leaving for value in op.results)


def _finding(op: Op) -> Obligation:
    return Obligation(
        op.span,
        message="of this `jvp` only the value of the function is used, and not its derivative",
        current="the result is what the function gives without any tangent",
        expected="the second result, the derivative along the tangents, is what a `jvp` is for",
        suggestion="take the second result: `_, tangent = jax.jvp(...)`",
    )
