"""Loops over a few items that differ, interpreted turn by turn.

One state cannot stand for the turns of `for name, layer in [("a", Dense(3)), ("b", None)]`: text, functions, objects
and None do not merge into one value as the rows of an array do. Nor can it for those of a loop over sizes, or over the
arrays that were made of them: each layer of a network has a shape of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxaudit.frontends.source.interpret import subscripts
from jaxaudit.frontends.source.interpret.assign import assign
from jaxaudit.frontends.source.interpret.branches import join, merge_left
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import known_items
from jaxaudit.frontends.source.values.callables import Attribute, ClassValue, PartialValue
from jaxaudit.frontends.source.values.frames import Env, LoopExits, assigned_names
from jaxaudit.frontends.source.values.heap import DictBox, ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Range, Record, Ref, TupleValue, Zip
from jaxaudit.frontends.source.values.model import Sequence as SequenceValue
from jaxaudit.frontends.source.values.structure import is_function
from jaxaudit.ir import Exit
from jaxaudit.spans import Span

_MOST = 8
"""How many turns are interpreted one by one."""
_READ = (Leaf, SequenceValue)
"""What has items that are read by their number."""


def rows(it: Interpreter, iterable: Abstract, span: Span) -> list[Abstract]:
    """Return what a loop over a few items sees in each of its turns; nothing where that is not known."""
    if not isinstance(iterable, Zip):
        items = known_items(it, iterable)
        return list(items) if items is not None and len(items) <= _MOST else []
    count = _count(it, iterable)
    if count is None or count > _MOST or any(_are_fewer(it, part, count) for part in iterable.parts):
        return []
    columns = [_column(it, part, count, span) for part in iterable.parts]
    if not all(columns):
        return []
    numbers = [[Const(at) for at in range(count)]] if iterable.counted else []
    return [TupleValue(row) for row in zip(*numbers, *columns, strict=False)]


def _count(it: Interpreter, iterable: Abstract) -> int | None:
    """Return how many items are known one by one; None where none are."""
    if isinstance(iterable, Zip):
        counts = [count for part in iterable.parts if (count := _count(it, part)) is not None]
        return min(counts, default=None)
    items = known_items(it, iterable)
    return None if items is None else len(items)


def _are_fewer(it: Interpreter, part: Abstract, count: int) -> bool:
    """Whether an array of keys was split into fewer than there are turns, so that `zip` ends before."""
    if not isinstance(part, Leaf):
        return False
    splits = (op for op in it.builder.region.ops if op.name == "key.split" and part.value in op.results)
    return any(isinstance(number := op.arguments.get("num", 2), int) and number < count for op in splits)


def _column(it: Interpreter, part: Abstract, count: int, span: Span) -> list[Abstract]:
    if isinstance(part, Zip):
        return rows(it, part, span)[:count]
    items = known_items(it, part)
    if items is not None:
        return list(items[:count])
    if isinstance(part, Range):
        start, step = part.start, part.step
        numbers = isinstance(start, Const) and isinstance(step, Const)
        return [Const(start.value + at * step.value) for at in range(count)] if numbers else []  # type: ignore[operator]
    return [subscripts.read(it, part, Const(at), span) for at in range(count)] if isinstance(part, _READ) else []


def differ(it: Interpreter, iterable: Abstract, *, arrays: bool = True) -> bool:
    """Whether a loop runs over a few items that do not merge into one value; with `arrays`, neither do arrays.

    A comprehension gives a list of what it makes of each array, which goes by what they all are.
    """
    if isinstance(iterable, Zip):
        return any(differ(it, part, arrays=arrays) for part in iterable.parts)
    items = known_items(it, iterable)
    return bool(items) and len(items) <= _MOST and _differ(it, items, arrays)


def _differ(it: Interpreter, items: Sequence[Abstract], arrays: bool) -> bool:
    first = items[0]
    if isinstance(first, TupleValue | Record):
        tuples = [item.items for item in items if isinstance(item, TupleValue | Record)]
        same = len(tuples) == len(items) and len({len(parts) for parts in tuples}) == 1
        return not same or any(_differ(it, column, arrays) for column in zip(*tuples, strict=True))
    integers = {item.value for item in items if isinstance(item, Const) and isinstance(item.value, int)}
    return len(integers) > 1 or any(_is_structure(it, item, arrays) for item in items)


def _is_structure(it: Interpreter, item: Abstract, arrays: bool) -> bool:
    if isinstance(item, Const):
        return item.value is None or isinstance(item.value, str)
    if isinstance(item, Leaf):
        return item.array and arrays
    if isinstance(item, Ref):
        box = it.heap[item]
        return isinstance(box, ObjectBox) or (isinstance(box, DictBox) and arrays)
    member = isinstance(item, Attribute) and isinstance(item.receiver, ClassValue)
    return member or is_function(item) or isinstance(item, ClassValue | PartialValue)


def run(it: Interpreter, node: ast.For | ast.AsyncFor, turns: Sequence[Abstract], span: Span) -> Exit:
    """Interpret the turns of a loop one after the other."""
    names = sorted(assigned_names(node))
    broken: list[Env] = []
    for item in one_by_one(it, turns):
        it.frame.loops.append(LoopExits())
        assign(it, node.target, item, span)
        with it.own_sides():
            leaving = it.execute(node.body)
        exits = it.frame.loops.pop()
        merge_left(it, exits.left, span, "continue", falls=leaving is Exit.FALL)
        broken += exits.breaks
        ends = [*([it.frame.env] if leaving is Exit.FALL else []), *exits.continues]
        if not ends and not broken:
            return leaving
        if not ends:
            it.frame.env = _joined(it, broken, names, span)
            return Exit.FALL
        it.frame.env = _joined(it, ends, names, span)
    leaving = it.execute(node.orelse)
    if broken:
        ends = [*([it.frame.env] if leaving is Exit.FALL else []), *broken]
        it.frame.env = _joined(it, ends, names, span)
        return Exit.FALL
    return leaving


def one_by_one(it: Interpreter, turns: Sequence[Abstract]) -> Iterator[Abstract]:
    """Return what each turn sees, with a scope of its own for the sizes that it gives names to."""
    frame, outer = it.frame, it.frame.turn
    try:
        for number, item in enumerate(turns, start=1):
            frame.turn = f"{outer}.{it.builder.newest}.{number}"
            yield item
    finally:
        frame.turn = outer


def _joined(it: Interpreter, envs: Sequence[Env], names: Sequence[str], span: Span) -> Env:
    """Return the variables where several paths meet again."""
    env = dict(envs[0])
    for name in names if len(envs) > 1 else ():
        values = [one[name] for one in envs if name in one]
        if values:
            env[name] = join(it, values, "continue", span)
    return env
