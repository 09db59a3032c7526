"""Running sums and averages that nothing reads but their own next turn."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import left, reached, walk
from jaxaudit.analyses.uses import EFFECTS, Use, Uses
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import SCALINGS, SUMS_OF_TWO
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Obligation, Severity, Step, named, proved, unknown
from jaxaudit.rules.gradients._shared.optimizers import operands_in_turn, parts_in_turn


@record
class _Running:
    """A part of the state of a loop to which each turn adds something, or into which it mixes it."""

    old: Value
    new: Value
    loop: Loop
    made: Op
    added: tuple[Value, ...]


def running_values(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List what the turns of loops add up or average: something else reads it in the end."""
    uses, told = facts.get(Uses), set[Op]()
    for op in program.named(*sorted(LOOPS)):
        loop = Loop.of(op)
        for old, new in loop.successors if loop is not None else ():
            one = None if loop is None or old is new else _running(old, new, loop, facts.flow)
            # Of a tree, one leaf speaks for all.
            if one is not None and one.made not in told:
                told.add(one.made)
                yield _judge(one, uses, facts.flow)


def _running(old: Value, new: Value, loop: Loop, flow: Flow) -> _Running | None:
    made = origin(flow, new, {}, in_turn=True).op
    tree = made.value("tree") if made is not None and made.name == "tree.leaf" else None
    made = made if tree is None else flow.maker(tree)
    if made is None:
        return None
    if plays(made.qualified, "average"):
        inside = {origin(flow, one, {}, in_turn=True).value for one in made.operands}
        return _Running(old, new, loop, made, tuple(inside - {old})) if old in inside else None
    terms = parts_in_turn(flow, (new,), SUMS_OF_TWO)
    # A decayed sum is one, too: `0.9 * old + x`.
    own = [one for one in terms if old in parts_in_turn(flow, (one,), SCALINGS)]
    added = tuple(walk(terms.difference(own), lambda one: _weighed(flow, one)))
    return _Running(old, new, loop, made, added) if len(own) == 1 and added else None


def _weighed(flow: Flow, value: Value) -> list[Value]:
    """Return what a value is a sum or a share of."""
    made, operands = flow.maker(value), operands_in_turn(flow, value, SUMS_OF_TWO | SCALINGS)
    return operands[:1] if made is not None and made.function == "divide" else operands


def _judge(one: _Running, uses: Uses, flow: Flow) -> Obligation:
    name = named(one.new, named(one.old, "this running value"))
    effects = uses.becomes(one.old) & EFFECTS
    if effects == Use.STORED:
        return unknown(one.made.span, f"{name} is stored, and whether anything reads it there is not known")
    if effects:
        return proved(one.made.span, f"what turns make of {name} is read by more than its own next turn")
    given_back = flow.places.function_of(one.loop.op).results
    if not reached(flow, (one.new,)).isdisjoint(given_back):
        return unknown(one.made.span, f"{name} is given back, and whether every caller reads it is not known")
    instead = (_read_after(value, one.loop, uses, flow) for value in one.added)
    if (at := next(filter(None, instead), None)) is None:
        return unknown(
            one.made.span, f"nothing reads {name} but its own next turn, and whether it is wanted is not known"
        )
    starts = flow.maker(next(part.start for part in one.loop.carried if part.param is one.old))
    return Obligation(
        one.made.span,
        # A number that is counted and never told may be left from an earlier version.
        severity=Severity.WARNING if starts is not None and starts.name == "py.const" else Severity.ERROR,
        message=f"each turn adds to {name}, and nothing else reads it: what the last turn added is read instead",
        current=f"what is added to {name} goes nowhere",
        expected=f"what comes after the loop reads {name}",
        steps=(Step(at.span, "what the last turn added is read here"),),
        suggestion=f"read {name} after the loop, or leave it out",
    )


def _read_after(value: Value, loop: Loop, uses: Uses, flow: Flow) -> Op | None:
    """Return an op after a loop that reads what the last turn made."""
    for one in walk((value,), lambda one: left(flow, one)):
        if uses.becomes(one) & EFFECTS:
            for reader in flow.readers.get(one, ()):
                home = flow.places.region_of[reader]
                if flow.places.comes_before(loop.op, reader) and not flow.places.within(home, loop.body):
                    return reader
    return None
