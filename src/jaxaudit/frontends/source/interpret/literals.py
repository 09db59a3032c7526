"""Displays and comprehensions: tuples, lists, sets, dicts."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.interpret import subscripts
from jaxaudit.frontends.source.interpret.assign import assign
from jaxaudit.frontends.source.interpret.loops import Loop
from jaxaudit.frontends.source.interpret.syntax import walk
from jaxaudit.frontends.source.values.arguments import known_items
from jaxaudit.frontends.source.values.elements import element, trip_count
from jaxaudit.frontends.source.values.folding import truth
from jaxaudit.frontends.source.values.frames import assigned_names
from jaxaudit.frontends.source.values.model import (
    Abstract,
    Const,
    DictBox,
    Leaf,
    ListBox,
    ObjectBox,
    Range,
    Ref,
    Sequence,
    TupleValue,
    Zip,
    sized,
)
from jaxaudit.frontends.source.values.structure import leaves, materialise, rebuild
from jaxaudit.ir import Exit, Value
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter

_UNROLLED = 8
"""How many entries of a dict are computed one by one."""

_LONGEST = 256
"""Displays longer than this are data, not structure."""


def tuple_(it: Interpreter, node: ast.Tuple) -> Abstract:
    """Return a tuple."""
    items = _items(it, node)
    return items if isinstance(items, Leaf) else TupleValue(tuple(items))


def list_(it: Interpreter, node: ast.List | ast.Set) -> Abstract:
    """Return a list or a set."""
    items = _items(it, node)
    kind = "set" if isinstance(node, ast.Set) else "list"
    return items if isinstance(items, Leaf) else it.heap.new(ListBox(tuple(items), kind))


def _items(it: Interpreter, node: ast.Tuple | ast.List | ast.Set) -> list[Abstract] | Leaf:
    kind = type(node).__name__.lower()
    if len(node.elts) > _LONGEST:
        return Leaf(it.emit("py.container", it.span(node), attrs={"kind": kind}, operands=()).result)
    items: list[Abstract] = []
    for item in node.elts:
        if not isinstance(item, ast.Starred):
            items.append(it.evaluate(item))
            continue
        value = it.evaluate(item.value)
        known = known_items(it, value)
        if known is None:
            operands = (*(leaf for part in items for leaf in leaves(it, part)), *leaves(it, value))
            return Leaf(it.emit("py.container", it.span(node), attrs={"kind": kind}, operands=operands).result)
        items.extend(known)
    return items


def dict_(it: Interpreter, node: ast.Dict) -> Abstract:
    """Return a dict; keys that are not constant leave it open."""
    entries: dict[object, Abstract] = {}
    others: list[Value] = []
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = it.evaluate(value_node)
        if key_node is None:
            box = it.heap[value] if isinstance(value, Ref) else None
            if isinstance(box, DictBox):
                entries.update(box.entries)
                others.extend([] if box.rest is None else [box.rest])
            else:
                others.extend(leaves(it, value))
            continue
        key = it.evaluate(key_node)
        if isinstance(key, Const) and isinstance(key.value, str | int | float | bytes | bool | None):
            entries[key.value] = sized(value, str(key.value), f"{it.frame.place}:{node.lineno}:dict")
        else:
            others.extend((*leaves(it, key), *leaves(it, value)))
    rest = None
    if others:
        rest = it.emit("py.container", it.span(node), attrs={"kind": "dict"}, operands=tuple(others)).result
    return it.heap.new(DictBox(entries, rest))


def comprehension(it: Interpreter, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Abstract:
    """Return a sequence whose items all look like one turn of the comprehension."""
    item, results = _run(it, node, node.generators, [node.elt])
    outside = iter(results)
    lazy = isinstance(node, ast.GeneratorExp)
    return Sequence(rebuild(item[0], lambda leaf: leaf.at(next(outside)), it), lazy)


def dict_comprehension(it: Interpreter, node: ast.DictComp) -> Abstract:
    """Return a dict; its entries are known one by one where its keys are, and else nothing of it."""
    known = _entries(it, node)
    if known is not None:
        return it.heap.new(DictBox(known))
    _, results = _run(it, node, node.generators, [node.key, node.value])
    return Leaf(it.emit("py.container", it.span(node), attrs={"kind": "dict"}, operands=tuple(results)).result)


def _entries(it: Interpreter, node: ast.DictComp) -> dict[object, Abstract] | None:
    """Return the entries of a comprehension that goes over a few items with a constant key for each."""
    first = node.generators[0]
    if len(node.generators) > 1 or first.ifs or not isinstance(node.key, ast.Name) or not _is_plain(first.iter):
        return None
    before = dict(it.frame.env)
    rows = _rows(it, it.evaluate(first.iter), it.span(first.iter))
    entries: dict[object, Abstract] | None = {} if rows else None
    for row in rows:
        assign(it, first.target, row, it.span(first.iter))
        key = it.evaluate(node.key)
        if not isinstance(key, Const) or not isinstance(key.value, str | int):
            entries = None
        if entries is None or not isinstance(key, Const):
            break
        entries[key.value] = it.evaluate(node.value)
    it.frame.env = before
    return entries


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression may as well be read twice: names, and calls of Python's own functions on them."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return _is_plain(value)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return all(map(_is_plain, items))
        case ast.Call(func=ast.Name(id="zip" | "enumerate"), args=args, keywords=[]):
            return all(map(_is_plain, args))
        case ast.Call(func=ast.Attribute(value=value, attr="items" | "keys" | "values"), args=[], keywords=[]):
            return _is_plain(value)
    return False


def _rows(it: Interpreter, iterable: Abstract, span: Span) -> list[Abstract]:
    """Return what a loop over a few items sees in each of its turns; nothing where that is not known."""
    if not isinstance(iterable, Zip):
        items = known_items(it, iterable)
        return list(items) if items is not None and len(items) <= _UNROLLED else []
    counts = [len(items) for part in iterable.parts if (items := known_items(it, part)) is not None]
    if not counts or min(counts) > _UNROLLED:
        return []
    columns = [_column(it, part, min(counts), span) for part in iterable.parts]
    if not all(columns):
        return []
    numbers = [[Const(at) for at in range(min(counts))]] if iterable.counted else []
    return [TupleValue(row) for row in zip(*numbers, *columns, strict=False)]


def _column(it: Interpreter, part: Abstract, count: int, span: Span) -> list[Abstract]:
    items = known_items(it, part)
    if items is not None:
        return list(items[:count])
    return [subscripts.read(it, part, Const(at), span) for at in range(count)] if isinstance(part, Leaf) else []


def _run(
    it: Interpreter, node: ast.expr, generators: list[ast.comprehension], items: list[ast.expr]
) -> tuple[list[Abstract], list[Value]]:
    """Interpret the generators as nested loops; give the items of one turn and the values that stand for all turns."""
    first, rest = generators[0], generators[1:]
    iterable = it.evaluate(first.iter)
    where = it.span(first.iter)
    made: list[Abstract] = []
    inner: list[Value] = []

    def turn(index: Leaf) -> Exit:
        assign(it, first.target, element(it, iterable, index, where), where)
        for condition in first.ifs:
            asked = it.evaluate(condition)
            if truth(it, asked) is None:
                span = it.span(condition)
                it.emit("py.test", span, {"value": materialise(it, asked, span)}, {"construct": "if"}, results=0)
        if rest:
            made[:], inner[:] = _run(it, node, rest, items)
        else:
            made[:] = [_plain(it, it.evaluate(item)) for item in items]
            inner[:] = [leaf for item in made for leaf in _ordered_leaves(it, item)]
        return Exit.FALL

    before = dict(it.frame.env)
    attrs: dict[str, object] = {"trips": trip_count(it, iterable), "kind": "comprehension"}
    if len(generators) == 1 and not first.ifs and isinstance(iterable, Range) and iterable.start == Const(0):
        attrs["items"] = iterable.stop.value if isinstance(iterable.stop, Const) and iterable.step == Const(1) else None
    loop = Loop(it, "py.loop", it.span(node), assigned_names(node), attrs)
    loop.run(turn, lambda: list(inner))
    # A comprehension has a scope of its own: its variables do not outlive it.
    walrus = {n.target.id for n in walk(node) if isinstance(n, ast.NamedExpr)}
    it.frame.env = {**before, **{name: it.frame.env[name] for name in walrus if name in it.frame.env}}
    return made, loop.collected


def _plain(it: Interpreter, item: Abstract, depth: int = 0) -> Abstract:
    """Keep structure, constants and functions apart; a container of unknown make becomes one leaf."""
    if isinstance(item, TupleValue):
        return TupleValue(tuple([_plain(it, part, depth) for part in item.items]))
    if not isinstance(item, Ref):
        return item
    box = it.heap[item]
    if depth < _DEEPEST:
        match box:
            case DictBox(entries=entries, rest=None):
                return it.heap.new(DictBox({key: _plain(it, part, depth + 1) for key, part in entries.items()}))
            case ObjectBox(cls=cls, attrs=attrs, value=None):
                parts = {name: _plain(it, part, depth + 1) for name, part in attrs.items()}
                return it.heap.new(ObjectBox(cls, parts))
    return Leaf(materialise(it, item, it.builder.region.span))


def _ordered_leaves(it: Interpreter, item: Abstract) -> list[Value]:
    found: list[Value] = []

    def note(leaf: Leaf) -> Leaf:
        found.append(leaf.value)
        return leaf

    rebuild(item, note, it)
    return found


_DEEPEST = 3
"""How deep containers in the items of a comprehension are kept apart."""

HANDLERS = {
    ast.Tuple: tuple_,
    ast.List: list_,
    ast.Set: list_,
    ast.Dict: dict_,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: dict_comprehension,
}
