"""Branches: several continuations of one state, each in a region of its own, merged where they meet again."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from jaxaudit.frontends.source.interpret.interpreter import Interpreter, Reads
from jaxaudit.frontends.source.values.callables import written_in
from jaxaudit.frontends.source.values.folding import is_never_none
from jaxaudit.frontends.source.values.frames import Env, Frame
from jaxaudit.frontends.source.values.heap import Box, ListBox, Moment, OpaqueBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Ref
from jaxaudit.frontends.source.values.questions import asked_about, asks_kind
from jaxaudit.frontends.source.values.sides import Sides
from jaxaudit.frontends.source.values.structure import (
    common_class,
    leaves,
    materialise,
    merge,
    merge_boxes,
    options,
    same,
)
from jaxaudit.ir import Exit, Region, Value
from jaxaudit.ir.record import record, replace
from jaxaudit.spans import Span

# The weakest promise first: whatever leaves the function also leaves the turn of the loop.
_WEAKEST_FIRST = (Exit.CONTINUE, Exit.BREAK, Exit.RAISE, Exit.RETURN)
_LEAVING = (Exit.RETURN, Exit.RAISE)
"""Exits behind which nothing of a function runs."""


@record
class Arm:
    """One way to go on."""

    label: str
    run: Callable[[], Exit]
    narrowed: Mapping[str, Abstract] = field(default_factory=dict)
    """What the condition says of variables on this way: after `if x is None`, `x` is None."""
    doubted: bool = False
    """Whether this way is there for callers other than the one in sight."""
    sides: Sides = field(default_factory=dict)
    """What the condition asks, with the answers that lead this way."""


@record
class _Outcome:
    region: Region
    env: Env
    changes: Mapping[int, Box]
    exit: Exit
    reads: Reads
    narrowed: Mapping[str, Abstract]
    asked: Mapping[Abstract | Value, Value]
    sides: Sides
    outer: Mapping[tuple[Frame, str], Abstract]
    """What variables of functions around this one are at its end, where `nonlocal` lets it set them."""

    def bound(self, name: str, before: Env) -> Abstract | None:
        """Return what a variable is at the end, as if the condition had said nothing of it."""
        value = self.env.get(name)
        return before.get(name) if value is not None and value is self.narrowed.get(name) else value


def run_arms(
    it: Interpreter,
    arms: Sequence[Arm],
    span: Span,
    construct: str,
    condition: Value | None = None,
    test: ast.expr | None = None,
) -> Exit:
    """Interpret each arm from the present state, then go on with what they have in common."""
    before, reads, known, outer = it.frame.env, it.reads(), it.frame.asked, it.frame.is_conditional
    if test is not None and condition is not None:
        it.frame.asked = {**known, **dict.fromkeys(asked_about(it, test), condition)}
        it.frame.is_conditional = True
    doubtful = test is not None and asks_kind(it, test, condition)
    it.frame.doubt(doubtful)
    outcomes = [_run(it, arm, before, reads, span) for arm in arms]
    it.frame.doubt(-doubtful)
    falling = [outcome for outcome in outcomes if outcome.exit is Exit.FALL]
    merger = _Merger(it, falling, span)
    env = merger.environment(before) if falling else before
    merger.heap()
    for outcome in outcomes:
        results = merger.results(outcome) if outcome.exit is Exit.FALL else ()
        it.builder.close(outcome.region, results, outcome.exit)
    it.frame.env = env
    # Where all other ways leave, what the condition asked for matters from here on.
    it.frame.asked = falling[0].asked if len(falling) == 1 else known
    if len(falling) == 1 and all(one.exit in _LEAVING for one in outcomes if one is not falling[0]):
        it.sides = {**it.sides, **falling[0].sides}
    it.frame.is_conditional = outer or (it.frame.is_conditional and len(falling) == 1)
    it.restore(reads)
    operands = () if condition is None else (condition,)
    regions = tuple(outcome.region for outcome in outcomes)
    attrs = {"construct": construct}
    it.emit("py.branch", span, attrs=attrs, operands=operands, results=tuple(merger.made), regions=regions)
    _merge_outer(it, outcomes, span)
    return Exit.FALL if falling else weakest(outcome.exit for outcome in outcomes)


def run_aside(it: Interpreter, run: Callable[[], Exit], span: Span, *, by_caller: bool) -> None:
    """Interpret what the options of this run leave out, for its own sake: nothing of it reaches what comes after.

    Other options may have to be set along with the one that chooses it, so what would raise here is not for sure. A
    caller that chooses otherwise gives other arguments, too: then this holds for the functions called from here.
    """
    frame, before, reads, asked = it.frame, it.frame.env, it.reads(), it.frame.asked
    collected = [frame.returns, frame.yields, frame.left]
    collected += [kept for one in frame.loops[-1:] for kept in (one.breaks, one.continues, one.left)]
    counts = [len(one) for one in collected]

    def handing_on() -> Exit:
        leaving = run()
        bound = [value for name, value in it.frame.env.items() if before.get(name) is not value]
        changed = [Ref(id_) for id_ in it.heap.changes()]
        operands = tuple(dict.fromkeys(leaf for value in (*bound, *changed) for leaf in leaves(it, value)))
        if leaving is Exit.FALL:
            it.emit("py.return", span, operands=operands, results=0)
        return leaving

    frame.guarded += 1
    frame.doubted += by_caller
    stays = _run(it, Arm("else", lambda: Exit.FALL), before, reads, span)
    leaves_out = _run(it, Arm("then", handing_on), before, reads, span)
    frame.guarded -= 1
    frame.doubted -= by_caller
    for one, count in zip(collected, counts, strict=True):
        del one[count:]
    it.builder.close(stays.region, (), Exit.FALL)
    it.builder.close(leaves_out.region, (), Exit.RETURN if leaves_out.exit is Exit.FALL else leaves_out.exit)
    frame.env, frame.asked = before, asked
    it.restore(reads)
    regions = (stays.region, leaves_out.region)
    it.emit("py.branch", span, attrs={"construct": "option"}, operands=(), results=0, regions=regions)


def merge_left(it: Interpreter, left: Sequence[Moment], span: Span, kind: str, *, falls: bool = True) -> None:
    """Let objects be as any of the paths has them that left early, or as they are now where one gets here."""
    states = [it.heap.since(one) for one in left]
    for id_ in dict.fromkeys(id_ for state in reversed(states) for id_ in state):
        ref = Ref(id_)
        now = it.heap[ref]
        boxes = list(dict.fromkeys([*(state.get(id_, now) for state in states), *([now] if falls else [])]))
        merged = merge_boxes(boxes, _joining(it, kind, span), it)
        if merged is None:
            temporary: list[Abstract] = [it.heap.new(box) for box in boxes]
            merged = OpaqueBox(_joining(it, kind, span)(temporary).value, _kind(boxes[0]))
        it.heap[ref] = merged


def weakest(exits: Iterable[Exit]) -> Exit:
    """Return the exit that every one of several exits amounts to at least."""
    present = set(exits)
    return next((leaving for leaving in _WEAKEST_FIRST if leaving in present), Exit.FALL)


def _merge_outer(it: Interpreter, outcomes: Sequence[_Outcome], span: Span) -> None:
    """Merge what the ways made of variables of the functions around this one."""
    ways = [one for one in outcomes if one.exit is not Exit.RAISE]
    for scope, name in dict.fromkeys(at for one in ways for at in one.outer):
        values = [one.outer.get((scope, name), scope.env[name]) for one in ways]
        scope.env[name] = merge(values, _joining(it, "variable", span), it)


def _run(it: Interpreter, arm: Arm, before: Env, reads: Reads, span: Span) -> _Outcome:
    it.frame.env, asked = {**before, **arm.narrowed}, it.frame.asked
    it.restore(reads)
    it.heap.begin()
    it.rebound.append({})
    begun = it.builder.newest
    it.frame.doubt(arm.doubted)
    known, it.sides = it.sides, {**it.sides, **arm.sides}
    count = len(it.frame.returns)
    with it.builder.nested("branch", arm.label, span) as region:
        leaving = arm.run()
    if leaving is Exit.RETURN and it.frame.captured:
        bound = [value for name, value in it.frame.env.items() if value is not before.get(name)]
        _depart(it, (*it.frame.returns[count:], *bound))
    it.sides = known
    it.frame.doubt(-arm.doubted)
    changes, reads = it.heap.undo(), it.reads()
    outer: dict[tuple[Frame, str], Abstract] = {}
    for (scope, name), was in it.rebound.pop().items():
        if scope is not it.frame and scope.opened <= begun:
            outer[scope, name], scope.env[name] = scope.env[name], was
    outcome = _Outcome(region, it.frame.env, changes, leaving, reads, arm.narrowed, it.frame.asked, arm.sides, outer)
    it.frame.asked = asked
    return outcome


def _depart(it: Interpreter, made: Iterable[Abstract]) -> None:
    """Let functions see the variables around them as they are where a way leaves on which they were made."""
    functions = [function for one in made if (function := written_in(one)[0]) is not None]
    own = [function for function in functions if function.frame is it.frame]
    left = replace(it.frame) if own else it.frame
    for function in own:
        it.frame.departed.setdefault(function.node, left)


class _Merger:
    """Collects, for every merged leaf, one value of each falling arm and the result that stands for them."""

    def __init__(self, it: Interpreter, falling: Sequence[_Outcome], span: Span) -> None:
        self.it = it
        self.falling = falling
        self.span = span
        self.columns: list[list[Value]] = []
        self.made: list[Value] = []
        self._known: dict[tuple[Value, ...], Leaf] = {}

    def results(self, outcome: _Outcome) -> tuple[Value, ...]:
        at = self.falling.index(outcome)
        return tuple(column[at] for column in self.columns)

    def environment(self, before: Env) -> Env:
        env = dict(self.falling[0].env)
        if len(self.falling) == 1:
            # All other ways leave: what the condition says of this one holds from here on.
            return env
        for name in self._changed(before):
            values = [outcome.bound(name, before) for outcome in self.falling]
            if any(value is not values[0] for value in values):
                values = [outcome.env.get(name) for outcome in self.falling]
            if values[0] is not None and all(value is values[0] for value in values) and name in before:
                env[name] = values[0]
                continue
            env[name] = self.merged([self._bound(value, at) for at, value in enumerate(values)], name)
        return env

    def _changed(self, before: Env) -> dict[str, None]:
        """Return the names that an arm binds or deletes, in order: most of a long function's are left alone."""
        envs = [outcome.env for outcome in self.falling]
        bound = dict.fromkeys(name for env in envs for name, value in env.items() if before.get(name) is not value)
        deleted = {name for env in envs for name in before.keys() - env.keys()}
        kept = [name for name in before if name in deleted and any(name in env for env in envs)] if deleted else []
        return {**dict.fromkeys(kept), **bound}

    def _bound(self, value: Abstract | None, at: int) -> Abstract:
        if value is not None:
            return value
        with self.it.builder.reopened(self.falling[at].region):
            return self.it.unknown("not assigned on every path", self.span)

    def merged(self, values: list[Abstract], name: str) -> Abstract:
        merged = merge(values, self.column, self.it)
        if isinstance(merged, Leaf) and not merged.value.name:
            # The name of a temporary is none: it begins with a blank.
            merged.value.name = "" if name.startswith(" ") else name
        return merged

    def column(self, values: Sequence[Abstract]) -> Leaf:
        parts: list[Value] = []
        for value, outcome in zip(values, self.falling, strict=True):
            if isinstance(value, Leaf):
                # By far the most frequent case: nothing is read or emitted.
                parts.append(value.value)
                continue
            self.it.restore(outcome.reads)
            with self.it.builder.reopened(outcome.region):
                parts.append(materialise(self.it, value, self.span))
        key = tuple(parts)
        if key not in self._known:
            self.columns.append(parts)
            self.made.append(self.it.builder.value(self.span))
            self._known[key] = one_of(self.it, self.made[-1], values)
            if all(outcome.sides for outcome in self.falling):
                ways = zip((outcome.sides for outcome in self.falling), values, strict=True)
                self.it.chosen[self.made[-1]] = tuple(ways)
        return self._known[key]

    def heap(self) -> None:
        heap = self.it.heap
        for id_ in dict.fromkeys(id_ for outcome in self.falling for id_ in outcome.changes):
            ref = Ref(id_)
            boxes = [outcome.changes.get(id_, heap[ref]) for outcome in self.falling]
            merged = merge_boxes(boxes, self.column, self.it)
            if merged is None:
                temporary: list[Abstract] = [heap.new(box) for box in boxes]
                merged = OpaqueBox(self.column(temporary).value, _kind(boxes[0]))
            heap[ref] = merged


def _kind(box: Box) -> str:
    return box.kind if isinstance(box, ListBox | OpaqueBox) else "dict"


def one_of(it: Interpreter, value: Value, values: Sequence[Abstract]) -> Leaf:
    """Return the leaf that stands for one of several values, with what is true of them all."""
    arrays = all(isinstance(one, Leaf) and one.array for one in values)
    if any(isinstance(one, Leaf) and one.value in it.outside for one in values):
        it.outside.add(value)
    exists = all(is_never_none(it, one) for one in values)
    return Leaf(value, common_class(values), _held_by_all(values), arrays, options(it, values), exists)


def _held_by_all(values: Sequence[Abstract]) -> Abstract | None:
    """Return what the objects of a library hold on every path: a train state keeps its model."""
    held = [value.holds if isinstance(value, Leaf) else None for value in values]
    first = held[0]
    return first if first is not None and all(one is not None and same(first, one) for one in held) else None


def join(it: Interpreter, values: Sequence[Abstract], kind: str, span: Span, operator: str = "") -> Abstract:
    """Return one value for several that different paths produce, without regions (returns, breaks, `a or b`)."""
    distinct: list[Abstract] = []
    for value in values:
        if not any(same(value, other) for other in distinct):
            distinct.append(value)
    if len(distinct) == 1:
        return distinct[0]

    return merge(distinct, _joining(it, kind, span, operator), it)


def _joining(it: Interpreter, kind: str, span: Span, operator: str = "") -> Callable[[Sequence[Abstract]], Leaf]:
    def column(parts: Sequence[Abstract]) -> Leaf:
        operands = tuple(dict.fromkeys(materialise(it, part, span) for part in parts))
        if len(operands) == 1:
            return one_of(it, operands[0], parts)
        attrs = {"kind": kind, "operator": operator} if operator else {"kind": kind}
        op = it.emit("py.join", span, attrs=attrs, operands=operands)
        op.result.name = next((value.name for value in operands if value.name), "")
        return one_of(it, op.result, parts)

    return column
