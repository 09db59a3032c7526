"""The rule `arithmetic-on-booleans`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import is_slice
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import ABOVE
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Raises, Rule, Severity, Step, proved


class ArithmeticOnBooleans(Rule):
    """Booleans are subtracted, or added as if they were counted.

    ## What it does
    Looks at sums and differences of two arrays of booleans. A difference raises. A sum is `or`: where it is compared
    with a number that only several could add up to, the comparison never holds.

    ## Why is this bad?
    JAX and NumPy keep booleans apart from numbers: `True + True` of arrays is `True`, not 2.

    ## Example
        agreed = ((a > 0) + (b > 0) + (c > 0)) >= 2
        changed = jnp.abs(mask[1:] - mask[:-1])

    ## Use instead
        agreed = (a > 0).astype(int) + (b > 0) + (c > 0) >= 2
        changed = mask[1:] != mask[:-1]

    ## When it cannot tell
    When a dtype is not known. A sum that is used as a mask is taken for `or`.
    """

    summary = "Arrays of booleans are subtracted, which raises, or added as if they were counted."
    needs = (Shapes,)

    valid = """
    ## numbers, `or`, and booleans of Python
    def f(n):
        a, b, c = jnp.ones(3), jnp.zeros(3), jnp.ones(3)
        votes = (a > 0).astype(int) + (b > 0) + (c > 0) >= 2
        either = jnp.where((a > 0) + (b > 0), 1.0, 0.0)
        return votes, either, 1 - (a > 0), (n > 1) - (n < 1), jnp.sum(a > 0) >= 2, ((a > 0) + (b > 0)) >= 1
    """
    invalid = """
    ## a difference
    def changed(x):
        mask = jnp.ones((5, 3)) > x
        return jnp.abs(mask[1:] - mask[:-1]).sum()  #!

    ## counted
    def agreed():
        a, b, c = jnp.ones(3), jnp.zeros(3), jnp.ones(3)
        return ((a > 0) + (b > 0) + (c > 0)) >= 2  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sum and difference of two arrays of booleans."""
        for op in program.mapping("add", "subtract"):
            given = list(op.arguments.values())
            if len(given) != 2 or not all(_is_boolean(one, facts) for one in given):
                continue
            if op.function == "subtract":
                yield _refused(op)
            else:
                asked = next((one for one in facts.flow.readers.get(op.result, ()) if _counts(one, op.result)), None)
                yield proved(op.span, "no number is made of it") if asked is None else _never(op, asked)


def _is_boolean(argument: Argument, facts: Facts) -> bool:
    """Whether an argument is an array of booleans, with axes: those of Python are numbers."""
    if not isinstance(argument, Value):
        return False
    fact, op = facts.get(Shapes).of(argument), facts.flow.maker(argument)
    cut = op is not None and op.name == "py.item" and any(map(is_slice, index_parts(op.arguments.get("index"))))
    return fact.dtype == "bool" and (bool(fact.dims) or (fact.dims is None and cut))


def _counts(reader: Op, value: Value) -> bool:
    """Whether an op asks for more than one of what is `or`."""
    bound = reader.arguments.get("y")
    asks = reader.function in ABOVE | {"equal"} and reader.arguments.get("x") is value
    return asks and isinstance(bound, int) and bound > (0 if reader.function == "greater" else 1)


def _refused(op: Op) -> Obligation:
    return Obligation(
        op.span,
        message="booleans are subtracted, which raises",
        current="JAX and NumPy refuse to subtract arrays of booleans",
        raises=Raises.TRACING,
        expected="where both differ (`!=`), or a difference of numbers",
        suggestion="compare with `!=`, or convert one of them: `.astype(int)`",
    )


def _never(op: Op, asked: Op) -> Obligation:
    return Obligation(
        asked.span,
        severity=Severity.ERROR,
        message="a sum of booleans is `or`, so this comparison never holds",
        current="`True + True` of arrays is `True`, which counts as 1",
        expected="how many of them hold is compared",
        steps=(Step(op.span, "booleans are added here"),),
        suggestion="convert the first of them: `.astype(int)`",
    )
