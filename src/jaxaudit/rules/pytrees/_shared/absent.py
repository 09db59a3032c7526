"""Finds places where one of two trees that are mapped together has a leaf, and the other None."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.ir import Op, Value
from jaxaudit.ir.trees import CONTAINERS, Tree

IsArray = Callable[[Value], bool]


def absence(op: Op, position: int, first: Tree, other: Tree, is_array: IsArray) -> str:
    """Say where None meets a leaf and that raises; empty where it does not, or where that is not sure.

    None in the first tree has no leaf to meet. None in a further tree is handed to the function, which fails when it
    computes with it.
    """
    for path, one, two in _places(first, other):
        if one.kind == "none" and _is_leaf(two, is_array):
            return f"{_shown(path)} is None in the first, but another has a leaf there"
        if two.kind == "none" and _is_leaf(one, is_array) and _computes(op, position):
            return f"{_shown(path)} is None in one of them, and the function computes with it"
    return ""


def _places(first: Tree, other: Tree, path: str = "") -> Iterator[tuple[str, Tree, Tree]]:
    yield path, first, other
    same = first.kind == other.kind and first.name == other.name and first.where == other.where
    if same and first.keys and (first.kind in CONTAINERS or first.registered == other.registered == "yes"):
        for key, child in zip(first.keys, first.children, strict=True):
            if (met := other.child(key)) is not None:
                yield from _places(child, met, f"{path}.{key}" if first.kind == "object" else f"{path}[{key}]")
    elif same and first.kind in CONTAINERS and len(first.children) == len(other.children):
        for at, (child, met) in enumerate(zip(first.children, other.children, strict=True)):
            yield from _places(child, met, f"{path}[{at}]")


def _is_leaf(tree: Tree, is_array: IsArray) -> bool:
    return tree.kind == "number" or (tree.value is not None and is_array(tree.value))


def _computes(op: Op, position: int) -> bool:
    """Whether the mapped function surely computes with what it gets of a tree."""
    before = op.paths
    region = op.regions[0] if op.name == "tree.map" and op.regions else None
    at = position + (before if isinstance(before, int) else 0)
    if region is None or at >= len(region.params):
        return False
    given = region.params[at]
    return any(one.name.startswith("array.") and given in one.operands for one in region.ops)


def _shown(path: str) -> str:
    return f"`{path}`" if path else "the top"
