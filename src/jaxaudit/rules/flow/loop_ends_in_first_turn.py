"""The rule `loop-ends-in-first-turn`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import depends, reached
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, proved, unknown


class LoopEndsInFirstTurn(Rule):
    """A Python loop that adds things up is always left in its first turn.

    ## What it does
    Looks at every `for` and `while` loop of Python, and asks whether there is a way to its second turn. A loop without
    one is wrong where it goes on with what the turn before left: there is no such turn.

    ## Why is this bad?
    A `return` that is indented once too far gives back what the first element makes. The others are never looked at,
    and nothing is raised.

    ## Example
        for x in batches:
            total = total + loss(params, x)
            return total

    ## Use instead
        for x in batches:
            total = total + loss(params, x)
        return total

    ## When it cannot tell
    A loop that is left at once and carries nothing may be a way to take the first element, and so may one over what was
    found in the value that it changes. One that ends with `break` is a warning: it may be there to try one step. So is
    one in a function that gives something else behind it.
    """

    summary = "A Python loop that adds things up is always left in its first turn."

    valid = (
        Example(
            "def total(batches):\n    found = 0.0\n    for x in batches:\n        found = found + jnp.sum(x)\n"
            "    return found\n",
            "left after its last turn",
        ),
        Example(
            "def first(batches):\n    for x in batches:\n        return jnp.sum(x)\n    return None\n",
            "the first element is taken",
        ),
        Example(
            "def last(first, second):\n    for x in first:\n        break\n    for x in second:\n        break\n"
            "    return jnp.sum(x)\n",
            "the first element of each",
        ),
        Example(
            "def remove(state, found, left):\n    for i in found(state):\n        state = state.at[i].set(0.0)\n"
            "        return state\n    return state + left\n",
            "the first of what was found",
        ),
        Example(
            "def until(batches, limit):\n    found = 0.0\n    for x in batches:\n        found = found + jnp.sum(x)\n"
            "        if found > limit:\n            return found\n    return found\n",
            "left on a condition",
        ),
    )
    invalid = (
        Example(
            "def total(batches):\n    found = 0.0\n    for x in batches:  #!\n        found = found + jnp.sum(x)\n"
            "        return found\n",
            "the return stands in the loop",
        ),
        Example(
            "def train(state, batches, step):\n    for x in batches:  #?\n        state = step(state, x)\n"
            "        break\n    return state\n",
            "one step may be meant: a warning",
        ),
        Example(
            "def remove(state, places, left):\n    for i in places:  #?\n        state = state.at[i].set(0.0)\n"
            "        return state\n    return state + left\n",
            "the first of some places: a warning",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop of Python."""
        loops = (op for op in program.named("py.loop", "py.while") if op.kind != "comprehension")
        yield from (_judge(op, facts) for op in loops)


def _judge(op: Op, facts: Facts) -> Obligation:
    if not op.left_at_once:
        return proved(op.span, "there is a way to the next turn")
    flow, places = facts.flow, facts.places
    carried = [one.param for one in Loop(op).carried]
    found = reached(flow, carried).difference(carried)
    made = {value for value in found if places.within(places.region_of_value(value), op.regions[-1])}
    if not made or _is_found(op, facts):
        return unknown(op.span, "the loop is left in its first turn, and may be there for the first element")
    readers = {reader for value in made for reader in flow.readers.get(value, ()) if reader.name == "py.return"}
    home = places.function_of(op)
    inside = [one for one in readers if places.within(places.region_of[one], op.regions[-1])]
    returned = any(places.function_of(one) is home for one in inside)
    certain = returned and op.name == "py.loop" and not _goes_on(op, facts)
    return Obligation(
        op.span,
        severity=Severity.ERROR if certain else Severity.WARNING,
        message=f"this loop is always left in its first turn, by {'`return`' if returned else '`break`'}",
        current="the body runs once, and what it carries to the next turn goes nowhere",
        expected="the loop runs for every element",
        suggestion="move the end of the loop out of it, or put it under a condition",
    )


def _is_found(op: Op, facts: Facts) -> bool:
    """Whether what a loop goes over is computed from what it changes: then the first of them is dealt with."""
    starts = [one.start for one in Loop(op).carried]
    items = [one.argument("iterable") for region in op.regions for one in region.ops if one.name == "py.element"]
    return any(isinstance(one, Value) and one not in starts and depends(facts.flow, one, starts) for one in items)


def _goes_on(op: Op, facts: Facts) -> bool:
    """Whether the function gives something else behind the loop: then it asks whether there is an element at all."""
    places = facts.places
    home = places.function_of(op)
    returns = (one for one in facts.program.named("py.return") if one.operands and places.function_of(one) is home)
    return any(places.order[one] > places.order[op] and not _within(one, op, facts) for one in returns)


def _within(inner: Op, loop: Op, facts: Facts) -> bool:
    return any(facts.places.within(facts.places.region_of[inner], region) for region in loop.regions)
