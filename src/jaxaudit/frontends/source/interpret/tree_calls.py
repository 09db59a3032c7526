"""Functions that map over the leaves of trees."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence

from jaxaudit.frontends.source.classes.fields import role
from jaxaudit.frontends.source.classes.registration import registration
from jaxaudit.frontends.source.interpret import transforms
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.regions import data_leaves, flattened, with_data
from jaxaudit.frontends.source.notes.unpacking import note_mapped
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
    name_of,
)
from jaxaudit.frontends.source.values.folding import truth
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, Record, Ref, TupleValue
from jaxaudit.frontends.source.values.model import Sequence as SequenceValue
from jaxaudit.frontends.source.values.structure import leaves, materialise, rebuild
from jaxaudit.frontends.source.values.trees import trees_of
from jaxaudit.ir import Op, Value
from jaxaudit.ir.record import replace
from jaxaudit.ir.trees import CONTAINERS, Border, Tree
from jaxaudit.spans import Span

_DEEPEST = 4
"""How deep in containers a None is looked for."""

_WHOLE = Const | FunctionValue | BoundMethod | PartialValue | Transformed | ClassValue | Library
"""What JAX takes for a leaf, whatever it holds."""

_PLAIN = frozenset(
    ("py.item", "py.const", "py.container", "py.call", "py.call_library", "py.global", "py.return", "grad.stop")
)
"""Ops that calculate, beside those of arrays."""


def tree_map(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `jax.tree.map(f, tree, *rest)`: the function sees one leaf of each tree."""
    return _across(it, given, span) or _mapped(it, given, span, ())


def tree_map_with_path(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `jax.tree.map_with_path(f, tree, *rest)`: the function also sees the path of the leaves."""
    if len(given.positional) < 2 or given.star is not None:
        return None
    return _mapped(it, given, span, (it.unknown("the path of a leaf", span, "path"),))


def path_aware_map(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `flax.traverse_util.path_aware_map(f, tree)`: the function sees a tuple of names before the leaf."""
    if len(given.positional) != 2 or given.star is not None or given.keywords:
        return None
    path = it.unknown("the path of a leaf", span, "path")
    return _mapped(it, given, span, (path,), spelling="flax.traverse_util.path_aware_map")


def _across(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return `jax.tree.map(lambda *x: jnp.stack(x), *trees)` of trees that look alike, leaf by leaf."""
    trees = given.star
    if not isinstance(trees, SequenceValue) or len(given.positional) != 1 or given.keywords or given.stars is not None:
        return None
    (function,) = given.positional
    if not isinstance(function, FunctionValue) or function.node.args.vararg is None or function.node.args.args:
        return None

    def of_all(leaf: Leaf) -> Abstract:
        return _called(it, function, Arguments(star=SequenceValue(leaf, kind="tuple"), spread=True), span)

    return rebuild(trees.item, of_all, it, data=True)


def _mapped(
    it: Interpreter, given: Arguments, span: Span, before: tuple[Leaf, ...], *, spelling: str = ""
) -> Abstract | None:
    if len(given.positional) < 2 or given.star is not None:
        return None
    function = given.positional[0]
    trees = [it.load_attribute(one, span) if isinstance(one, Attribute) else one for one in given.positional[1:]]
    gathers = isinstance(function, FunctionValue) and function.node.args.vararg is not None and not given.spread
    plain = not (before or gathers or given.keywords or given.stars is not None)
    apart = _apart(it, function, trees, span) if plain else None
    if apart is not None:
        return apart
    wholes = Arguments((*before, *(Leaf(materialise(it, tree, span)) for tree in trees)))
    inputs = flattened(it, wholes.all())
    attrs: dict[str, object] = {
        "function": name_of(function),
        **({"spelling": spelling} if spelling else {}),
        "in_axes": (0,) * len(inputs.operands),
        "border": Border(trees_of(it, trees)),
        "is_leaf": _stops(given, function),
        "inline": isinstance(function, FunctionValue) and isinstance(function.node, ast.Lambda),
        "paths": len(before),
        "vararg": gathers,
    }
    first = trees[0]
    shape: list[Leaf] = []

    def fresh() -> list[Leaf]:
        shape.extend(Leaf(it.builder.value(span)) for _ in data_leaves(it, first))
        return shape

    it.rebound.append({})
    inner, _ = transforms.run_body(it, "tree.map", function, wholes, inputs, attrs, span, fresh)
    for scope, name in it.rebound.pop():
        # It runs once for every leaf, and how many there are is not known.
        scope.env[name] = it.unknown("a function that is called for every leaf sets it", span, name)
    made = with_data(it, first, [leaf.value for leaf in shape])
    made = _filled(it, made, span, nones=attrs["is_leaf"] is True)
    note_mapped(it, made, [inner], trees)
    if attrs["is_leaf"] is not True:
        return made
    return made if _asks_for_none(given) else _cut(it, made, given.keywords.get("is_leaf"), span)


def _apart(it: Interpreter, function: Abstract, trees: Sequence[Abstract], span: Span) -> Abstract | None:
    """Return `{"a": f(x), "b": f(2)}` for a function of the leaves of `{"a": x, "b": 2}`, arrays and numbers for sure.

    What may be a tree itself is mapped over as before. None where all may be, and for a function that does more than
    calculate: what it does with a key, or to an object, is done once for every leaf, and rules are to see the mapping
    that repeats it.
    """
    shapes = trees_of(it, trees)
    columns = [_leaves(it, tree) for tree in trees]
    # Where a tuple of numbers may be meant for one leaf, rules are to see the mapping.
    held_together = any(child.holds_shape for child in shapes[0].children)
    if isinstance(trees[0], Leaf) or held_together or not any(map(_is_sure, columns[0])):
        return None
    if not all(_fits(shapes[0], one) for one in shapes) or len({len(one) for one in columns}) != 1:
        return None
    for path, value in shapes[0].leaves().items():
        # A field is a better name than the parameter that every leaf goes by.
        value.name = value.name or next((key for key in reversed(path) if key.isidentifier()), "")
    it.heap.begin()
    with it.builder.nested("function", "", span) as region:
        rows = [row for row in zip(*columns, strict=True) if _is_sure(row[0])]
        made = [_called(it, function, Arguments(row), span) for row in rows]
    arrays = [leaf.value for leaf, *_ in rows if isinstance(leaf, Leaf)]
    # A function that takes every leaf apart may be meant for what holds them: rules are to see the mapping.
    if not all(map(_calculates, region.ops)) or _takes_apart(region.ops, arrays):
        it.heap.undo()
        return None
    it.heap.keep()
    it.builder.region.ops += region.ops
    results, rest = iter(made), iter(_of_others(it, function, columns, span))
    whole = rebuild(
        trees[0], lambda leaf: next(results if leaf.array else rest), it, number=lambda _: next(results), data=True
    )
    note_mapped(it, whole, made, trees)
    return whole


def _takes_apart(ops: Sequence[Op], first: Sequence[Value]) -> bool:
    """Whether items of the leaves, at constant places, are all that ops read of them."""
    uses = [op for op in ops if not set(first).isdisjoint(op.operands)]
    return bool(uses) and all(op.name == "py.item" and isinstance(op.arguments.get("index"), int) for op in uses)


def _of_others(
    it: Interpreter, function: Abstract, columns: Sequence[Sequence[Leaf | Const]], span: Span
) -> tuple[Abstract, ...]:
    """Map a function over those leaves that may be trees themselves."""
    rows = [row for row in zip(*columns, strict=True) if not _is_sure(row[0])]
    whole = [TupleValue(column) for column in zip(*rows, strict=True)]
    made = _mapped(it, Arguments((function, *whole)), span, ()) if rows else None
    return made.items if isinstance(made, TupleValue) else ()


def _called(it: Interpreter, function: Abstract, given: Arguments, span: Span) -> Abstract:
    """Call a function on one leaf of each tree; a lambda is an expression, and stands for itself."""
    if isinstance(function, FunctionValue) and isinstance(function.node, ast.Lambda):
        return transforms.call_inside(it, function, given, span)
    return it.call(function, given, span)


def _leaves(it: Interpreter, tree: Abstract) -> list[Leaf | Const]:
    found: list[Leaf | Const] = []

    def note(leaf: Leaf | Const) -> Leaf | Const:
        found.append(leaf)
        return leaf

    rebuild(tree, note, it, number=note, data=True)
    return found


def _is_sure(leaf: Leaf | Const) -> bool:
    """Whether something is one leaf and holds no others."""
    return isinstance(leaf, Const) or leaf.array


def _fits(first: Tree, other: Tree) -> bool:
    """Whether two trees surely are one structure, in which every leaf is seen."""
    if first.kind in ("value", "number"):
        return other.kind in ("value", "number")
    held = first.kind in CONTAINERS or first.registered == "yes"
    if first.kind != "none" and not held:
        return False
    same = (first.kind, first.name, first.keys, first.fixed) == (other.kind, other.name, other.keys, other.fixed)
    return same and len(first.children) == len(other.children) and all(map(_fits, first.children, other.children))


def _calculates(op: Op) -> bool:
    is_plain = op.name.startswith("array.") or op.name in _PLAIN
    return is_plain and all(_calculates(one) for region in op.regions for one in region.ops)


def _filled(it: Interpreter, value: Abstract, span: Span, depth: int = 0, *, nones: bool) -> Abstract:
    """Return a tree in which the function has replaced all that JAX does not take apart, too.

    These are constants, functions and objects of classes that are not registered, and each None that `is_leaf` may
    make a leaf.
    """
    if value == NONE:
        return it.unknown("what the function gives for None", span) if nones else value
    box = it.heap[value] if isinstance(value, Ref) else None
    if isinstance(value, _WHOLE) or (isinstance(box, ObjectBox) and registration(it, box.cls) != "yes"):
        return it.unknown("what the function gives for a constant", span)

    def inside(item: Abstract) -> Abstract:
        return _filled(it, item, span, depth + 1, nones=nones)

    if isinstance(value, TupleValue | Record):
        items = tuple(map(inside, value.items))
        return value if all(map(operator.is_, items, value.items)) else replace(value, items=items)
    if depth >= _DEEPEST:
        return value
    match box:
        case DictBox(entries=entries):
            filled = {key: inside(item) for key, item in entries.items()}
            return value if filled == entries else it.heap.new(replace(box, entries=filled))
        case ListBox(items=items):
            listed = tuple(map(inside, items))
            return value if all(map(operator.is_, listed, items)) else it.heap.new(replace(box, items=listed))
        case ObjectBox(cls=cls, attrs=attrs):
            held = {name: one if role(cls, name) == "structure" else inside(one) for name, one in attrs.items()}
            return value if held == attrs else it.heap.new(replace(box, attrs=held))
    return value


def _cut(it: Interpreter, value: Abstract, asked: Abstract | None, span: Span, depth: int = 0) -> Abstract:
    """Return one leaf for each container in a tree that `is_leaf` makes one, and for those that it may make one."""
    box = it.heap[value] if isinstance(value, Ref) and depth < _DEEPEST else None
    if not isinstance(value, TupleValue | Record) and not isinstance(box, DictBox | ListBox | ObjectBox):
        return value
    stops = truth(it, it.call(asked, Arguments((value,)), span)) if isinstance(asked, FunctionValue) else None
    if isinstance(box, ObjectBox):
        return it.unknown("what the function gives for an object", span) if stops else value
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
