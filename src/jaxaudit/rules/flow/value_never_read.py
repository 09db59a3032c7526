"""The rule `value-never-read`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.uses import Uses
from jaxaudit.analyses.versions import Versions
from jaxaudit.ir import Op, Program
from jaxaudit.ir.ops import ARRAYS
from jaxaudit.ir.reads import Dead, ScopeReads
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Subject, proved, unknown
from jaxaudit.rules.flow._shared.unused_results import unread_variables
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.successions import lost_successors
from jaxaudit.spans import Span


class ValueNeverRead(Rule):
    """An array is computed and given a name, and no path reads it.

    ## What it does
    Follows every value that a function gives to a name, along all branches and turns, to the places that read it.
    Finds arrays that nothing reads, values that continue a variable (`h = act(h)`) and are replaced before anyone
    looks, and variables that several branches set and none reads.

    ## Why is this bad?
    Whoever computed it meant to use it. Most often the value before it is read instead, or the line below starts again
    from the wrong variable.

    ## Example
        h = nn.Dense(64)(x)
        h = nn.relu(h)
        h = nn.Dense(64)(x)

    ## Use instead
        h = nn.Dense(64)(x)
        h = nn.relu(h)
        h = nn.Dense(64)(h)

    ## When it cannot tell
    That nothing reads it is sure; whether it was wanted is not, so this is a warning. First values that are replaced,
    constants, and what is kept for its effect alone are left out, and so are names that say so.
    """

    needs = (Uses, Versions)
    summary = "A computed value is given a name that nothing reads."
    valid = """
    ## read by the next turn
    def f(xs):
        last = jnp.zeros(3)
        for x in xs:
            y = x + last
            last = jnp.tanh(y)
        return y

    ## read by a function inside
    def f(x):
        y = jnp.sin(x)

        def inner():
            return y

        return inner

    ## a first value
    def f(x, flag):
        y = jnp.zeros(3)
        y = x if flag else -x
        return y
    """
    invalid = """
    ## never read
    def f(x, weights):
        total = jnp.sum(x * weights)  #?
        return x / jnp.sum(weights)

    ## started again from the wrong variable
    def f(x, w, v):
        h = x @ w
        h = jnp.tanh(h)  #?
        h = x @ v
        return h
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function that reads all it binds, and every value of the others that is lost."""
        if not program.reads:
            return
        computed = (op for op in program.named(*(ARRAYS - _FIRST)) if _gives_array(op, facts.flow))
        arrays = {op.span for op in computed}
        told = {one.note.span for one in unread_variables(program, facts.flow)}
        told |= {note.span for note in lost_successors(facts)}
        for scope in program.reads:
            # A part that is called unwanted where results are taken apart is as good as read.
            dead = [one for one in scope.dead if one.made is not None or not is_unwanted(one.name)]
            lost = [one for one in dead if _matters(one, scope, arrays) and one.span not in told]
            if dead and not lost and not any(one.span in told for one in dead):
                reason = f"whether `{dead[0].name}`, which nothing reads, is wanted is not known"
                yield unknown(self.name, dead[0].span, reason)
            elif not dead and scope.unsure:
                reason = f"which value of `{scope.unsure}` the functions inside `{scope.label}` read is not known"
                yield unknown(self.name, scope.span, reason)
            elif not dead and scope.bound:
                proof = f"each of the {scope.bound} values bound in `{scope.label}` is read"
                yield proved(self.name, scope.span, proof)
            yield from (_finding(one) for one in lost)


_FIRST = frozenset(("array.create", "array.shape", "array.numpy"))
"""What is made only to be replaced, or read from an array that stays what it is."""


def _gives_array(op: Op, flow: Flow) -> bool:
    """Whether an op surely gives an array: an operator may also work on numbers of Python."""
    makers = (flow.maker(value) for value in op.operands if op.is_operator)
    return not op.is_operator or any(one is not None and one.name in ARRAYS and not one.is_operator for one in makers)


def _matters(one: Dead, scope: ScopeReads, arrays: set[Span]) -> bool:
    """Whether a lost value was computed, and nothing says that it is not wanted."""
    if one.made is None or is_unwanted(one.name):
        return False
    continued = one.renews and one.again is not None
    return one.made in arrays or continued or _is_set_in_vain(one, scope)


def _is_set_in_vain(one: Dead, scope: ScopeReads) -> bool:
    """Whether several branches set a variable, and this is the first of them."""
    same = [other for other in scope.dead if other.name == one.name and other.made is not None]
    return same[0] is one and one.others > 0 and len(same) == one.others + 1 and all(not other.again for other in same)


def _finding(one: Dead) -> Obligation:
    again, instead = one.again, one.instead[:1]
    lost = "nothing reads it" if again is None else f"line {again.line} binds it again first"
    steps = [] if again is None else [Step(again, f"`{one.name}` is bound again here")]
    steps += [Step(span, f"`{name}`, which it was made of, is read here") for name, span in instead]
    return Obligation(
        ValueNeverRead.name,
        one.span,
        severity=Severity.WARNING,
        message=f"`{one.name}` is computed here for nothing: {lost}",
        current=f"the value of `{one.name}` that is computed here goes nowhere",
        expected="the code below goes on with it",
        steps=tuple(steps),
        suggestion=f"read `{one.name}` where it was meant, or delete this line",
        subject=Subject(names=(one.name,), tried=True),
    )
