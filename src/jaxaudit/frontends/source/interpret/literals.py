"""Displays and comprehensions: tuples, lists, sets, dicts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from jaxaudit.frontends.source.interpret import unrolled
from jaxaudit.frontends.source.interpret.asked import hashed, test
from jaxaudit.frontends.source.interpret.assign import assign
from jaxaudit.frontends.source.interpret.filled import ordered_leaves, plain
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.loops import Loop
from jaxaudit.frontends.source.interpret.syntax import walk
from jaxaudit.frontends.source.notes import bindings
from jaxaudit.frontends.source.notes.orders import keys_of
from jaxaudit.frontends.source.notes.turns import note_turns
from jaxaudit.frontends.source.notes.unpacking import name_of
from jaxaudit.frontends.source.values.arguments import known_items
from jaxaudit.frontends.source.values.callables import Attribute
from jaxaudit.frontends.source.values.elements import element, run_through, turns
from jaxaudit.frontends.source.values.folding import truth
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, OpaqueBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Ref, Sequence, TupleValue, Zip, placed, sized
from jaxaudit.frontends.source.values.structure import argument, in_a_row, leaves, rebuild
from jaxaudit.ir import Argument, Exit, Value

_LONGEST = 256
"""Displays longer than this are data, not structure."""


def tuple_(it: Interpreter, node: ast.Tuple) -> Abstract:
    """Return a tuple."""
    items = _items(it, node)
    if isinstance(items, list) and len(items) == len(node.elts):
        bindings.note_again(it, zip(node.elts, items, strict=True))
    it.packed[it.span(node)] = tuple([name_of(one) for one in node.elts])
    return items if isinstance(items, Leaf) else TupleValue(tuple(items), it.span(node))


def list_(it: Interpreter, node: ast.List | ast.Set) -> Abstract:
    """Return a list or a set."""
    items = _items(it, node)
    kind = "set" if isinstance(node, ast.Set) else "list"
    for item in items if kind == "set" and isinstance(items, list) else ():
        hashed(it, item, "set", it.span(node))
    return items if isinstance(items, Leaf) else it.heap.new(ListBox(tuple(items), kind, made=it.span(node)))


def _items(it: Interpreter, node: ast.Tuple | ast.List | ast.Set) -> list[Abstract] | Leaf:
    kind = type(node).__name__.lower()
    if len(node.elts) > _LONGEST:
        return Leaf(it.emit("py.container", it.span(node), attrs={"kind": kind}, operands=()).result)
    runs: list[Argument] = []
    items: list[Abstract] = []
    for item in node.elts:
        if not isinstance(item, ast.Starred):
            items.append(placed(it.evaluate(item), it.span(item)))
            continue
        value = it.evaluate(item.value)
        known = known_items(it, value)
        if known is not None:
            items.extend(known)
            continue
        # Nobody runs through a method: what stands here is the attribute, not the object that has it.
        spread = it.load_attribute(value, it.span(item)) if isinstance(value, Attribute) else value
        runs += [*_listed(it, items, node), argument(it, spread, it.span(item))]
        items = []
    return items if not runs else in_a_row(it, [*runs, *_listed(it, items, node)], it.span(node), kind)


def _listed(it: Interpreter, items: list[Abstract], node: ast.expr) -> list[Argument]:
    return [tuple(argument(it, one, it.span(node)) for one in items)] if items else []


def dict_(it: Interpreter, node: ast.Dict) -> Abstract:
    """Return a dict; keys that are not constant leave it open."""
    entries: dict[object, Abstract] = {}
    others: list[Value] = []
    held: list[tuple[ast.expr, Abstract]] = []
    is_open = False
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = placed(it.evaluate(value_node), it.span(value_node))
        if key_node is None:
            box = it.heap[value] if isinstance(value, Ref) else None
            if isinstance(box, DictBox):
                entries.update(box.entries)
                others.extend([] if box.rest is None else [box.rest])
            else:
                is_open = True
                others.extend(leaves(it, value))
            continue
        held.append((value_node, value))
        key = it.evaluate(key_node)
        if isinstance(key, Const) and isinstance(key.value, str | int | float | bytes | bool | None):
            entries[key.value] = sized(value, str(key.value), f"{it.frame.place}:{node.lineno}:dict")
        else:
            is_open = True
            hashed(it, key, "dict", it.span(key_node))
            others.extend((*leaves(it, key), *leaves(it, value)))
    bindings.note_again(it, held)
    rest = None
    if others or is_open:
        rest = it.emit("py.container", it.span(node), attrs={"kind": "dict"}, operands=tuple(others)).result
    else:
        bindings.note_entries(it, entries, it.span(node))
    return it.heap.new(DictBox(entries, rest, it.span(node)))


def comprehension(it: Interpreter, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Abstract:
    """Return a list of the items one by one where they are of different kinds, else a sequence that looks like one."""
    if not isinstance(node, ast.GeneratorExp):
        note_turns(it, node)
    first = node.generators[0]
    iterable = run_through(it.evaluate(first.iter))
    # Of what `zip` goes through, an array may have fewer rows than there are items beside it.
    single = not isinstance(iterable, Zip) or unrolled.differ(it, iterable, arrays=False)
    turns = _turns(it, node, iterable) if single else []
    keys = keys_of(it, iterable) if len(node.generators) == 1 and not first.ifs else ()
    if turns:
        return it.heap.new(ListBox(tuple(_each(it, first, turns, lambda: it.evaluate(node.elt))), keys=keys))
    item, results = _run(it, node, node.generators, [node.elt], iterable)
    outside = iter(results)
    lazy = isinstance(node, ast.GeneratorExp)
    return Sequence(rebuild(item[0], lambda leaf: leaf.at(next(outside)), it), lazy, keys=keys)


def dict_comprehension(it: Interpreter, node: ast.DictComp) -> Abstract:
    """Return a dict; its entries are known one by one where its keys are, and else as one value."""
    note_turns(it, node)
    iterable = run_through(it.evaluate(node.generators[0].iter))
    known = _entries(it, node, _turns(it, node, iterable))
    if known is not None:
        return it.heap.new(DictBox(known))
    pair, results = _run(it, node, node.generators, [node.key, node.value], iterable)
    columns: dict[str, Argument] = {}
    if isinstance(pair[0], Leaf):
        # What is no single value is taken apart: `{name: {"w": w, "b": b} for ...}`.
        values = (
            {"values": results[1]} if len(results) == 2 and isinstance(pair[1], Leaf) else {"parts": tuple(results[1:])}
        )
        columns = {"keys": results[0], **values}
    operands = None if columns else tuple(results)
    made = it.emit("py.container", it.span(node), columns, {"kind": "dict"}, operands=operands).result
    return it.heap.new(OpaqueBox(made, "dict"))


def _turns(
    it: Interpreter, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, iterable: Abstract
) -> list[Abstract]:
    """Return what a comprehension over a few items sees in each of its turns; nothing where that is not known."""
    first = node.generators[0]
    plain = len(node.generators) == 1 and not first.ifs and isinstance(node, ast.ListComp | ast.DictComp)
    return unrolled.rows(it, iterable, it.span(first.iter)) if plain else []


def _each(
    it: Interpreter, generator: ast.comprehension, turns: list[Abstract], evaluate: Callable[[], Abstract]
) -> Iterator[Abstract]:
    """Evaluate what a comprehension makes in each of its turns."""
    before = dict(it.frame.env)
    for turn in unrolled.one_by_one(it, turns):
        assign(it, generator.target, turn, it.span(generator.iter))
        yield evaluate()
    it.frame.env = before


def _entries(it: Interpreter, node: ast.DictComp, turns: list[Abstract]) -> dict[object, Abstract] | None:
    """Return the entries of a comprehension that goes over a few items with a constant key for each."""
    keys = [
        key.value
        for key in _each(it, node.generators[0], turns, lambda: it.evaluate(node.key))
        if isinstance(key, Const) and isinstance(key.value, str | int)
    ]
    if not turns or len(keys) < len(turns):
        return None
    return dict(zip(keys, _each(it, node.generators[0], turns, lambda: it.evaluate(node.value)), strict=True))


def _run(
    it: Interpreter, node: ast.expr, generators: list[ast.comprehension], items: list[ast.expr], iterable: Abstract
) -> tuple[list[Abstract], list[Value]]:
    """Interpret the generators as nested loops; give the items of one turn and the values that stand for all turns."""
    first, rest = generators[0], generators[1:]
    where = it.span(first.iter)
    made: list[Abstract] = []
    inner: list[Value] = []

    def turn(index: Leaf) -> Exit:
        assign(it, first.target, element(it, iterable, index, where), where)
        for condition in first.ifs:
            asked = it.evaluate(condition)
            if truth(it, asked) is None:
                test(it, asked, "if", it.span(condition))
        if rest:
            made[:], inner[:] = _run(it, node, rest, items, run_through(it.evaluate(rest[0].iter)))
        else:
            made[:] = [plain(it, it.evaluate(item)) for item in items]
            inner[:] = [leaf for item in made for leaf in ordered_leaves(it, item)]
        return Exit.FALL

    before = dict(it.frame.env)
    attrs: dict[str, object] = {**turns(it, iterable), "kind": "comprehension"}
    attrs["every_turn"] = not first.ifs
    attrs["chained"] = bool(rest)
    # A comprehension has a scope of its own: its variables are new in each turn and do not outlive it.
    walrus = frozenset(n.target.id for n in walk(node) if isinstance(n, ast.NamedExpr))
    loop = Loop(it, "py.loop", node, walrus, attrs)
    loop.run(turn, lambda: list(inner))
    it.frame.env = {**before, **{name: it.frame.env[name] for name in walrus if name in it.frame.env}}
    return made, loop.collected


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
