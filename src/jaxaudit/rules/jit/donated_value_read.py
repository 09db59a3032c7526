"""The rule `donated-value-read`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.queries import holders, left
from jaxaudit.ir import Exit, Op, Program, Value
from jaxaudit.ir.interfaces import given_as
from jaxaudit.ir.ops import NOTES, PYTHON_LOOPS
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


_HELD = ("py.item", "py.attr")


_HANDING_ON = PYTHON_LOOPS | {"py.join"}
"""Loops, and where one is left: they hand on what a name holds there, and may bind it anew before they read it."""


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
        Example(
            """
            def step(state, grad):
                return state - grad

            def train(state, grads):
                update = jax.jit(step, donate_argnums=0)
                total = 0.0
                for grad in grads:
                    total += update(state, grad).sum()  #!
                return total
            """,
            "every turn donates the same value",
        ),
        Example(
            """
            def step(params, grads):
                return params - grads

            def train(params, grads, flag):
                update = jax.jit(step, donate_argnums=0)
                new = update(params, grads)
                if flag:
                    return new + params  #!
                return new
            """,
            "read in a branch below",
        ),
        Example(
            """
            def advance(params, grads):
                return jax.jit(jnp.add, donate_argnums=0)(params, grads)

            def train(params, grads):
                new = advance(params, grads)
                return new + params  #!
            """,
            "the caller goes on with it",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every argument that is donated."""
        for op in program.named("jit"):
            yield from _judged(op, facts.flow)


def _judged(op: Op, flow: Flow) -> Iterator[Obligation]:
    donated = _donated(op)
    if donated is None:
        yield unknown(op.span, "which arguments are donated is not known")
    for value in donated or ():
        readers = list(_readers_below(op, value, flow))
        reader = next((one for one in readers if one.name not in _HANDING_ON), None)
        if reader is None and readers:
            yield unknown(op.span, f"whether {named(value, 'the donated argument')} is read as it was is not known")
        elif reader is None and _is_held_on(value, flow):
            yield unknown(op.span, f"what {named(value, 'the donated argument')} was taken from is used further")
        elif reader is None:
            yield proved(op.span, f"nothing reads {named(value, 'the donated argument')} below the call")
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


def _readers_below(call: Op, value: Value, flow: Flow, seen: frozenset[Op] = frozenset()) -> Iterator[Op]:
    """Return what reads the elements of a value after a call: below, in the next turn, or where the caller goes on."""
    places, region = flow.places, flow.places.region_of[call]
    for reader in flow.readers.get(value, ()):
        below = reader is not call and places.comes_before(call, reader) and places.both_happen(call, reader)
        if below and _reads(reader):
            yield reader
    if value in region.results:
        yield from (reader for one in left(flow, value) for reader in flow.readers.get(one, ()) if _reads(reader))
    if _is_repeated(call, value, places):
        yield call
    home = places.region_of_value(value)
    if home is None or value not in home.params:
        return
    for caller in holders(flow, home):
        if caller.name == "py.call" and caller not in seen:
            for given in given_as(caller, home, value):
                yield from _readers_below(caller, given, flow, seen | {caller})


def _is_repeated(call: Op, value: Value, places: Places) -> bool:
    """Whether a later turn of a loop of Python gives a call the very value that it was given before."""
    home = places.region_of_value(value)
    for region, holder in places.up(places.region_of[call]) if home is not None else ():
        if region is home or holder is None or places.exit_of(region) not in (Exit.FALL, Exit.CONTINUE):
            return False
        if holder.name in PYTHON_LOOPS:
            return not holder.left_at_once
    return False


def _is_held_on(value: Value, flow: Flow) -> bool:
    """Whether the object that a value was taken from is used further."""
    maker = flow.maker(value)
    if maker is None or maker.name not in _HELD or not maker.operands:
        return False
    base = maker.operands[0]
    used = (one for one in flow.readers.get(base, ()) if one.name not in _HELD and _reads(one))
    return base in flow.leaving or any(used) or _is_held_on(base, flow)


def _reads(op: Op) -> bool:
    return op.name not in NOTES and op.name != "array.shape"


def _finding(call: Op, value: Value, reader: Op) -> Obligation:
    name, again = named(value, "the argument"), reader is call
    donated = "in the turn before" if again else f"on line {call.span.line}"
    return Obligation(
        reader.span,
        message=f"{name} is read here, but its buffer was donated {donated}",
        current="where the device reuses the buffer, this raises `RuntimeError: Array has been deleted`",
        raises=Raises.LATER,
        expected="what is donated is not read again",
        steps=(Step(call.span, f"{name} is donated to this call"),),
        suggestion="read the new value, or do not donate the old one",
    )
