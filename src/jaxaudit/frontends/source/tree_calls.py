"""Functions that map over the leaves of trees."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxaudit.frontends.source import transforms
from jaxaudit.frontends.source.arguments import Arguments
from jaxaudit.frontends.source.regions import data_leaves, flattened, with_data
from jaxaudit.frontends.source.structure import leaves, materialise
from jaxaudit.frontends.source.trees import trees_of
from jaxaudit.frontends.source.values import Abstract, Attribute, FunctionValue, Leaf, Record, TupleValue
from jaxaudit.ir.trees import Border
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpreter import Interpreter


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
        "vararg": _takes_any(function) and not given.spread,
    }
    first = trees[0]
    shape: list[Leaf] = []

    def fresh() -> list[Leaf]:
        shape.extend(Leaf(it.builder.value(span)) for _ in data_leaves(it, first))
        return shape

    transforms.run_body(it, "tree.map", function, wholes, inputs, attrs, span, fresh)
    made = with_data(it, first, [leaf.value for leaf in shape])
    return _cut(it, made, 0) if attrs["is_leaf"] is True and not _asks_for_none(given) else made


def _cut(it: Interpreter, value: Abstract, depth: int) -> Abstract:
    """Give one leaf for each tuple and record inside a tree: `is_leaf` may have made it one."""
    if not isinstance(value, TupleValue | Record):
        return value
    if depth:
        first = next(iter(leaves(it, value)), None)
        return value if first is None else Leaf(first)
    return replace(value, items=tuple(_cut(it, item, depth + 1) for item in value.items))


def _asks_for_none(given: Arguments) -> bool:
    match given.keywords.get("is_leaf"):
        case FunctionValue(node=ast.Lambda(body=ast.Compare(ops=[ast.Is()], comparators=[ast.Constant(value=None)]))):
            return True
    return False


def _stops(given: Arguments, function: Abstract) -> bool | str:
    """Tell whether `is_leaf` changes what a leaf is: `kept` when None is one and is given back as it was."""
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


def _takes_any(function: Abstract) -> bool:
    return isinstance(function, FunctionValue) and function.node.args.vararg is not None
