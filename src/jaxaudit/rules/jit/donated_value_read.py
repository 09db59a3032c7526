"""The rule `donated-value-read`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import left
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import NOTES
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, named, proved, unknown
from jaxaudit.rules.trees import nodes

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
    invalid = (
        Example(_PROGRAM.format(call="new = update(params, grads)", mark="  #!"), "the old value is read"),
        Example(
            """
            def reset(states, key):
                return states[1] + key

            def train(training, env, keys):
                restart = jax.jit(reset, donate_argnums=0)
                for key in keys:
                    training = training * 2  #!
                    env = restart((training, env), key)
                return training, env
            """,
            "a part of the tree that is donated is read in the next turn",
        ),
    )

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
    """Return the values that are donated, of trees those in it; None where that is not known."""
    given, border = op.option("donate_argnums", ()), op.border
    numbers = given if isinstance(given, tuple) else (given,)
    if not numbers:
        return []
    if border is None or border.open_ended or not all(isinstance(one, int) for one in numbers):
        return None
    places = [one for one in numbers if isinstance(one, int) and -len(border.trees) <= one < len(border.trees)]
    parts = [node for one in places for node in nodes(border.trees[one])]
    if any(node.kind == "outside" for node in parts):
        return None
    return [node.value for node in parts if node.value is not None]


def _readers_below(call: Op, value: Value, flow: Flow) -> Iterator[Op]:
    """Return what reads the elements of a value behind a call: in the same run of ops, or in the next turn."""
    region = flow.places.region_of[call]
    below = set(region.ops[region.ops.index(call) + 1 :])
    for reader in flow.readers.get(value, ()):
        if reader in below and _reads(reader):
            yield reader
    if value in region.results:
        yield from (reader for one in left(flow, value) for reader in flow.readers.get(one, ()) if _reads(reader))


def _reads(op: Op) -> bool:
    return op.name not in NOTES and op.name != "array.shape"


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
