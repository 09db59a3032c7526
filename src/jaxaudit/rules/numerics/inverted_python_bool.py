"""The rule `inverted-python-bool`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.python_values import PythonValues, python_values
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, proved, unknown


class InvertedPythonBool(Rule):
    """`~` is applied to one of Python's own truth values.

    ## What it does
    Looks at every `~x` where `x` is an array of truth values or a Python `bool`: a constant, `not a`, `a is None`,
    `bool(a)`, or a comparison of sizes.

    ## Why is this bad?
    `~` inverts the bits of an integer, and `True` and `False` are integers: `~True` is -2 and `~False` is -1, both of
    which count as true. Arrays of truth values are inverted as expected, so the mistake hides.

    ## Example
        causal = mask is None
        scores = jnp.where(~causal, scores, -1e9)

    ## Use instead
        causal = mask is None
        scores = jnp.where(not causal, scores, -1e9)

    ## When it cannot tell
    Parameters and unknown values are not judged: they may be arrays.
    """

    summary = "`~` on a Python bool gives -1 or -2, which are both true."
    needs = (TracingFacts,)

    valid = """
    ## masks that are arrays
    def mask(x, flag):
        return ~(x > 0) & ~jnp.isnan(x) & ~flag
    """
    invalid = """
    ## the answer of `is`
    def scores(x, mask):
        causal = mask is None
        return jnp.where(~causal, x, 0.0)  #!

    ## a comparison of sizes
    def pad(x):
        short = x.shape[0] < 128
        if ~short:  #!
            return x
        return x[:128]
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every inversion of something that is known to be true or false."""
        values, flow = python_values(facts), facts.flow
        inversions = [op for op in program.mapping("invert") if op.is_operator]
        yield from (_judge(op, values, flow) for op in inversions)


def _only_masks(op: Op, flow: Flow) -> bool:
    """Whether the result only goes into `&` with truth values: -1 keeps all bits, and -2 clears the last one."""
    readers = flow.readers.get(op.result, ())
    return bool(readers) and all(one.function == "bitwise_and" for one in readers)


def _judge(op: Op, values: PythonValues, flow: Flow) -> Obligation:
    operand = op.arguments.get("x")
    if _only_masks(op, flow):
        return proved(op.span, "it only goes into `&`, where the last bit alone counts")
    if values.is_bool(operand):
        return Obligation(
            op.span,
            message="`~` inverts a Python bool, which gives -1 or -2: both count as true",
            current="`~True` is -2 and `~False` is -1",
            expected="the opposite truth value",
            suggestion="use `not`",
        )
    if values.is_truth(operand):
        return proved(op.span, "what is inverted is an array of truth values")
    return unknown(op.span, "whether what is inverted is a bool of Python is not known")
