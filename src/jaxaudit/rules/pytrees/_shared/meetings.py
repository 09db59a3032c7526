"""Why two trees that meet have one structure."""

from __future__ import annotations

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.lineage.origins import Context
from jaxaudit.analyses.lineage.skeletons import one_structure, skeleton, structure_read
from jaxaudit.ir import Op, Value
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.trees import describe

_OBJECTS = ("object", "outside")


def alike(flow: Flow, first: Tree, other: Tree, context: Context) -> str:
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


def is_given(flow: Flow, tree: Value, context: Context) -> bool:
    """Whether a tree is an argument, or a part of one, of a function that nothing in sight calls."""
    return skeleton(flow, tree, context).op is None


def described(flow: Flow, treedef: Value) -> Op | None:
    """Return the call that a structure was read off a tree by."""
    return structure_read(flow, treedef)


def one_tree(flow: Flow, first: Op, other: Op, context: Context) -> bool:
    """Whether two calls take trees of one structure apart."""
    if first is other:
        return True
    trees = [op.arguments.get("tree") for op in (first, other)]
    known = [skeleton(flow, tree, context) for tree in trees if isinstance(tree, Value)]
    return len(known) == 2 and one_structure(flow, *known)
