"""Functions that map over the leaves of trees."""

from __future__ import annotations

import ast
import operator
from dataclasses import replace

from jaxaudit.frontends.source.interpret import transforms
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.regions import data_leaves, flattened, with_data
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import Attribute, FunctionValue
from jaxaudit.frontends.source.values.folding import truth
from jaxaudit.frontends.source.values.heap import DictBox, ListBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, Record, Ref, TupleValue
from jaxaudit.frontends.source.values.structure import leaves, materialise
from jaxaudit.frontends.source.values.trees import trees_of
from jaxaudit.ir.trees import Border
from jaxaudit.spans import Span

_DEEPEST = 4
"""How deep in containers a None is looked for."""


def tree_map(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `jax.tree.map(f, tree, *rest)`: the function sees one leaf of each tree."""
    return _mapped(it, given, span, ())


def tree_map_with_path(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `jax.tree.map_with_path(f, tree, *rest)`: the function also sees the path of the leaves."""
    if len(given.positional) < 2 or given.star is not None:
        return None
    return _mapped(it, given, span, (it.unknown("the path of a leaf", span, "path"),))


def _mapped(it: Interpreter, given: Arguments, span: Span, before: tuple[Leaf, ...]) -> Abstract | None:
    if len(given.positional) < 2 or given.star is not None:
        return None
    function = given.positional[0]
    trees = [it.load_attribute(one, span) if isinstance(one, Attribute) else one for one in given.positional[1:]]
    wholes = Arguments((*before, *(Leaf(materialise(it, tree, span)) for tree in trees)))
    inputs = flattened(it, wholes.all())
    attrs: dict[str, object] = {
        "function": transforms.name_of(function),
        "in_axes": (0,) * len(inputs.operands),
        "border": Border(trees_of(it, trees)),
        "is_leaf": _stops(given, function),
        "inline": isinstance(function, FunctionValue) and isinstance(function.node, ast.Lambda),
        "paths": len(before),
        "vararg": isinstance(function, FunctionValue) and function.node.args.vararg is not None and not given.spread,
    }
    first = trees[0]
    shape: list[Leaf] = []

    def fresh() -> list[Leaf]:
        shape.extend(Leaf(it.builder.value(span)) for _ in data_leaves(it, first))
        return shape

    transforms.run_body(it, "tree.map", function, wholes, inputs, attrs, span, fresh)
    made = with_data(it, first, [leaf.value for leaf in shape])
    made = _filled(it, made, span, nones=attrs["is_leaf"] is True)
    if attrs["is_leaf"] is not True:
        return made
    return made if _asks_for_none(given) else _cut(it, made, given.keywords.get("is_leaf"), span)


def _filled(it: Interpreter, value: Abstract, span: Span, depth: int = 0, *, nones: bool) -> Abstract:
    """Return a tree in which the function has replaced each constant, and each None that `is_leaf` may make a leaf."""
    if value == NONE:
        return it.unknown("what the function gives for None", span) if nones else value
    if isinstance(value, Const):
        return it.unknown("what the function gives for a constant", span)

    def inside(item: Abstract) -> Abstract:
        return _filled(it, item, span, depth + 1, nones=nones)

    if isinstance(value, TupleValue | Record):
        items = tuple(map(inside, value.items))
        return value if all(map(operator.is_, items, value.items)) else replace(value, items=items)
    box = it.heap[value] if isinstance(value, Ref) and depth < _DEEPEST else None
    match box:
        case DictBox(entries=entries):
            filled = {key: inside(item) for key, item in entries.items()}
            return value if filled == entries else it.heap.new(replace(box, entries=filled))
        case ListBox(items=items):
            listed = tuple(map(inside, items))
            return value if all(map(operator.is_, listed, items)) else it.heap.new(replace(box, items=listed))
    return value


def _cut(it: Interpreter, value: Abstract, asked: Abstract | None, span: Span, depth: int = 0) -> Abstract:
    """Return one leaf for each container in a tree that `is_leaf` makes one, and for those that it may make one."""
    box = it.heap[value] if isinstance(value, Ref) and depth < _DEEPEST else None
    if not isinstance(value, TupleValue | Record) and not isinstance(box, DictBox | ListBox):
        return value
    stops = truth(it, it.call(asked, Arguments((value,)), span)) if isinstance(asked, FunctionValue) else None
    if stops or (stops is None and depth and isinstance(value, TupleValue | Record)):
        first = next(iter(leaves(it, value)), None)
        return value if first is None else Leaf(first)

    def inside(item: Abstract) -> Abstract:
        return _cut(it, item, asked, span, depth + 1)

    if isinstance(box, DictBox):
        return it.heap.new(replace(box, entries={key: inside(item) for key, item in box.entries.items()}))
    if isinstance(box, ListBox):
        return it.heap.new(replace(box, items=tuple(map(inside, box.items))))
    assert isinstance(value, TupleValue | Record)
    return replace(value, items=tuple(map(inside, value.items)))


def _asks_for_none(given: Arguments) -> bool:
    match given.keywords.get("is_leaf"):
        case FunctionValue(node=ast.Lambda(body=ast.Compare(ops=[ast.Is()], comparators=[ast.Constant(value=None)]))):
            return True
    return False


def _stops(given: Arguments, function: Abstract) -> bool | str:
    """Whether `is_leaf` changes what a leaf is: `kept` when None is one and is given back as it was."""
    asked = given.keywords.get("is_leaf")
    if asked is None:
        return given.stars is not None
    match asked, function:
        case (
            FunctionValue(node=ast.Lambda(body=ast.Compare(ops=[ast.Is()], comparators=[ast.Constant(value=None)]))),
            FunctionValue(node=ast.Lambda(body=ast.IfExp(body=kept, orelse=other))),
        ) if any(isinstance(one, ast.Constant) and one.value is None for one in (kept, other)):
            return "kept"
    return True
