"""Python loops: the body is interpreted from a state that stands for every turn, until that state is stable."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from jaxaudit.frontends.source.interpret import unrolled
from jaxaudit.frontends.source.interpret.asked import test
from jaxaudit.frontends.source.interpret.assign import assign
from jaxaudit.frontends.source.interpret.branches import join, merge_left
from jaxaudit.frontends.source.interpret.filled import Filled, filled
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.methods import CHANGES
from jaxaudit.frontends.source.notes.bindings import held
from jaxaudit.frontends.source.notes.iterators import looped
from jaxaudit.frontends.source.notes.turns import note_turns
from jaxaudit.frontends.source.values.callables import Attribute, BoundMethod, FunctionValue, PartialValue, Transformed
from jaxaudit.frontends.source.values.elements import element, run_through, trip_count, turns
from jaxaudit.frontends.source.values.folding import is_never_none, truth
from jaxaudit.frontends.source.values.frames import Env, Frame, LoopExits, assigned_names, changing
from jaxaudit.frontends.source.values.heap import Box, DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Record, Ref, TupleValue
from jaxaudit.frontends.source.values.structure import kind_of, leaves, materialise, rebuild, same
from jaxaudit.ir import Exit, Region, Value
from jaxaudit.ir.record import mutable, replace
from jaxaudit.spans import Span

_ATTEMPTS = 6
_MOST_PARTS = 64
"""A container with more parts than this is carried as one value."""


def for_(it: Interpreter, node: ast.For | ast.AsyncFor) -> Exit:
    """Interpret a `for` loop."""
    note_turns(it, node)
    iterable = it.evaluate(node.iter)
    looped(it, node, iterable)
    iterable, where = run_through(iterable), it.span(node.iter)

    def turn(index: Leaf, records: Filled | None = None) -> Exit:
        assign(it, node.target, element(it, iterable, index, where), where)
        return it.execute(node.body) if records is None else records.turn()

    if trip_count(it, iterable) == 0:
        return it.execute(node.orelse)
    if unrolled.differ(it, iterable) and (rows := unrolled.rows(it, iterable, where)):
        return unrolled.run(it, node, rows, where)
    loop = Loop(it, "py.loop", node, assigned_names(node), {**turns(it, iterable), "kind": "for"})
    records = filled(it, node)
    if records is None:
        loop.run(turn)
    else:
        loop.havoc.discard(records.ref.id)
        loop.expected.discard(records.ref.id)
        loop.attrs["kind"] = "comprehension"
        loop.run(lambda index: turn(index, records), records.collect)
        records.leave(loop.collected)
    return it.execute(node.orelse)


def while_(it: Interpreter, node: ast.While) -> Exit:
    """Interpret a `while` loop."""
    note_turns(it, node)
    where = it.span(node.test)

    def turn(index: Leaf) -> Exit:
        condition = it.evaluate(node.test)
        if truth(it, condition) is None:
            test(it, condition, "while", where)
        return it.execute(node.body)

    endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    loop = Loop(it, "py.while", node, assigned_names(node), {"trips": None, "kind": "while"})
    breaks = loop.run(turn)
    if endless and not breaks:
        return Exit.RETURN
    return it.execute(node.orelse)


_Holder = str | tuple[int, str]
"""What holds a value from turn to turn: a variable, or an attribute of an object."""


@mutable
class _Attempt:
    """One interpretation of a body, and whether its end agrees with its beginning."""

    region: Region
    heads: Env
    boxes: dict[int, Box]
    initial: list[Value]
    params: list[Value]
    nexts: list[Value] = field(default_factory=list)
    exits: LoopExits = field(default_factory=LoopExits)
    ends: Env = field(default_factory=dict)
    unstable: set[_Holder] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)
    """The objects that a turn changes though they were taken to stay."""
    unchanged: set[int] = field(default_factory=set)
    """The objects that were expected to change and did not."""
    outer: set[tuple[Frame, str]] = field(default_factory=set)
    """The variables of other scopes that functions change which a turn calls."""
    extra: list[Value] = field(default_factory=list)
    entered: tuple[int, int] = (0, 0)
    once: dict[str, object] = field(default_factory=dict)
    """A turn that always leaves the loop is the only one."""


class Loop:
    """Interprets one loop; `names` are the variables its body assigns."""

    def __init__(
        self, it: Interpreter, op: str, node: ast.expr | ast.stmt, names: frozenset[str], attrs: dict[str, object]
    ) -> None:
        self.it, self.op, self.span, self.attrs = it, op, it.span(node), attrs
        self.names = names | _renewed(it, node)
        self.split: dict[int, tuple[_Holder, Box]] = {}
        self.before: Env = dict(it.frame.env)
        # A variable that is assigned holds another object after the first turn.
        self.opaque: dict[_Holder, int] = {name: 1 for name in self._carried() if isinstance(self.before[name], Ref)}
        """How often what variables and attributes were taken for did not hold."""
        self.expected = self._expected(node)
        self.havoc = set(self.expected)
        """The objects that turns change."""
        self.outer: dict[tuple[Frame, str], Abstract] = {}
        """The variables of other scopes that turns change, and what they held before."""
        self.reads = it.reads()
        self.returned, self.yielded, self.left = len(it.frame.returns), len(it.frame.yields), len(it.frame.left)

    def run(self, turn: Callable[[Leaf], Exit], collect: Callable[[], list[Value]] | None = None) -> int:
        """Interpret the loop, leave the state after it, and say how many `break`s it has.

        `collect` is asked at the end of a turn for values that every turn contributes; they become further results
        of the op, given by `self.collected`.
        """
        attempt = self._attempt(turn, collect)
        for _ in range(_ATTEMPTS):
            if not (attempt.unstable or attempt.changed or attempt.unchanged or attempt.outer):
                break
            for holder in attempt.unstable:
                self.opaque[holder] = self.opaque.get(holder, 0) + 1
            self.havoc |= attempt.changed
            self.havoc -= attempt.unchanged
            self.expected = set()
            attempt = self._attempt(turn, collect)
        self._finish(attempt)
        return len(attempt.exits.breaks)

    def _attempt(self, turn: Callable[[Leaf], Exit], collect: Callable[[], list[Value]] | None) -> _Attempt:
        it = self.it
        it.frame.env = dict(self.before)
        # What an abandoned attempt read or returned was made in a region that is thrown away.
        it.restore(self.reads)
        del it.frame.returns[self.returned :]
        del it.frame.yields[self.yielded :]
        del it.frame.left[self.left :]
        entered = (it.builder.newest, it.heap.newest)
        index = it.builder.value(self.span, "")
        head = _Head(it, self.span)
        heads = {name: head.of(self.before[name], self.opaque.get(name, 0), name) for name in self._carried()}
        boxes = {id_: head.box(Ref(id_), self.opaque) for id_ in sorted(self.havoc)}
        self.split = head.split
        it.heap.begin()
        it.rebound.append({})
        for id_, box in boxes.items():
            it.heap[Ref(id_)] = box
        it.frame.env.update(heads)
        it.frame.loops.append(LoopExits())
        with it.builder.nested("loop", "body", self.span, (index, *head.params)) as region:
            self._forget_outer_variables()
            with it.own_sides():
                leaving = turn(Leaf(index))
            attempt = _Attempt(region, heads, boxes, head.initial, head.params, exits=it.frame.loops.pop())
            attempt.entered = entered
            self._end_turn(attempt, leaving)
            attempt.extra = [] if collect is None else collect()
        changed = set(it.heap.undo())
        attempt.unstable |= {holder for id_, (holder, _) in self.split.items() if id_ in changed}
        attempt.changed |= changed - self.havoc - self.split.keys()
        rebound = {at: was for at, was in it.rebound.pop().items() if at[0].opened < index.id and at not in self.outer}
        for (scope, name), was in rebound.items():
            scope.env[name] = was
        self.outer.update(rebound)
        attempt.outer = set(rebound)
        return attempt

    def _forget_outer_variables(self) -> None:
        """Take variables of other scopes for unknown where the body changes them: each turn may see another value."""
        it, frame = self.it, self.it.frame
        for name in sorted(self.names & frame.nonlocal_names):
            scope = frame.enclosing()
            while scope is not None and name not in scope.env:
                scope = scope.enclosing()
            if scope is not None:
                scope.env[name] = it.unknown("a loop changes this variable of another function", self.span, name)
        for scope, name in self.outer:
            scope.env[name] = it.unknown("a loop changes this variable of another function", self.span, name)
        for name in sorted(self.names & frame.global_names):
            frame.global_reads[name] = it.unknown("a loop changes this global", self.span, name)

    def _expected(self, node: ast.AST) -> set[int]:
        """Return the objects that the body changes by its own statements, of those that were there before."""
        found: set[int] = set()
        for base, method, _ in changing(node):
            root = base
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if (method and method not in CHANGES) or not isinstance(root, ast.Name) or root.id in self.names:
                continue
            ref = held(self.it, base)
            if isinstance(ref, Ref) and not (method and isinstance(self.it.heap[ref], ObjectBox)):
                found.add(ref.id)
        return found

    def _carried(self) -> list[str]:
        return sorted(name for name in self.names if name in self.before)

    def _end_turn(self, attempt: _Attempt, leaving: Exit) -> None:
        """Compare the state at the end of a turn with the one it began with."""
        it = self.it
        merge_left(it, attempt.exits.left, self.span, "continue", falls=leaving is Exit.FALL)
        ends = [*([it.frame.env] if leaving is Exit.FALL else []), *attempt.exits.continues]
        if leaving is not Exit.CONTINUE and not ends:
            attempt.once = {"trips": 1, "left": leaving in (Exit.RETURN, Exit.BREAK)}
        for name, head in attempt.heads.items():
            values = [env[name] for env in ends if name in env] or [head]
            end = join(it, values, "continue", self.span)
            attempt.ends[name] = end
            if not self._match(head, end, attempt.nexts):
                attempt.unstable.add(name)
        for id_, box in attempt.boxes.items():
            if it.heap[Ref(id_)] is box and id_ in self.expected:
                attempt.unchanged.add(id_)
            attempt.unstable |= self._unmatched(box, attempt.nexts, id_)

    def _match(self, head: Abstract, end: Abstract, nexts: list[Value]) -> bool:
        """Append the values for the next turn; False when the structure changed."""
        if isinstance(head, Leaf):
            nexts.append(materialise(self.it, end, self.span))
            return self._is_still(head, end)
        if isinstance(head, TupleValue) and isinstance(end, TupleValue) and len(head.items) == len(end.items):
            return self._match_all(head.items, end.items, nexts)
        if isinstance(head, Record) and isinstance(end, Record) and head.cls is end.cls:
            return self._match_all(head.items, end.items, nexts)
        if isinstance(head, Ref) and head.id in self.split:
            return self._match_parts(parts_of(self.split[head.id][1]), end, nexts)
        return same(head, end)

    def _is_still(self, head: Leaf, end: Abstract) -> bool:
        """Whether what is known of a value at the beginning of a turn is true of it at the end."""
        if head.exists and not is_never_none(self.it, end):
            return False
        if not isinstance(end, Leaf):
            return head.holds is None and not head.array and (not head.options or end in head.options)
        held = head.holds is None or (end.holds is not None and same(head.holds, end.holds))
        chosen = not head.options or (bool(end.options) and set(end.options) <= set(head.options))
        return held and chosen and (end.array or not head.array)

    def _match_parts(self, heads: Mapping[Any, Abstract] | None, end: Abstract, nexts: list[Value]) -> bool:
        ends = parts_of(self.it.heap[end]) if isinstance(end, Ref) else None
        if heads is None or ends is None or list(heads) != list(ends):
            return False
        return self._match_all(heads.values(), ends.values(), nexts)

    def _match_all(self, heads: Iterable[Abstract], ends: Iterable[Abstract], nexts: list[Value]) -> bool:
        # Every part is matched even after one failed, so that each leaf of the head gets its value.
        matches = [self._match(head, end, nexts) for head, end in zip(heads, ends, strict=True)]
        return all(matches)

    def _unmatched(self, head: Box, nexts: list[Value], id_: int) -> set[_Holder]:
        """Return the attributes of an object whose structure changed in a turn."""
        if not isinstance(head, ObjectBox):
            nexts.append(materialise(self.it, Ref(id_), self.span))
            return set()
        end = self.it.heap[Ref(id_)]
        attrs = end.attrs if isinstance(end, ObjectBox) else {}
        matched = {name: self._match(part, attrs.get(name, part), nexts) for name, part in head.attrs.items()}
        return {(id_, name) for name, fits in matched.items() if not fits}

    def _finish(self, attempt: _Attempt) -> None:
        it = self.it
        after = [it.builder.value(self.span, param.name) for param in attempt.params]
        self.collected = [it.builder.value(self.span, value.name) for value in attempt.extra]
        it.builder.close(attempt.region, (*attempt.nexts[: len(after)], *attempt.extra))
        it.emit(
            self.op,
            self.span,
            attrs={**self.attrs, **attempt.once, "carry": len(after), "entered": attempt.entered},
            operands=tuple(attempt.initial),
            results=(*after, *self.collected),
            regions=(attempt.region,),
        )
        self._forget_outer_variables()
        outside = dict(zip(attempt.params, after, strict=True))
        env = {**it.frame.env, **{name: self._after(head, outside) for name, head in attempt.heads.items()}}
        for name in self._carried():
            late = [exit_env[name] for exit_env in attempt.exits.breaks if name in exit_env]
            if late:
                env[name] = join(it, [env[name], *late], "break", self.span)
        it.frame.env = env
        for id_, box in attempt.boxes.items():
            it.heap[Ref(id_)] = self._box_after(box, outside)

    def _after(self, head: Abstract, outside: dict[Value, Value]) -> Abstract:
        """Return what a variable holds after the loop; a container that was carried in parts is made anew."""
        renewed = _renamed(head, outside)
        return rebuild(renewed, lambda leaf: _as_leaf(leaf, outside), self.it) if self._is_split(head) else renewed

    def _box_after(self, box: Box, outside: dict[Value, Value]) -> Box:
        if isinstance(box, ObjectBox):
            return replace(box, attrs={name: self._after(part, outside) for name, part in box.attrs.items()})
        return OpaqueBox(outside.get(box.value, box.value), box.kind) if isinstance(box, OpaqueBox) else box

    def _is_split(self, head: Abstract) -> bool:
        if isinstance(head, TupleValue | Record):
            return any(self._is_split(item) for item in head.items)
        return isinstance(head, Ref) and head.id in self.split


def _renewed(it: Interpreter, node: ast.AST) -> set[str]:
    """Return the variables that hold a container known as one value, which a loop's statements change."""
    changed = (base for base, method, is_dict in changing(node) if is_dict and (not method or method in CHANGES))
    names = (base.id for base in changed if isinstance(base, ast.Name))
    return {name for name in names if isinstance(held := it.frame.env.get(name), Leaf) and not held.array}


def parts_of(box: Box) -> Mapping[Any, Abstract] | None:
    """Return the parts of a container that a loop can carry one by one; None where it cannot."""
    match box:
        case DictBox(entries=entries, rest=None):
            return {(type(box), key): part for key, part in entries.items()}
        case ListBox(items=items, kind="list" | "deque"):
            return {(type(box), at): part for at, part in enumerate(items)}
        case ObjectBox(cls=cls, attrs=attrs, value=value, changed=changed):
            whole = {} if value is None else {(id(cls), changed): Leaf(value)}
            return {**{(id(cls), name): part for name, part in attrs.items()}, **whole}
    return None


def _with_parts(box: Box, parts: list[Abstract]) -> Box:
    match box:
        case DictBox(entries=entries):
            return DictBox(dict(zip(entries, parts, strict=True)))
        case ListBox(kind=kind):
            return ListBox(tuple(parts), kind)
        case ObjectBox(attrs=attrs, value=value):
            whole = parts.pop() if value is not None else None
            return replace(
                box, attrs=dict(zip(attrs, parts, strict=True)), value=whole.value if isinstance(whole, Leaf) else None
            )
    return box


class _Head:
    """Makes the state at the beginning of a turn: each leaf that may change becomes a parameter of the region."""

    def __init__(self, it: Interpreter, span: Span) -> None:
        self.it, self.span = it, span
        self.initial: list[Value] = []
        self.params: list[Value] = []
        self.split: dict[int, tuple[_Holder, Box]] = {}
        """The containers that are carried in parts, with what holds each."""
        self.open: set[int] = set()
        """The containers around the part that is looked at: an object may hold itself."""

    def leaf(self, value: Abstract, *, whole: bool = False) -> Leaf:
        """Make a parameter; `whole` keeps what a library's object holds, for as long as no turn exchanges it."""
        initial = materialise(self.it, value, self.span)
        self.initial.append(initial)
        self.params.append(self.it.builder.value(initial.span, initial.name))
        if not isinstance(value, Leaf):
            return Leaf(self.params[-1])
        return value.at(self.params[-1]) if whole else Leaf(self.params[-1], value.cls)

    def of(self, value: Abstract, opacity: int, holder: _Holder) -> Abstract:
        """Return the head of one value: exact at first, then in parts, then with opaque parts, at last as one leaf."""
        if opacity > 2 or isinstance(value, Leaf | Const):
            return self.leaf(value, whole=not opacity)
        if isinstance(value, TupleValue):
            return TupleValue(tuple([self.of(item, opacity, holder) for item in value.items]))
        if isinstance(value, Record):
            return Record(value.cls, tuple([self.of(item, opacity, holder) for item in value.items]))
        if opacity == 1 and isinstance(value, Ref):
            return self.in_parts(value, holder)
        return self.leaf(value) if opacity else value

    def in_parts(self, ref: Ref, holder: _Holder) -> Abstract:
        """Return a container of which every part that may change is a parameter of its own."""
        box = self.it.heap[ref]
        parts = parts_of(box)
        if parts is None or not 0 < len(parts) <= _MOST_PARTS or ref.id in self.open:
            return self.leaf(ref)
        self.open.add(ref.id)
        made = _with_parts(box, [self.field(part, 1, holder) for part in parts.values()])
        self.open.discard(ref.id)
        new = self.it.heap.new(made)
        self.split[new.id] = (holder, made)
        return new

    def field(self, value: Abstract, opacity: int, holder: _Holder) -> Abstract:
        """Return the head of an attribute; those that hold functions are set once, in the constructor."""
        functions = FunctionValue | Transformed | BoundMethod | PartialValue
        # `model.apply` of a model that has no arrays yet.
        method = isinstance(value, Attribute) and not leaves(self.it, value)
        return value if method or isinstance(value, functions) else self.of(value, opacity, holder)

    def box(self, ref: Ref, opaque: Mapping[_Holder, int]) -> Box:
        """Return the head of an object that turns change."""
        box = self.it.heap[ref]
        if not isinstance(box, ObjectBox):
            return OpaqueBox(self.leaf(ref).value, kind_of(self.it, ref))
        held = {name: (value, (ref.id, name)) for name, value in box.attrs.items()}
        attrs = {name: self.field(value, opaque.get(at, 0), at) for name, (value, at) in held.items()}
        return replace(box, attrs=attrs)


def _renamed(value: Abstract, names: dict[Value, Value]) -> Abstract:
    if isinstance(value, Leaf):
        return value.at(names.get(value.value, value.value))
    if isinstance(value, TupleValue):
        return TupleValue(tuple([_renamed(item, names) for item in value.items]))
    if isinstance(value, Record):
        return Record(value.cls, tuple([_renamed(item, names) for item in value.items]))
    return value


def _as_leaf(leaf: Leaf, names: dict[Value, Value]) -> Leaf:
    return leaf.at(names.get(leaf.value, leaf.value))


HANDLERS = {ast.For: for_, ast.AsyncFor: for_, ast.While: while_}
