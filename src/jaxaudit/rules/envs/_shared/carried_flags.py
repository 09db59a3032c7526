"""Flags that a loop carries: what resets one part of its state in a turn is read in the next one for the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, entered, nothing, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import NEGATIONS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS, MOVING
from jaxaudit.rules.base import Obligation, Step, named, proved


def is_read(value: Value, flow: Flow) -> bool:
    """Whether something computes with a value, and does not merely move it or hand it to a body that does not."""
    handed = through_ops("py.container", *MOVING)
    names = walk((value,), lambda one: ahead(flow, one, handed))
    return any(not handed(op) and not list(entered(op, one)) for one in names for op in flow.readers.get(one, ()))


def carried_flags(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List every flag that a loop carries and that resets a part of its state."""
    flow = facts.flow
    for op in program.named(*sorted(LOOPS)):
        loop = Loop.of(op)
        if loop is None or len(loop.carried) < 3:
            continue
        turn = _Turn(loop, flow)
        for at, (flag, following) in enumerate(loop.successors):
            names = set(walk((following,), lambda one: behind(flow, one, nothing))) if following is not flag else ()
            reset = next((one for one in turn.choices if turn.resets(one, names)), None) if names else None
            if reset is None:
                continue
            if any(is_read(one, flow) for one in (flag, *op.results[at : at + 1])):
                yield proved(reset.span, f"{named(flag, 'the flag')} is carried into the next turn and read there")
            elif (other := turn.goes_on(flag, names, reset)) is not None:
                yield _finding(loop, flag, *other, reset, flow)


class _Turn:
    """One turn of a loop: what is computed from what in it."""

    def __init__(self, loop: Loop, flow: Flow) -> None:
        self._flow = flow
        self._state = {param for param, _ in loop.successors}
        self._successors = loop.successors
        self._body = loop.body

    @cached_property
    def choices(self) -> list[Op]:
        """All that is chosen element by element in the turn."""
        # What a loop inside chooses is chosen in its turns, and not in those of this loop.
        inner = {id(region) for op in self._body.walk() if op.name in LOOPS for region in op.regions}
        found = [op for op in self._body.walk() if op.name == "array.select"]
        places = self._flow.places
        around = {op: {id(region) for region, _ in places.up(places.region_of[op])} for op in found}
        return [op for op in found if inner.isdisjoint(around[op])]

    @cached_property
    def _made_of(self) -> list[tuple[Value, Value, set[Value]]]:
        """Each part of the state with its successor, and what that is computed from."""
        return [(param, after, self._sources(after)) for param, after in self._successors]

    def _sources(self, value: Value) -> set[Value]:
        return set(walk((value,), lambda one: () if one in self._state else behind(self._flow, one)))

    def resets(self, op: Op, flags: Collection[Value]) -> bool:
        """Whether a choice by a flag takes something that does not depend on the state in the place of it."""
        if not self._is_chosen_by(op, flags):
            return False
        arms = [op.value("x", "on_true"), op.value("y", "on_false")]
        old = [arm is not None and not self._state.isdisjoint(self._sources(arm)) for arm in arms]
        return sum(old) == 1 and any(not made.isdisjoint(op.results) for _, _, made in self._made_of)

    def _is_chosen_by(self, op: Op, flags: Collection[Value]) -> bool:
        condition = op.value("condition", "pred") if op.name == "array.select" else None
        return condition is not None and any(
            one in flags for one in walk((condition,), lambda one: _names(one, self._flow))
        )

    def goes_on(self, flag: Value, flags: Collection[Value], reset: Op) -> tuple[Value, Value] | None:
        """Return a part of the state that is computed from itself and from what is reset, and its successor.

        What the turn itself chooses by the flag is taken care of there, whatever it chooses.
        """
        moved = {param for param, _, made in self._made_of if not made.isdisjoint(reset.results)}
        for param, after, made in self._made_of:
            maker = self._flow.maker(after)
            plain = param is flag or param in moved or after is param or maker is None
            if not plain and param in made and not moved.isdisjoint(made) and not maker.name.startswith("key."):
                names = walk((after,), lambda one: behind(self._flow, one, nothing))
                chosen = (one for name in names if (one := self._flow.own_maker(name)) is not None)
                if not any(self._is_chosen_by(one, flags) for one in chosen):
                    return param, after
        return None


def _names(value: Value, flow: Flow) -> Sequence[Value]:
    """Return what a condition was called before: outside of a region, as another shape, before it was inverted."""
    return behind(flow, value, lambda op: op.name in MOVING or op.function in NEGATIONS)


def _finding(loop: Loop, flag: Value, other: Value, after: Value, reset: Op, flow: Flow) -> Obligation:
    made = flow.maker(after)
    assert made is not None
    while made.name in ("py.unpack", "py.item", "py.attr") and (whole := flow.maker(made.operands[0])) is not None:
        made = whole
    name, what = named(flag, "the flag"), named(other, "another part")
    return Obligation(
        made.span,
        message=f"{what} goes on where {name} resets the rest: {name} is carried, and nothing reads it",
        current=f"the first turn of a new episode starts from {what} of the one before",
        expected=f"{what} is reset where {name} of the turn before is set",
        steps=(
            Step(reset.span, f"by {name} a part of the state is reset here"),
            Step(loop.op.span, "the loop is here"),
        ),
        suggestion=f"`jnp.where({flag.name or 'done'}, start, {other.name or 'state'})` before it is used",
    )
