"""Lists of leaves that are put back into a tree: whether each item was made of leaves in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.lineage.origins import Context, origin
from jaxaudit.analyses.lineage.skeletons import one_structure, skeleton, structure_read
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Part
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.trees import describe, open_places
from jaxaudit.spans import Span


def mixed_leaves(flow: Flow, leaves: Value) -> Span | None:
    """Return the place where each item of a list of leaves is made of all leaves of one tree; None when not so."""
    items = _comprehension(flow, leaves)
    for element in () if items is None else _elements(flow, items):
        lists = element.arguments.get("iterable")
        source = _comprehension(flow, lists) if isinstance(lists, Value) else None
        if source is not None and taken_apart(flow, source.regions[0].results[0]) is not None:
            return source.span
    return None


def gathered(flow: Flow, items: tuple[object, ...]) -> list[Op]:
    """Return the calls that took trees apart, where each item is made of all leaves of another one; else nothing."""
    found = [_whole_lists(flow, item) for item in items if isinstance(item, Value)]
    calls = [one for lists in found for one in lists]
    alone = len(found) == len(items) > 1 and all(len(lists) == 1 for lists in found)
    return calls if alone and len(set(calls)) == len(calls) else []


def _whole_lists(flow: Flow, item: Value) -> set[Op]:
    """Return the calls that gave the lists of leaves which a value is computed from as a whole."""

    def operands(value: Value) -> tuple[Value, ...]:
        op = flow.maker(value)
        return op.operands if op is not None and op.name in _TAKES_ALL else ()

    made = (taken_apart(flow, value) for value in walk((item,), operands))
    return {one for one in made if one is not None}


_TAKES_ALL = ("array.map", "array.reduce", "array.join", "array.convert", "py.call_library")


def _elements(flow: Flow, items: Op) -> Iterator[Op]:
    """Return the elements that an item of a comprehension is made of."""
    body = items.regions[0]

    def maker(value: Value) -> Op | None:
        op = flow.maker(value)
        return op if op is not None and flow.places.region_of[op] is body and not op.regions else None

    def operands(value: Value) -> tuple[Value, ...]:
        op = maker(value)
        return op.operands if op is not None and op.name != "py.element" else ()

    made = map(maker, walk(body.results[:1], operands))
    return (op for op in made if op is not None and op.name == "py.element")


def listed_from(flow: Flow, leaves: Value) -> list[Op]:
    """Return the calls that took trees apart whose leaves a list holds in their order, as they are or one by one."""
    items = _comprehension(flow, leaves)
    if items is None:
        return [made] if (made := taken_apart(flow, leaves)) is not None else []
    inside = items.regions[0].ops
    if any(op.name == "py.test" for op in inside):
        return []
    lists = [op.arguments.get("iterable") for op in inside if op.name == "py.element"]
    found = [taken_apart(flow, one) for one in lists if isinstance(one, Value)]
    return [made for made in found if made is not None]


def reordered(flow: Flow, leaves: Value) -> Op | None:
    """Return what put the leaves of a tree into another order since they were taken out of it."""
    items = _comprehension(flow, leaves)
    inside = () if items is None else items.regions[0].ops
    lists = [leaves, *(op.arguments.get("iterable") for op in inside if op.name == "py.element")]
    for one in lists:
        made = flow.maker(one) if isinstance(one, Value) else None
        if made is not None and made.qualified in ("builtins.sorted", "builtins.reversed"):
            if any(taken_apart(flow, value) is not None for value in made.operands):
                return made
    return None


def taken_apart(flow: Flow, leaves: Value) -> Op | None:
    """Return the `flatten` or `leaves` that gave a list."""
    made = flow.maker(leaves)
    if (part := Part.of(made, leaves)) is not None:
        call = flow.maker(part.whole) if part.at == 0 else None
        return call if call is not None and call.qualified == "jax.tree.flatten" else None
    return made if made is not None and made.qualified == "jax.tree.leaves" else None


class Order(NamedTuple):
    """The keys that the items of a sequence belong to, in its order."""

    keys: tuple[str, ...]
    words: str
    span: Span


def order_of(flow: Flow, given: tuple[tuple[object, ...], Value | None, Span], context: Context) -> Order | None:
    """Return in which order the items of a sequence stand: that of a dict, or of the leaves of a tree."""
    keys, value, made = given
    if keys:
        return Order(tuple(map(str, keys)), "the order in which the dict is written", made)
    found = None if value is None else origin(flow, value, context).value
    if found is None:
        return None
    listed = [structure_read(flow, found) or taken_apart(flow, found), *listed_from(flow, found)]
    op = next((one for one in listed if one is not None), None)
    tree = op.border.trees[0] if op is not None and op.border is not None and op.border.trees else None
    if op is None or tree is None or not tree.keys or any(child.kind in CONTAINERS for child in tree.children):
        return None
    # Keys that are numbers would have to be sorted as such.
    is_sorted = tree.kind == "dict" and not any(key.lstrip("-").isdigit() for key in tree.keys)
    words = "the order of sorted keys" if is_sorted else f"the order of the fields of {describe(tree)}"
    keeps = is_sorted or tree.kind == "namedtuple"
    return Order(tuple(sorted(tree.keys) if is_sorted else tree.keys), words, op.span) if keeps else None


def joins_single(op: Op) -> bool:
    """Whether a function of any number of leaves, mapped over one tree, joins a tuple of its leaf alone."""
    if not op.vararg:
        return False
    leaf = op.regions[0].params[0] if len(op.regions[0].params) == 1 else None
    return any(inner.name == "array.join" and inner.arguments.get("arrays") == (leaf,) for inner in op.regions[0].ops)


def _comprehension(flow: Flow, value: Value) -> Op | None:
    """Return the comprehension that a list comes from."""
    op = flow.maker(value)
    if op is not None and op.name == "py.container" and len(op.operands) == 1:
        op = flow.maker(op.operands[0])
    if op is None or op.kind != "comprehension" or len(op.regions[0].results) != 1:
        return None
    return op


_OBJECTS = ("object", "outside")


def why_alike(flow: Flow, first: Tree, other: Tree, context: Context) -> str:
    """Return why the second tree can be mapped along the first; empty where that is not known.

    Wherever the first has a leaf, the second may have a whole tree.
    """
    if first.kind in CONTAINERS and other.kind in CONTAINERS:
        return "" if any(open_places(first, other)) else f"both trees are {describe(first)} of the same structure"
    if first.kind in _OBJECTS and other.kind in _OBJECTS and first.registered == "yes":
        return f"both trees are {describe(first)}" if (first.name, first.where) == (other.name, other.where) else ""
    if first.kind == "number":
        return "the first tree is one leaf"
    if first.value is None or first.kind != "value":
        return ""
    if is_array(flow, first.value, context):
        return "the first tree is one array"
    if other.value is None:
        return ""
    trees = skeleton(flow, first.value, context), skeleton(flow, other.value, context, loose=True)
    return "both trees have the structure of the same tree" if one_structure(flow, *trees) else ""


def one_tree(flow: Flow, first: Op, other: Op, context: Context) -> bool:
    """Whether two calls take trees of one structure apart."""
    trees = [op.arguments.get("tree") for op in (first, other)]
    if first is other or (trees[0] is not None and trees[0] == trees[1]):
        return True
    known = [skeleton(flow, tree, context) for tree in trees if isinstance(tree, Value)]
    return len(known) == 2 and one_structure(flow, *known)


def absence(op: Op, position: int, first: Tree, other: Tree, is_array: Callable[[Value], bool]) -> str:
    """Return where None meets a leaf and that raises; empty where it does not, or where that is not sure.

    None in the first tree has no leaf to meet. None in a further tree is handed to the function, which fails when it
    computes with it.
    """

    def is_leaf(tree: Tree) -> bool:
        return tree.kind == "number" or (tree.value is not None and is_array(tree.value))

    for path, one, two in _places(first, other):
        place = f"`{path}`" if path else "the top"
        if one.kind == "none" and is_leaf(two):
            return f"{place} is None in the first, but another has a leaf there"
        if two.kind == "none" and is_leaf(one) and computes(op, position):
            return f"{place} is None in one of them, and the function computes with it"
    return ""


def _places(first: Tree, other: Tree, path: str = "") -> Iterator[tuple[str, Tree, Tree]]:
    """Return the places that two trees have in common, with what they hold there."""
    yield path, first, other
    same = (first.kind, first.name, first.where) == (other.kind, other.name, other.where)
    if same and (first.kind in CONTAINERS or first.registered == other.registered == "yes"):
        below = "{}.{}" if first.kind == "object" else "{}[{}]"
        for key, one, two in first.aligned(other):
            yield from _places(one, two, below.format(path, key))


def computes(op: Op, position: int) -> bool:
    """Whether the mapped function surely computes with what it gets of a tree."""
    params = op.regions[0].params if op.name == "tree.map" and op.regions else ()
    at = position + (op.paths if isinstance(op.paths, int) else 0)
    return at < len(params) and any(
        one.name.startswith("array.") and params[at] in one.operands for one in op.regions[0].ops
    )
