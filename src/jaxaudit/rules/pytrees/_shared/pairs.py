"""Two trees that are mapped together: why they have one structure, and where None meets a leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.lineage.origins import Context
from jaxaudit.analyses.lineage.skeletons import one_structure, skeleton
from jaxaudit.ir import Op, Value
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.trees import describe

_OBJECTS = ("object", "outside")


def why_alike(flow: Flow, first: Tree, other: Tree, context: Context) -> str:
    """Say why the second tree can be mapped along the first; empty where that is not known.

    Wherever the first has a leaf, the second may have a whole tree.
    """
    if first.kind in CONTAINERS and other.kind in CONTAINERS:
        return f"both trees are {describe(first)} of the same structure"
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
    if first is other:
        return True
    trees = [op.arguments.get("tree") for op in (first, other)]
    known = [skeleton(flow, tree, context) for tree in trees if isinstance(tree, Value)]
    return len(known) == 2 and one_structure(flow, *known)


def absence(op: Op, position: int, first: Tree, other: Tree, is_array: Callable[[Value], bool]) -> str:
    """Say where None meets a leaf and that raises; empty where it does not, or where that is not sure.

    None in the first tree has no leaf to meet. None in a further tree is handed to the function, which fails when it
    computes with it.
    """

    def is_leaf(tree: Tree) -> bool:
        return tree.kind == "number" or (tree.value is not None and is_array(tree.value))

    for path, one, two in _places(first, other):
        place = f"`{path}`" if path else "the top"
        if one.kind == "none" and is_leaf(two):
            return f"{place} is None in the first, but another has a leaf there"
        if two.kind == "none" and is_leaf(one) and _computes(op, position):
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


def _computes(op: Op, position: int) -> bool:
    """Whether the mapped function surely computes with what it gets of a tree."""
    params = op.regions[0].params if op.name == "tree.map" and op.regions else ()
    at = position + (op.paths if isinstance(op.paths, int) else 0)
    return at < len(params) and any(
        one.name.startswith("array.") and params[at] in one.operands for one in op.regions[0].ops
    )
