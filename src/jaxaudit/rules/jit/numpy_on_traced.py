"""The rule `numpy-on-traced`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Op, Program, Value
from jaxaudit.libraries.methods import DELEGATING, SHAPE_ALONE
from jaxaudit.rules.base import Obligation, Raises, Rule, named
from jaxaudit.rules.jit._shared.phrases import because, is_argument, steps_of, transform, without_tracer


class NumpyOnTraced(Rule):
    """NumPy, `math` or a conversion to a Python number gets a traced array.

    ## What it does
    Looks in traced code at calls of `numpy`, `scipy` and `math`, at `float(x)`, `int(x)`, `x.item()` and `x.tolist()`,
    and at traced indices of Python lists and tuples.

    ## Why is this bad?
    These run in Python and need values. A traced array has none yet: the call raises `TracerArrayConversionError` or
    `ConcretizationTypeError`.

    ## Example
        @jax.jit
        def energy(x):
            return np.square(x).sum()

    ## Use instead
        @jax.jit
        def energy(x):
            return jnp.square(x).sum()

    ## When it cannot tell
    An argument of unknown structure stays open. `np.shape`, `np.ndim` and their kin ask for no values, and `np.sum`,
    `np.max` and others only call the method of the same name, which traced arrays have.
    """

    summary = "NumPy or Python needs the values of an array that JAX traces."
    needs = (TracingFacts,)

    valid = """
    ## NumPy on shapes and constants
    import numpy as np

    TABLE = np.arange(4.0)

    @jax.jit
    def energy(x):
        scale = np.sqrt(x.shape[-1]) * np.prod(x.shape) / np.ndim(x)
        return np.sum(x * TABLE.sum()) / scale

    def main(x):
        return float(energy(x)), np.asarray(energy(x))
    """
    invalid = """
    ## NumPy
    import numpy as np

    @jax.jit
    def energy(x):
        y = x * 2
        return np.exp(y)  #!

    ## a Python number
    @jax.jit
    def scaled(x):
        return x / float(jnp.max(x))  #!

    ## an argument as it is
    import numpy as np

    @jax.jit
    def energy(x):
        return np.exp(x)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of NumPy and every conversion in traced code."""
        found = facts.get(TracingFacts)
        for visit in found.of("array.numpy", "py.to_python", "py.call_library"):
            if visit.tracer is not None and _asks(visit.op):
                yield from (one for value in visit.facts for one in _judge(visit, value, visit.op.qualified))
        for visit in found.of("py.item"):
            index = visit.op.arguments.get("index")
            # `values[i]` of a Python list or tuple needs the number itself.
            if visit.tracer is not None and visit.role("base").what in ("items", "list") and isinstance(index, Value):
                yield from _judge(visit, index, "the index of a Python list")


def _asks(op: Op) -> bool:
    """Whether an op needs the values of an array."""
    if op.name == "array.numpy":
        return op.qualified not in SHAPE_ALONE | DELEGATING
    return op.qualified != "bool" if op.name == "py.to_python" else op.qualified.startswith(("math.", "cmath."))


def _judge(visit: Visit, value: Value, function: str) -> Iterator[Obligation]:
    span, name, fact = visit.op.span, named(value), visit.of(value)
    known = without_tracer(span, fact, name)
    if known is not None and not (fact.kind is Kind.TRACED and _takes_no_container(value, fact, function)):
        yield known
    elif not (fact.made and visit.op.name == "py.to_python"):
        yield Obligation(
            span,
            message=f"{_subject(function)} needs the value of {name}, but {transform(fact.by)} traces it",
            current=f"{because(fact)}: {name} has no values yet, and Python cannot compute with it",
            raises=Raises.TRACING,
            expected="traced arrays are computed with `jax.numpy`",
            steps=steps_of(fact),
            suggestion=_suggestion(function),
        )


def _takes_no_container(value: Value, fact: Trace, function: str) -> bool:
    """Whether a function fails on a container of traced arrays as it does on one of them."""
    converts = function in ("int", "float", "complex")
    return converts or (function.startswith("numpy.") and is_argument(value, fact))


def _subject(function: str) -> str:
    if " " in function:
        return function
    return f"`np.{function[6:]}`" if function.startswith("numpy.") else f"`{function.rpartition('.')[2]}`"


def _suggestion(function: str) -> str:
    if function.startswith(("numpy.", "math.")):
        return f"use `jnp.{function.rpartition('.')[2]}`"
    if " " in function:
        return "stack the items and index the array, or use `jax.lax.switch`"
    return "keep it an array, or convert after the traced call"
