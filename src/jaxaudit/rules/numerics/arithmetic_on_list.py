"""The rule `arithmetic-on-list`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Argument, Op, Program
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Verdict
from jaxaudit.rules.numerics._shared.makers import Makers
from jaxaudit.rules.phrases import proved

_NEVER = frozenset("subtract divide power floor_divide remainder matmul".split())
"""Operators that no list or tuple has."""
_SHOWN = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "floor_divide": "//",
    "remainder": "%",
    "matmul": "@",
}


class ArithmeticOnList(Rule):
    """Arithmetic that an array was meant for is done on a Python list or tuple.

    ## What it does

    Looks at operators with a list or tuple on one side, and a number or an array of JAX on the other; and at lists of
    different numbers that are repeated and then made an array.

    ## Why is this bad?

    `[0.1, 0.2] * 2` is `[0.1, 0.2, 0.1, 0.2]`. All other arithmetic with a list raises `TypeError`, also with arrays:
    unlike NumPy, JAX does not take a list for an array.

    ## Example

    ```python
    weights = [0.1, 0.9]
    scaled = jnp.array(weights * 2)
    loss = weights * losses
    ```

    ## Use instead

    ```python
    weights = jnp.array([0.1, 0.9])
    scaled = weights * 2
    loss = weights * losses
    ```

    ## When it cannot tell

    Repeating a list is often meant, so that is a warning, and only for several different numbers. A parameter that is
    sometimes a list and sometimes a number is not judged.
    """

    name = "arithmetic-on-list"
    family = "numerics"
    summary = "A list or tuple is used in arithmetic: it is repeated or raises, where an array would be computed with."
    may_raise = True

    valid = (
        Example(
            """
            import jax.numpy as jnp
            import numpy as np

            def f(x, n):
                shape = (n, *x.shape) + (1, 2)
                return jnp.zeros([4] * 3), [0.0, 0.0] * 4, np.ones(2) * [1.0, 2.0], shape
            """,
            "shapes, repetition, NumPy",
        ),
    )
    invalid = (
        Example(
            """
            import jax.numpy as jnp

            def loss(x):
                weights = [0.1, 0.9]
                return weights * jnp.abs(x)  #!
            """,
            "a list with an array",
        ),
        Example(
            """
            def scaled():
                weights = [0.1, 0.9]
                return weights / 2  #!
            """,
            "a list with a number",
        ),
        Example(
            """
            import jax.numpy as jnp

            def scaled():
                weights = [0.1, 0.9]
                return jnp.array(weights * 2)  #?
            """,
            "a list that is repeated",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every operator with a list or tuple on one side."""
        noted = [*program.named("py.repeat"), *filter(_has_sequence, program.having(Op.operator))]
        if noted:
            makers = Makers(program)
            yield from (one for op in noted for one in _judge(op, makers))


def _has_sequence(op: Op) -> bool:
    is_operator = op.name in ("array.map", "array.dot") and op.is_operator
    return is_operator and any(isinstance(one, tuple) for one in op.arguments.values())


def _judge(op: Op, makers: Makers) -> Iterator[Obligation]:
    rule = ArithmeticOnList.name
    if op.name == "py.repeat":
        yield _repeated(op)
        return
    x, y = op.arguments.get("x"), op.arguments.get("y")
    other = y if isinstance(x, tuple) else x
    function = op.qualified
    if isinstance(other, tuple) or function not in _SHOWN:
        return
    if makers.is_jax_array(other):
        yield _raises(op, "an array of JAX", "make an array of the list: `jnp.array(values)`")
    elif op.own and _never(function, other, makers):
        yield _raises(op, "a number", "make an array of the list: `jnp.array(values)`")
    else:
        yield proved(rule, op.span, "lists are joined or repeated here")


def _never(function: str, other: Argument, makers: Makers) -> bool:
    if function == "multiply":
        return isinstance(other, float)
    number = isinstance(other, int | float) or makers.is_python_number(other)
    return number and (function in _NEVER or function == "add")


def _raises(op: Op, other: str, suggestion: str) -> Obligation:
    sign = _SHOWN[op.qualified]
    return Obligation(
        ArithmeticOnList.name,
        op.span,
        Verdict.VIOLATED,
        message=f"`{sign}` between a Python list or tuple and {other} raises `TypeError`",
        current="Python's lists and tuples have no arithmetic, and JAX does not take them for arrays",
        raises=Raises.TRACING,
        expected="the arithmetic of arrays",
        suggestion=suggestion,
    )


def _repeated(op: Op) -> Obligation:
    values = op.values
    several = isinstance(values, tuple) and len(set(values)) > 1 and any(isinstance(one, float) for one in values)
    if not several:
        return proved(ArithmeticOnList.name, op.span, "what is repeated is one value, or no numbers")
    return Obligation(
        ArithmeticOnList.name,
        op.span,
        Verdict.UNKNOWN,
        "whether the list is meant to be repeated or multiplied is not known",
        severity=Severity.WARNING,
        message="`*` repeats this list of numbers, it does not multiply them",
        current="the list gets longer",
        expected="a longer list, or an array that is multiplied",
        suggestion="make an array of the list first, if its numbers are to be multiplied",
    )
