"""The rule `numpy-on-traced`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Program, Value
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Verdict
from jaxaudit.rules.jit._shared.phrases import because, held, is_argument, steps_of, transform, undecided
from jaxaudit.rules.phrases import named

_HARMLESS = frozenset(
    """shape ndim size result_type dtype issubdtype can_cast iterable isscalar broadcast_shapes promote_types
    finfo iinfo iscomplexobj isrealobj errstate""".split()
)
"""NumPy functions that ask for nothing but shape and dtype."""

_DELEGATED = frozenset(
    """all amax amin any argmax argmin argsort around cumprod cumsum flip imag max mean min moveaxis permute_dims prod
    real repeat reshape round squeeze std sum swapaxes transpose var""".split()
)
"""NumPy functions that call the method of that name where an object has one, as traced arrays have."""

_NUMBERS = ("int", "float", "complex")
"""Conversions that fail for traced arrays and for containers of them alike."""

_ASKING = frozenset("int float complex item tolist tobytes".split())


class NumpyOnTraced(Rule):
    """NumPy, `math` or a conversion to a Python number gets a traced array.

    ## What it does

    Looks in traced code at calls of `numpy`, `scipy` and `math`, at `float(x)`, `int(x)`, `x.item()` and `x.tolist()`,
    and at traced indices of Python lists and tuples.

    ## Why is this bad?

    These run in Python and need values. A traced array has none yet: the call raises `TracerArrayConversionError` or
    `ConcretizationTypeError`.

    ## Example

    ```python
    @jax.jit
    def energy(x):
        return np.square(x).sum()
    ```

    ## Use instead

    ```python
    @jax.jit
    def energy(x):
        return jnp.square(x).sum()
    ```

    ## When it cannot tell

    An argument of unknown structure stays open. `np.shape`, `np.ndim` and their kin ask for no values, and `np.sum`,
    `np.max` and others only call the method of the same name, which traced arrays have.
    """

    name = "numpy-on-traced"
    family = "jit"
    summary = "NumPy or Python needs the values of an array that JAX traces."
    may_raise = True
    needs = (TracingFacts,)

    valid = (
        Example(
            """
import jax
import jax.numpy as jnp
import numpy as np

TABLE = np.arange(4.0)

@jax.jit
def energy(x):
    scale = np.sqrt(x.shape[-1]) * np.prod(x.shape) / np.ndim(x)
    return np.sum(x * TABLE.sum()) / scale

def main(x):
    return float(energy(x)), np.asarray(energy(x))
""",
            "NumPy on shapes and constants",
        ),
    )
    invalid = (
        Example(
            """
import jax
import numpy as np

@jax.jit
def energy(x):
    y = x * 2
    return np.exp(y)  #!
""",
            "NumPy",
        ),
        Example(
            """
import jax
import jax.numpy as jnp

@jax.jit
def scaled(x):
    return x / float(jnp.max(x))  #!
""",
            "a Python number",
        ),
        Example(
            """
import jax
import numpy as np

@jax.jit
def energy(x):
    return np.exp(x)  #!
""",
            "an argument as it is",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of NumPy and every conversion in traced code."""
        names = ("array.numpy", "py.to_python", "py.call_library")
        found = facts.get(TracingFacts)
        items = (one for visit in found.of("py.item") for one in _indexed(visit))
        yield from [*(one for visit in found.of(*names) for one in _judge(visit)), *items]


def _indexed(visit: Visit) -> Iterator[Obligation]:
    """Judge `values[i]` of a Python list or tuple: it needs the number itself."""
    index = visit.op.arguments.get("index")
    if visit.tracer is not None and visit.role("base").what in ("items", "list") and isinstance(index, Value):
        yield from _verdict(visit, index, visit.of(index), "the index of a Python list")


def _judge(visit: Visit) -> Iterator[Obligation]:
    function = visit.op.qualified
    if visit.tracer is None or not _asks(visit.op.name, function):
        return
    for value, fact in visit.facts.items():
        yield from _verdict(visit, value, fact, function)


def _asks(op: str, function: str) -> bool:
    last = function.rpartition(".")[2]
    if op == "array.numpy":
        return last not in _HARMLESS and not (last in _DELEGATED and function.count(".") == 1)
    return last in _ASKING if op == "py.to_python" else function.startswith(("math.", "cmath."))


def _verdict(visit: Visit, value: Value, fact: Trace, function: str) -> Iterator[Obligation]:
    rule, span, name = NumpyOnTraced.name, visit.op.span, named(value)
    if fact.kind in (Kind.STATIC, Kind.CONCRETE):
        yield held(rule, span, fact, name)
    elif not fact.traced_array and not (fact.kind is Kind.TRACED and _takes_no_container(value, fact, function)):
        yield undecided(rule, span, fact, name)
    elif not (fact.made and visit.op.name == "py.to_python"):
        yield Obligation(
            rule,
            span,
            Verdict.VIOLATED,
            message=f"{_subject(function)} needs the value of {name}, but {transform(fact.by)} traces it",
            current=f"{because(fact)}: {name} has no values yet, and Python cannot compute with it",
            raises=Raises.TRACING,
            expected="traced arrays are computed with `jax.numpy`",
            steps=steps_of(fact),
            suggestion=_suggestion(function),
        )


def _takes_no_container(value: Value, fact: Trace, function: str) -> bool:
    """Whether a function fails on a container of traced arrays as it does on one of them."""
    return function in _NUMBERS or (function.startswith("numpy.") and is_argument(value, fact))


def _shown(function: str) -> str:
    return function.replace("numpy.", "np.", 1) if function.startswith("numpy.") else function.rpartition(".")[2]


def _subject(function: str) -> str:
    return function if " " in function else f"`{_shown(function)}`"


def _suggestion(function: str) -> str:
    if function.startswith(("numpy.", "math.")):
        return f"use `jnp.{function.rpartition('.')[2]}`"
    if " " in function:
        return "stack the items and index the array, or use `jax.lax.switch`"
    return "keep it an array, or convert after the traced call"
