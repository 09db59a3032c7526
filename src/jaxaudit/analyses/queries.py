"""The questions that rules ask of the flow of data; the one place that walks over it.

Rules and analyses hold no walk of their own: they say where one step leads, and ask here. No walk has a cut-off: each
node is met once, however deep the program, so that a walk costs what it sees.

*Walks* over any graph, given one step of it:

- `walk(starts, step)`: every node that can be reached, once, the nearest first; made as it is asked for, so that
  `any(...)` and `next(...)` over it stop early.
- `last(start, step)`: the end of a chain in which each node has one successor or none.
- `Answers(rule, otherwise)`: the answer to a question that a node hands on to others (`all operands are arrays`),
  remembered; a node that depends on itself gets `otherwise`.

*Steps* from a value to those beside it, across the borders of calls, branches, loops and maps:

- `entered(op, value)`: the parameters that stand for an operand inside of an op.
- `left(flow, value)`: what a value is called outside of the regions that give it away, and in the next turn of a loop.
- `made_by(flow, value, through)`: what the ops that read a value and that `through` lets pass make of it.
- `operands_of(flow, value, through)`: the operands of the op that made a value.
- `ahead(flow, value, through)`: the same value elsewhere, and what the ops that `through` lets pass make of it.
- `behind(flow, value, through)`: the other way round.

*Questions* about values:

- `made_of(flow, value, through)`: what a value was before ops that only change it, such as casts.
- `readers(flow, value)`: the ops that read a value, under any name that borders give it.
- `reached(flow, values)`: everything that depends on some values.
- `sources(flow, values, through)`: everything that some values were computed from.
- `carried_on(flow, value)`: the loops that hand a value to their next turn, as it is.
- `depends(flow, value, on)`: whether a value was computed from one of some others; cheaper than the sets.
- `through_ops(*names)`: lets ops of some names pass, for `through`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar, cast

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.interfaces import Loop, Part, leaves_as, made_inside, source_of, stands_for, turn_before
from jaxaudit.ir.ops import CALLS, MAPPED

Node = TypeVar("Node", bound=Hashable)
Answer = TypeVar("Answer")

Through = Callable[[Op], bool]
"""Whether a walk goes on from the operands of an op to its results, or back."""


def anything(op: Op) -> bool:
    """Let every op pass."""
    return True


def nothing(op: Op) -> bool:
    """Let no op pass: a value is followed as long as it is the very same."""
    return False


def through_ops(*names: str) -> Through:
    """Let ops of some names pass."""
    wanted = frozenset(names)
    return lambda op: op.name in wanted


# Walks


def walk(starts: Iterable[Node], step: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Return every node that some nodes lead to, themselves included, each once and the nearest first."""
    seen = dict.fromkeys(starts)
    pending = list(seen)
    for node in pending:
        yield node
        for one in step(node):
            if one not in seen:
                seen[one] = None
                pending.append(one)


def last(start: Node, step: Callable[[Node], Node | None]) -> Node:
    """Follow a chain to its end: the first node that leads nowhere, or back to where the chain has been."""
    seen = {start}
    while (following := step(start)) is not None and following not in seen:
        seen.add(following)
        start = following
    return start


class Answers(Generic[Node, Answer]):
    """The answers to one question, where that for a node may ask for those of others.

    `rule(node, ask)` answers it for one node. A chain of questions may be as long as the program: after some of them on
    Python's stack, those that wait are given up, and asked once more when the last one is answered.
    """

    def __init__(self, rule: Callable[[Node, Callable[[Node], Answer]], Answer], otherwise: Answer) -> None:
        self._rule = rule
        self._otherwise = otherwise
        self._known: dict[Node, Answer] = {}
        self._open: dict[Node, int] = {}
        """The nodes whose answers are being looked for, each asked for by the one before, and how deep each stands."""
        self._reached = 0
        """How far up the answer that is being made reaches: the depth of the first open node that it rests on."""
        self._passing: dict[Node, int] = {}
        """Answers that rest on an open node, and its depth: seen from elsewhere they may be different."""
        self._lowest = 0
        """The depth at which the questions on Python's stack begin."""

    def __call__(self, node: Node) -> Answer:
        """Return the answer for a node."""
        if node in self._known:
            return self._known[node]
        self._open = {node: 0}
        self._passing.clear()
        while self._open:
            current, self._lowest = next(reversed(self._open.items()))
            try:
                self._answer(current, self._lowest)
            except _GivenUpError:
                continue
        return self._known[node]

    def _answer(self, node: Node, depth: int) -> Answer:
        """Answer an open node, and keep an answer that rests on no other open one."""
        self._reached = depth
        found = self._known[node] = self._rule(node, self._ask)
        del self._open[node]
        if self._reached < depth:
            self._passing[node] = self._reached
        elif self._passing:
            # What rested on this node alone is asked for again.
            for one in [one for one, reached in self._passing.items() if reached >= depth]:
                del self._passing[one], self._known[one]
        return found

    def _ask(self, node: Node) -> Answer:
        known = self._known.get(node, _OPEN)
        if known is not _OPEN:
            if self._passing:
                self._reached = min(self._reached, self._passing.get(node, self._reached))
            return cast("Answer", known)
        at = self._open.get(node)
        if at is not None:
            self._reached = min(self._reached, at)
            return self._otherwise
        depth, reached = len(self._open), self._reached
        self._open[node] = depth
        if depth - self._lowest > _DEEP:
            raise _GivenUpError
        found = self._answer(node, depth)
        self._reached = min(reached, self._reached)
        return found


_OPEN = object()

_DEEP = 40
"""How many questions may stand on Python's stack."""


class _GivenUpError(Exception):
    """Too many questions wait for an answer."""


# Steps


def entered(op: Op, value: Value) -> Iterator[Value]:
    """Return the parameters of an op's regions that stand for one of its operands, or for elements of it."""
    for region in op.regions:
        yield from stands_for(op, region, value)


def left(flow: Flow, value: Value) -> Iterator[Value]:
    """Return what a value is called outside of the regions that it leaves, and in the next turn of a loop."""
    for region in flow.leaving.get(value, ()):
        for op in holders(flow, region):
            yield from _left(op, region, value)


def made_by(flow: Flow, value: Value, through: Through = anything) -> Iterator[Value]:
    """Return what ops make of a value, in the region where it is."""
    return (made for op in flow.readers.get(value, ()) if through(op) for made in op.results)


def operands_of(flow: Flow, value: Value, through: Through = anything) -> Sequence[Value]:
    """Return what a value was made of, in the region where it is."""
    op = flow.maker(value)
    return op.operands if op is not None and through(op) else ()


def ahead(flow: Flow, value: Value, through: Through = anything) -> Iterator[Value]:
    """Return what a value is called elsewhere, and what ops make of it."""
    for op in flow.readers.get(value, ()):
        if op.regions:
            yield from entered(op, value)
        if through(op):
            yield from op.results
    if value in flow.leaving:
        yield from left(flow, value)


_COVERED = MAPPED | CALLS
"""Ops that give what their body makes of its parameters: nothing that they are given goes past the body.

Who says what to pass through may mean them as a whole, such as a map over a tree that keeps its structure.
"""


def behind(flow: Flow, value: Value, through: Through = anything) -> Sequence[Value]:
    """Return what a value was called elsewhere, and what it was made of."""
    op = flow.own_maker(value)
    if op is not None and not op.regions:
        return op.operands if through(op) else ()
    before = flow.before.get(value)
    if before is None:
        before = flow.before[value] = tuple(_before(flow, value, op))
    if op is None or not through(op) or (through is anything and before and op.name in _COVERED):
        return before
    return (*before, *op.operands)


def _before(flow: Flow, value: Value, op: Op | None) -> Iterator[Value]:
    """Return what a value was called on the other side of a border."""
    if op is None:
        yield from _outside(flow, value)
        return
    for region in op.regions:
        yield from made_inside(op, region, value)


def holders(flow: Flow, region: Region) -> Collection[Op]:
    """Return the ops that run a region: all calls of a body that several share."""
    holder = flow.places.holder.get(id(region))
    return flow.callers.get(id(region), ()) if holder is None else (holder,)


def _left(op: Op, region: Region, value: Value) -> Iterator[Value]:
    """Return what a result of a region is called outside of the op, and in its next turn."""
    loop = Loop.of(op)
    if loop is not None and not loop.is_condition(region):
        first, _, count = loop.layout(region)
        yield from (
            param
            for param, one in zip(region.params[first : first + count], region.results, strict=False)
            if one is value
        )
    yield from leaves_as(op, region, value)


def _outside(flow: Flow, param: Value) -> Iterator[Value]:
    """Return what a parameter stands for: outside of its region, and in the turn before."""
    region = flow.places.owner.get(param)
    if region is None:
        return
    for op in holders(flow, region):
        yield from source_of(op, region, param)


def _turn_before(flow: Flow, param: Value) -> Iterator[Value]:
    """Return what the turn before gave, where a parameter is carried by a loop."""
    entry = flow.entered(param)
    if entry is not None:
        yield from turn_before(*entry, param)


# Questions


def made_of(flow: Flow, value: Value, through: Through) -> Value:
    """Follow a value back through ops that only change it: to the first operand of each that `through` lets pass.

    A parameter of a function that is read where it is called is what the call is given.
    """

    def step(one: Value) -> Value | None:
        op = flow.own_maker(one)
        if op is None:
            return flow.passed(one)
        return op.operands[0] if op.operands and through(op) else None

    return last(value, step)


def whole_of(flow: Flow, value: Value) -> Value:
    """Return what something was taken out of by its place; itself, where it was not."""
    part = Part.of(flow.maker(value), value)
    return value if part is None else part.whole


def taken_apart(flow: Flow, whole: Value) -> dict[int, Value]:
    """Return the parts of something that are taken out of it, each once, by their places."""
    made = ((op, value) for op in flow.readers.get(whole, ()) for value in op.results)
    parts = ((part.at, value) for op, value in made if (part := Part.of(op, value)) is not None and part.whole is whole)
    return dict(parts)


def readers(flow: Flow, value: Value) -> Iterator[Op]:
    """Return the ops that read a value under any name that borders give it; those it enters come first."""
    for one in walk((value,), lambda one: ahead(flow, one, nothing)):
        yield from flow.readers.get(one, ())


def reached(flow: Flow, values: Iterable[Value]) -> set[Value]:
    """Return the values that depend on some values, themselves included.

    What is reached by going into a body that several calls share comes out of it at the call it went in by, and not
    at the others.
    """
    around = set(walk(values, lambda one: (*made_by(flow, one), *left(flow, one))))
    inside = (param for one in around for op in flow.readers.get(one, ()) if op.regions for param in entered(op, one))
    return around.union(walk(inside, lambda one: _within(flow, one)))


def _within(flow: Flow, value: Value) -> Iterator[Value]:
    """Go on from a value inside of an op whose results are known to be reached."""
    for op in flow.readers.get(value, ()):
        yield from op.results
        if op.regions:
            yield from entered(op, value)
    for region in flow.leaving.get(value, ()):
        holder = flow.places.holder.get(id(region))
        if holder is not None:
            yield from _left(holder, region, value)


def carried_on(flow: Flow, value: Value) -> Iterator[tuple[Value, Loop]]:
    """Return the loops that hand a value as it is to their next turn, each with what it is called there."""
    for one in walk((value,), lambda one: left(flow, one)):
        if (loop := flow.loop_of(one)) is not None:
            yield one, loop


def sources(flow: Flow, values: Iterable[Value], through: Through = anything) -> set[Value]:
    """Return the values that some values were computed from, themselves included."""
    return set(walk(values, lambda one: behind(flow, one, through)))


def depends(flow: Flow, value: Value, on: Collection[Value]) -> bool:
    """Whether a value is one of some others or was computed from one of them."""
    homes = [home for one in on if (home := flow.places.region_of_value(one)) is not None]
    around = {id(region) for home in homes for region, _ in flow.places.up(home)}
    holding = {id(region) for region in walk(homes, lambda one: _regions_around(flow, one))}

    def step(one: Value) -> Iterable[Value]:
        op = flow.own_maker(one)
        if op is not None:
            # A closed body sees nothing but what its call was given.
            closed = op.regions and all(region.shared and id(region) not in holding for region in op.regions)
            return op.operands if closed else behind(flow, one)
        region = flow.places.owner.get(one)
        # Whatever comes from outside of a region around all of them was not computed from one of them.
        return _turn_before(flow, one) if region is not None and id(region) in around else behind(flow, one)

    return any(one in on for one in walk((value,), step))


def _regions_around(flow: Flow, region: Region) -> Iterator[Region]:
    """Return the regions that the ops stand in that run a region."""
    return (flow.places.region_of[op] for op in holders(flow, region))
