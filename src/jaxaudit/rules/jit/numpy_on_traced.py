"""The rule `numpy-on-traced`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import FIXED
from jaxaudit.ir.values import index_parts
from jaxaudit.libraries.methods import DELEGATING, SHAPE_ALONE
from jaxaudit.libraries.packages import NEEDING_VALUES, VALUES_ALONE, package
from jaxaudit.rules.base import Obligation, Raises, Rule, named
from jaxaudit.rules.jit._shared.differentiated import differentiated
from jaxaudit.rules.jit._shared.phrases import because, is_argument, steps_of, transform, without_tracer

_STORING = "storing in a NumPy array"
_OBJECTS = ("builtins.object", "numpy.object_", "object", "O")
"""The dtypes of arrays that may hold anything."""
_FROM_GRADIENTS = frozenset(("int", "array.item"))
"""What can be asked of values that a derivative alone traces, as they have numbers."""


class NumpyOnTraced(Rule):
    """NumPy, `math` or a conversion to a Python number gets a traced array.

    ## What it does
    Looks in traced code at calls of `numpy`, `scipy` and `math`, at `float(x)`, `int(x)`, `x.item()` and `x.tolist()`,
    at traced values that are stored in NumPy arrays, and at traced indices of Python lists and tuples and keys of
    dicts. Functions of other libraries that compute with NumPy (SciPy, scikit-learn, OpenCV) are taken like NumPy's.

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

    ## what a derivative leaves alone
    import math
    import numpy as np

    def energy(p, x):
        weight = np.exp(x) + math.exp(x.shape[0]) + float(jnp.floor(p["k"]))
        return weight * p["k"] * (np.asarray(p["k"] > 0) + np.asarray(jax.lax.stop_gradient(p["k"])))

    def main(x):
        return jax.grad(energy)({"k": jnp.array(1.0), "b": jnp.array(2.0)}, x)

    ## sizes and objects in NumPy arrays
    import numpy as np

    @jax.jit
    def halves(x):
        sizes = np.zeros(2, int)
        sizes[0] = x.shape[0] // 2
        sizes[1] = x.shape[0] - sizes[0]
        parts = np.empty(2, dtype=object)
        parts[0] = x[: sizes[0]] * 2
        return parts[0].sum() + sizes[1]
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

    ## an entry of a Python list, in a helper that a scan under `vmap` reaches
    RATES = [0.1, 0.5, 0.9]

    def rate(level):
        return RATES[level]  #!

    def run(level):
        def step(level, _):
            return level + 1, rate(level)

        return jax.lax.scan(step, level, None, length=3)

    def main():
        return jax.jit(jax.vmap(run))(jnp.arange(2))

    ## a key of a dict
    COSTS = {0: 1.0, 1: 2.5}

    @jax.jit
    def cost(x):
        return COSTS[jnp.argmax(x)]  #!

    ## an entry of a NumPy array
    import numpy as np

    @jax.jit
    def smoothed(x):
        out = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            out[i] = x[i] * 0.5  #!
        return out

    ## where a derivative is taken
    import math
    import numpy as np

    def energy(p, x):
        spring = p["k"] * jnp.sum(x**2)
        return spring + np.exp(p["b"]) + math.sqrt(spring)  #!

    def main(x):
        return jax.grad(energy)({"k": jnp.array(1.0), "b": jnp.array(2.0)}, x)

    ## another library that computes with NumPy
    from scipy import stats
    from sklearn.metrics import r2_score

    def fit(mu, x):
        return r2_score(x, mu * x)  #!

    @jax.jit
    def surprise(mu, x):
        return -jnp.sum(stats.norm.logpdf(x, mu)) + fit(mu, x)  #!

    ## one of several that a function gives, and what a solver gives
    import numpy as np

    @jax.jit
    def leading(a, b):
        _, places = jax.lax.top_k(b, 2)
        np.save("solution.npy", jnp.linalg.solve(a, b))  #!
        return places.tolist()  #!

    ## an argument as it is
    import numpy as np

    @jax.jit
    def energy(x):
        return np.exp(x)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of NumPy and every conversion in traced code."""
        found = facts.get(TracingFacts)
        for visit in found.of("array.numpy", "py.to_python", "py.call_library", "py.call_unknown"):
            if visit.tracer is not None and _asks(visit.op):
                called = visit.op.qualified or visit.op.callee
                yield from (one for value in visit.facts for one in _judge(visit, value, called, facts))
        for visit in found.of("py.set_item"):
            if visit.tracer is not None and _is_numpy(visit, facts.flow):
                stored = values_in(visit.op.arguments.get("value"))
                yield from (one for value in stored for one in _judge(visit, value, _STORING, facts))
        for visit in found.of("py.item"):
            holder = _holder(visit)
            for index in index_parts(visit.op.arguments.get("index")) if visit.tracer is not None and holder else ():
                parts = index.values() if isinstance(index, Mapping) else (index,)
                yield from (
                    one for part in parts if isinstance(part, Value) for one in _judge(visit, part, holder, facts)
                )


def _is_numpy(visit: Visit, flow: Flow) -> bool:
    """Whether something is stored in a NumPy array of numbers: one of objects may hold anything."""
    base = visit.op.arguments.get("base")
    if not isinstance(base, Value) or visit.of(base).what != "numpy" or visit.of(base).frozen is not False:
        return False
    made = origin(flow, base, {}).op
    dtype = None if made is None else made.argument("dtype", "extra1")
    return made is not None and made.function in FIXED and not isinstance(dtype, Value) and dtype not in _OBJECTS


def _holder(visit: Visit) -> str:
    """Return how to call an index that Python itself looks up, or nothing: it needs the number, or its hash."""
    kind = visit.op.kind or ("list" if visit.role("base").what in ("items", "list", "lists") else "")
    listed = f"the index of a Python {kind}" if kind in ("list", "tuple", "range") else ""
    return "the key of a dict" if kind == "dict" else listed


def _asks(op: Op) -> bool:
    """Whether an op needs the values of an array."""
    if op.name == "py.call_unknown":
        # A variable has no dots in its name, and may be called what a package is called.
        return "." in op.callee and package(op.callee) in NEEDING_VALUES
    if op.name == "array.numpy":
        return op.qualified not in SHAPE_ALONE | DELEGATING
    return op.qualified != "bool" if op.name == "py.to_python" else package(op.qualified) in VALUES_ALONE


def _judge(visit: Visit, value: Value, function: str, facts: Facts) -> Iterator[Obligation]:
    span, name, fact = visit.op.span, named(value), visit.of(value)
    if fact.kind is Kind.UNKNOWN and function not in _FROM_GRADIENTS:
        fact = differentiated(visit, value, facts.get(TracingFacts), facts.flow) or fact
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
    converts = function in ("int", "float", "complex", _STORING)
    return converts or (package(function) in NEEDING_VALUES and is_argument(value, fact))


def _subject(function: str) -> str:
    if " " in function:
        return function
    return f"`np.{function[6:]}`" if function.startswith("numpy.") else f"`{function.rpartition('.')[2]}`"


def _suggestion(function: str) -> str:
    if function.startswith(("numpy.", "math.")):
        return f"use `jnp.{function.rpartition('.')[2]}`"
    if function == _STORING:
        return "make the array with `jnp`, and put the value in with `.at[...].set(...)`"
    if " " in function:
        return "stack the items and index the array, or use `jax.lax.switch`"
    return "keep it an array, or convert after the traced call"
