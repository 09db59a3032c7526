"""The rule `signature-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.fits import CallFit
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Belief, Obligation, Raises, Rule, proved, unknown
from jaxaudit.spans import Span


class SignatureMismatch(Rule):
    """A function or class of the program is called with arguments that it does not take.

    ## What it does
    Compares every call with the parameters of what is called: how many there are, which have names, which must be
    given. It looks through `partial` and bound methods, and at the fields of dataclasses and named tuples. What
    JAX itself calls is the matter of `callback-arguments`.

    ## Why is this bad?
    The call raises a `TypeError` on the day that somebody gets there.

    ## Example
        def scale(x, factor):
            return x * factor


        def apply(xs, factor, offset):
            return scale(xs, factor, offset)

    ## Use instead
        def apply(xs, factor, offset):
            return scale(xs, factor) + offset

    ## When it cannot tell
    What `*` and `**` give, methods that a subclass has too, what may be one of several functions that do not all
    take the same, and classes whose constructor a library makes are left open. So is a function or class that several
    functions call, none of them with what it seems to take.
    """

    summary = "A call has arguments that the function or class does not take, or lacks some."
    valid = """
    ## defaults, names and the rest
    def f(x, y=1, *rest, z, **more):
        return x

    def g(x, items):
        return f(x, z=1) + f(x, 2, 3, 4, z=5, other=6) + f(*items)

    ## a record
    from typing import NamedTuple

    class State(NamedTuple):
        x: float
        t: int = 0

    def g(x):
        return State(x), State(x=x, t=1)

    ## through partial
    from functools import partial

    def f(scale, x):
        return scale * x

    def g(xs):
        return jax.vmap(partial(f, 2.0))(xs)
    """
    invalid = """
    ## one too many
    def f(x, y):
        return x + y

    def g(a):
        return f(a, a, a)  #!

    ## no such parameter
    def f(x, scale=1.0):
        return x * scale

    def g(a):
        return f(a, factor=2.0)  #!

    ## a copy with a field that there is not
    from typing import NamedTuple

    class State(NamedTuple):
        x: float
        t: int

    def g(a):
        return State(a, 0)._replace(x=a, time=1)  #!

    ## a field is left out
    from typing import NamedTuple

    class State(NamedTuple):
        x: float
        t: int

    def g(a):
        return State(x=a)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every call of a function or class of the program."""
        refused = {op.span: op for op in program.named("py.refused")}
        yield from (_finding(op) for op in refused.values())
        for span, call in program.compared.items():
            if span not in refused:
                yield _unrefused(span, call)
        if program.front_end != "source":
            for op in program.named("py.call"):
                yield proved(op.span, f"`{op.function}` was called with this when it was traced")


def _unrefused(span: Span, call: CallFit) -> Obligation:
    if call.open:
        return unknown(span, f"whether `{call.callee}` takes this is not known: {call.open}")
    fits = proved(span, f"what `{call.callee}` is given here fits its parameters")
    return replace(fits, belief=Belief(call.callee, call.definition, call.caller))


def _finding(op: Op) -> Obligation:
    if op.guarded:
        return unknown(op.span, f"`{op.callee}` {op.reason}, but may not be what is called")
    return Obligation(
        op.span,
        message=f"`{op.callee}` {op.reason}",
        current="this call raises a `TypeError`",
        expected=f"the arguments are those that `{op.callee}` takes",
        suggestion=f"call `{op.callee}` with the arguments that it takes, or change its parameters",
        raises=Raises.TRACING,
        belief=None if op.defined is None else Belief(op.callee, op.defined, op.caller),
    )
