"""The rule `late-binding-closure`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Obligation, Rule, proved, unknown


class LateBindingClosure(Rule):
    """A function that is made in a loop is kept for later, and reads a variable of the loop when it is called.

    ## What it does
    Looks at every function that is made in a turn of a loop or comprehension and reads a variable that the next turn
    binds again. One that is put into a list or dict from outside of the loop is called when the variable has moved on.

    ## Why is this bad?
    Python looks variables up when a function runs. All of the functions see what the last turn left: every schedule
    has the last rate, every reward the last weight.

    ## Example
        terms = []
        for weight in weights:
            terms.append(lambda x: weight * x)

    ## Use instead
        terms = []
        for weight in weights:
            terms.append(lambda x, weight=weight: weight * x)

    ## When it cannot tell
    A function that is handed to another one may be kept by that one: then it is left open.
    """

    summary = "A function that a loop makes and keeps reads a variable that the next turn binds again."
    valid = """
    ## bound where it is made
    def make(weights):
        terms = []
        for weight in weights:
            terms.append(lambda x, weight=weight: weight * x)
        return terms

    ## called in its turn
    def total(weights, xs):
        found = []
        for weight in weights:
            found.append(jax.vmap(lambda x: weight * x)(xs))
        return found
    """
    invalid = """
    ## kept in a list
    def make(weights):
        terms = []
        for weight in weights:
            terms.append(lambda x: weight * x)  #!
        return terms

    ## kept in a dict, with what is computed in the turn
    def make(names, table):
        found = {}
        for name in names:
            row = table[name]
            def look(x):  #!
                return row + x
            found[name] = look
        return found

    ## the items of a comprehension
    def make(weights):
        return [lambda x: weight * x for weight in weights]  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function that is made in a turn and reads what the next one changes."""
        yield from (_judge(op) for op in program.named("py.turn") if op.kind == "closure")


def _judge(op: Op) -> Obligation:
    if not op.problem:
        return proved(op.span, "it is only called, in the turn that makes it")
    if op.problem == "handed":
        return unknown(op.span, "whether what it is handed to keeps it is not known")
    return Obligation(
        op.span,
        message=f"this function is kept for later, and then reads the last `{op.label}` of the loop",
        current=f"`{op.label}` is looked up when the function is called, after the loop has bound it again",
        expected=f"each function keeps the `{op.label}` of its own turn",
        suggestion=f"bind it where the function is made: `{op.label}={op.label}` as a default, or `functools.partial`",
    )
