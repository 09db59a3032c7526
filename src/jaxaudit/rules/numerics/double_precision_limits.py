"""The rule `double-precision-limits`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.python_values import PythonValues, python_values
from jaxaudit.analyses.queries import last
from jaxaudit.analyses.ranges.dtypes import PRECISE_UP_TO
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Verdict
from jaxaudit.rules.numerics._shared.double_precision import has_x64

_BECOMES = {"min": "-inf", "max": "inf", "tiny": "0", "smallest_normal": "0", "smallest_subnormal": "0"}
"""What the limits of double precision are in single precision."""


class DoublePrecisionLimits(Rule):
    """Limits of double precision are used with arrays of single precision.

    ## What it does
    Looks at `finfo(float)` and `finfo(np.float64)` whose `min`, `max`, `tiny` or `eps` meets arrays, in programs that
    do not switch `jax_enable_x64` on.

    ## Why is this bad?
    Python's `float` has 64 bits, JAX's arrays have 32. In single precision the least number of double precision is
    minus infinity, and the smallest one is zero: a mask filled with it turns whole rows of a softmax into NaN, and a
    guard against division by zero guards nothing.

    ## Example
        scores = jnp.where(mask, scores, jnp.finfo(float).min)

    ## Use instead
        scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)

    ## When it cannot tell
    Where the dtype of the array is not known, or for `eps`, which is small rather than zero, it is a warning.
    """

    summary = "`finfo(float)` gives the limits of 64-bit numbers, but the arrays have 32 bits."
    needs = (Shapes, TracingFacts)

    valid = """
    ## limits of the array's own dtype
    import numpy as np

    def masked(scores, mask):
        limit = jnp.finfo(scores.dtype).min
        return jnp.where(mask, scores, limit), np.finfo(float).eps * 2
    """
    invalid = """
    ## a mask that becomes infinite
    def masked(mask):
        scores = jnp.zeros((4, 4), jnp.float32)
        return jnp.where(mask, scores, jnp.finfo(float).min)  #!

    ## a guard that may be zero
    import numpy as np

    def normalised(x):
        return x / jnp.maximum(jnp.sum(x), np.finfo(np.float64).tiny)  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every use of a limit of double precision."""
        shapes = facts.get(Shapes)
        if not any(map(_asks_double, program.called(".finfo"))) or has_x64(facts):
            return
        values = python_values(facts)
        users = program.named("array.map", "array.select", "array.create")
        yield from (one for op in users for one in _judge(op, values, shapes))


def _asks_double(op: Op) -> bool:
    return str(op.arguments.get("dtype", "")).rpartition(".")[2] in ("float", "float64", "double")


def _judge(op: Op, values: PythonValues, shapes: Shapes) -> Iterator[Obligation]:
    for argument in op.arguments.values():
        limit = _limit(argument, values)
        if limit is None:
            continue
        others = [one for one in op.arguments.values() if isinstance(one, Value) and one is not argument]
        dtypes = {shapes.of(one).dtype for one in others} - {"bool", None}
        if dtypes & PRECISE_UP_TO.keys():
            yield _finding(op, limit, certain=limit.label in _BECOMES)
        elif any(values.is_jax_array(one) for one in others):
            yield _finding(op, limit, certain=False)


def _limit(argument: Argument, values: PythonValues) -> Op | None:
    """Return the attribute of `finfo(float)` behind an argument, through a sign or a factor."""
    op = last(values.maker(argument), lambda one: _scaled(one, values))
    if op is None or op.name != "py.attr" or not op.operands:
        return None
    asked = values.maker(op.operands[0])
    return op if asked is not None and _asks_double(asked) else None


def _scaled(op: Op | None, values: PythonValues) -> Op | None:
    """Return the op whose result an operator changes by a sign or a factor."""
    given = op.arguments.values() if op is not None and op.is_operator else ()
    inner = [made for one in given if (made := values.maker(one)) is not None]
    return inner[0] if len(inner) == 1 else None


def _finding(op: Op, limit: Op, *, certain: bool) -> Obligation:
    name = limit.label
    becomes = _BECOMES.get(name, "less than any difference between two numbers near 1")
    return Obligation(
        op.span,
        Verdict.VIOLATED if certain else Verdict.UNKNOWN,
        "" if certain else "whether the array has single precision, and what it holds, is not known",
        severity=Severity.ERROR if certain else Severity.WARNING,
        message=f"`{name}` of double precision meets arrays that have single precision",
        current=f"in single precision it is {becomes}",
        expected="the limit of the array's own dtype",
        steps=(Step(limit.span, f"`float` has 64 bits, so this is the `{name}` of double precision"),),
        suggestion=f"`jnp.finfo(x.dtype).{name}`",
    )
