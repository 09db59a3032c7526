"""The rule `donated-value-read`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import NOTES
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, named, proved, unknown

_PROGRAM = """
def step(params, grads):
    return params - 0.1 * grads

def train(params, grads):
    update = jax.jit(step, donate_argnums=0)
    {call}
    return new, params{mark}
"""


class DonatedValueRead(Rule):
    """A buffer that was donated to a compiled function is read again.

    ## What it does
    Looks at calls of functions that are compiled with `donate_argnums`, and at what reads the donated arguments below.

    ## Why is this bad?
    A donated buffer belongs to the call, which writes its results there. Where the device can do that, reading the
    array again raises `RuntimeError: Array has been deleted`; where it cannot, the program works by luck.

    ## Example
        update = jax.jit(step, donate_argnums=0)
        new_state = update(state, batch)
        change = new_state - state

    ## Use instead
        update = jax.jit(step, donate_argnums=0)
        state = update(state, batch)

    ## When it cannot tell
    When the positions are no constants, or a donated argument is read elsewhere than below the call.
    """

    summary = "A donated argument is read after the call that it was donated to."
    may_raise = True

    valid = (
        Example(_PROGRAM.format(call="new = params = update(params, grads)", mark=""), "the new value is read"),
        Example(
            "def f(step, x):\n    y = jax.jit(step, donate_argnums=0)(x)\n    return y.reshape(x.shape)\n",
            "its shape is not in the buffer",
        ),
    )
    invalid = (Example(_PROGRAM.format(call="new = update(params, grads)", mark="  #!"), "the old value is read"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every argument that is donated."""
        for op in program.named("jit"):
            yield from _judged(op, facts.flow)


def _judged(op: Op, flow: Flow) -> Iterator[Obligation]:
    rule, donated = DonatedValueRead.name, _donated(op)
    if donated is None:
        yield unknown(rule, op.span, "which arguments are donated is not known")
    for value in donated or ():
        reader = next(_readers_below(op, value, flow), None)
        if reader is None:
            yield proved(rule, op.span, f"nothing reads {named(value, 'the donated argument')} below the call")
        else:
            yield _finding(op, value, reader)


def _donated(op: Op) -> list[Value] | None:
    """Return the operands that are donated; None where that is not known."""
    given, border = op.option("donate_argnums", ()), op.border
    numbers = given if isinstance(given, tuple) else (given,)
    if not numbers:
        return []
    if border is None or not all(isinstance(one, int) for one in numbers) or len(border.trees) != len(op.operands):
        return None
    return [op.operands[one] for one in numbers if -len(op.operands) <= one < len(op.operands)]


def _readers_below(call: Op, value: Value, flow: Flow) -> Iterator[Op]:
    """Return what reads the elements of a value behind a call, in the same run of ops."""
    ops = flow.places.region_of[call].ops
    below = set(ops[ops.index(call) + 1 :])
    for reader in flow.readers.get(value, ()):
        if reader in below and reader.name not in NOTES and reader.name != "array.shape":
            yield reader


def _finding(call: Op, value: Value, reader: Op) -> Obligation:
    name = named(value, "the argument")
    return Obligation(
        DonatedValueRead.name,
        reader.span,
        message=f"{name} is read here, but its buffer was donated on line {call.span.line}",
        current="where the device reuses the buffer, this raises `RuntimeError: Array has been deleted`",
        raises=Raises.LATER,
        expected="what is donated is not read again",
        steps=(Step(call.span, f"{name} is donated to this call"),),
        suggestion="read the new value, or do not donate the old one",
    )
