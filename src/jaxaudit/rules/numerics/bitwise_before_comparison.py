"""The rule `bitwise-before-comparison`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.python_values import PythonValues, python_values
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import LOGIC, NEGATIONS, ORDERINGS
from jaxaudit.ir.operators import SIGNS
from jaxaudit.rules.base import Obligation, Rule, Severity, Verdict, proved, unknown


class BitwiseBeforeComparison(Rule):
    """A comparison takes in what stands on the other side of `&` or `|`.

    ## What it does
    Looks at comparisons with an operand such as `0 | done`, written without brackets, and asks whether what `&`, `|`
    or `^` puts together are two masks, two integers, or one of each.

    ## Why is this bad?
    In Python `&`, `|` and `^` bind more tightly than comparisons: `x <= 0 | done` is `x <= (0 | done)`. Nothing is
    raised for arrays of integers and truth values; the mask is simply another one.

    ## Example
        finished = lives <= 0 | done

    ## Use instead
        finished = (lives <= 0) | done

    ## When it cannot tell
    A number and something unknown may be flags: that is a warning. Brackets around `(a | b)` say that it is meant.
    """

    summary = "`&` or `|` next to a comparison is computed first: `x <= 0 | done` is `x <= (0 | done)`."
    needs = (Shapes, TracingFacts)

    valid = """
    ## brackets, or flags
    def finished(lives, time, limit):
        return (lives <= 0) | (time >= limit)

    def flags(x):
        low = jnp.asarray(x, jnp.int32)
        return (low & 1) == 0, low == (4 | 8), low & 3 == 2
    """
    invalid = """
    ## a mask joins the bound
    def finished(lives, time):
        done = time >= 100
        return lives <= 0 | done  #!

    ## a chain of comparisons
    def inside(x, low, high):
        return x > low & x < high  #!

    ## a number and something unknown
    def finished(lives, other):
        return lives <= 1 | other  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every comparison with an operand that is put together bit by bit."""
        shapes, values = facts.get(Shapes), python_values(facts)
        yield from (_judge(op, values, shapes) for op in program.having(Op.tighter) if op.tighter)


def _judge(op: Op, values: PythonValues, shapes: Shapes) -> Obligation:
    kind = op.tighter
    if kind == "brackets":
        return proved(op.span, "brackets say what is computed first")
    made = [maker for one in op.arguments.values() if (maker := values.maker(one)) is not None]
    inner = next((one for one in made if one.is_operator and one.function in LOGIC - NEGATIONS), None)
    sign = "&" if inner is None else SIGNS[inner.function]
    if kind == "chain":
        return _finding(op, sign, Severity.ERROR)
    if inner is None:
        return proved(op.span, "what is compared is a constant")
    given = list(inner.arguments.values())
    sides = [_kind(one, values, shapes) for one in given]
    # Nobody asks which of two masks is the larger one.
    if sorted(sides) == ["mask", "number"] or ("mask" in sides and op.function in ORDERINGS):
        return _finding(op, sign, Severity.ERROR)
    if "" in sides and any(isinstance(one, int | float) for one in given):
        return _finding(op, sign, Severity.ERROR if given[0] == 0 else Severity.WARNING)
    if "" in sides:
        return unknown(op.span, f"what `{sign}` joins is not known")
    return proved(op.span, f"`{sign}` joins two operands of one kind")


def _kind(argument: Argument, values: PythonValues, shapes: Shapes) -> str:
    if values.is_truth(argument):
        return "mask"
    if values.is_number(argument):
        return "number"
    dtype = shapes.of(argument).dtype if isinstance(argument, Value) else None
    return "" if dtype is None else "mask" if dtype == "bool" else "number"


def _finding(op: Op, sign: str, severity: Severity) -> Obligation:
    unsure = severity is Severity.WARNING
    return Obligation(
        op.span,
        Verdict.UNKNOWN if unsure else Verdict.VIOLATED,
        "whether the operand of the comparison is meant as a whole is not known" if unsure else "",
        severity=severity,
        message=f"`{sign}` is computed before the comparison next to it",
        current=f"Python reads `a < b {sign} c` as `a < (b {sign} c)`: the comparison takes in both sides of `{sign}`",
        expected=f"two conditions joined by `{sign}`",
        suggestion="put brackets around each comparison",
    )
