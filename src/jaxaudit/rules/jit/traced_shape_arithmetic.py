"""The rule `traced-shape-arithmetic`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import Kind, TracingFacts, Visit
from jaxaudit.ir import Program
from jaxaudit.rules.base import Obligation, Raises, Rule, named, proved, unknown
from jaxaudit.rules.jit._shared.phrases import steps_of, transform


class TracedShapeArithmetic(Rule):
    """A number that Python knows is computed with `jnp`, then needed as a Python number.

    ## What it does
    Looks in traced code at `int(...)`, `float(...)` and `.item()` of arrays that were made from shapes and constants.

    ## Why is this bad?
    Under `jit` every JAX operation is staged, even on constants: `jnp.ceil(3.5)` is a tracer there, and `int` of it
    raises, although the number was known all along.

    ## Example
        @jax.jit
        def chunks(x):
            n = int(jnp.ceil(x.shape[0] / 16))
            return jnp.array_split(x, n)

    ## Use instead
        @jax.jit
        def chunks(x):
            n = math.ceil(x.shape[0] / 16)
            return jnp.array_split(x, n)

    ## When it cannot tell
    Values that traced arguments went into are left to `numpy-on-traced`.
    """

    summary = "Shape arithmetic is done with `jnp` under `jit`, where its results are traced."
    needs = (TracingFacts,)

    valid = """
    ## math and NumPy work on Python numbers
    import math
    import numpy as np

    @jax.jit
    def pad(x):
        n = int(math.ceil(x.shape[0] / 16)) + int(np.prod(x.shape))
        return jnp.pad(x, (0, n))

    def outside(x):
        return int(jnp.ceil(x.shape[0] / 16))
    """
    invalid = """
    ## a constant that jnp made a tracer of
    def count(x):
        return int(jnp.ceil(x.shape[0] / 16))  #!

    @jax.jit
    def pad(x):
        return jnp.pad(x, (0, count(x)))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that traced code turns into a Python number."""
        yield from (one for visit in facts.get(TracingFacts).of("py.to_python") for one in _judge(visit))


def _judge(visit: Visit) -> Iterator[Obligation]:
    op, asked, fact = visit.op, visit.op.arguments.get("a"), visit.role("a")
    if visit.tracer is None:
        return
    if not (fact.traced_array and fact.made):
        if fact.kind is Kind.STATIC:
            yield proved(op.span, f"{named(asked, 'what is asked for')} is a value of Python already")
        elif fact.kind is Kind.UNKNOWN:
            yield unknown(op.span, f"whether {named(asked, 'what is asked for')} is traced is not known")
        return
    yield Obligation(
        op.span,
        message=f"`{op.function}` needs {named(asked, 'a number')} now, but `jnp` under {transform(fact.by)} traces it",
        current="only shapes and constants went into it, yet JAX stages the computation, so it has no value here",
        raises=Raises.TRACING,
        expected="shape arithmetic gives Python numbers",
        steps=steps_of(fact),
        suggestion="use `math` or `numpy` for shape arithmetic",
    )
