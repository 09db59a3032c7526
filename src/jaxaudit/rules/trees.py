"""Trees of containers that have to be alike: where they differ, and the words for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.ir.trees import CONTAINERS, Tree

_SIMPLE = (bool, int, float, str)
_WORDS = {"tuple": "a tuple", "list": "a list", "dict": "a dict", "none": "None", "number": "a number"}
_OPEN = ("value", "other", "object", "outside", "sequence", "callable", "text")
"""Kinds of which it is not known what JAX would take apart in them."""


def nodes(tree: Tree) -> Iterator[Tree]:
    """Return a tree and everything in it that JAX would take apart."""
    yield tree
    if tree.kind in (*CONTAINERS, "sequence") or tree.registered == "yes":
        for child in tree.children:
            yield from nodes(child)


def describe(tree: Tree) -> str:
    """Return what a tree is, for people."""
    return f"a `{tree.name}`" if tree.name else _WORDS.get(tree.kind, "a leaf")


def difference(first: Tree, second: Tree, path: str = "") -> str:
    """Return where the second tree cannot be mapped along the first; empty where that is not sure."""
    place = f"`{path}`" if path else "the top"
    forms = (_form(first), _form(second))
    if "sequence" in (first.kind, second.kind) and all(forms) and forms[0] != forms[1]:
        return f"{place} is a {forms[0]} in one and a {forms[1]} in the other"
    objects = first.kind == second.kind == "object" and first.registered == second.registered == "yes"
    if not objects and (first.kind not in (*CONTAINERS, "none") or second.kind in _OPEN):
        return ""
    # Classes of one name are different ones where they stand at different places.
    if (first.kind, first.name) != (second.kind, second.name) or (objects and first.where != second.where):
        return f"{place} is {describe(first)} in one and {describe(second)} in the other"
    if objects:
        others = dict(second.fixed)
        for name, value in first.fixed:
            met = others.get(name, value)
            if isinstance(value, _SIMPLE) and isinstance(met, _SIMPLE) and value != met:
                return f"`{path}.{name}` is structure, and {value} in one and {met} in the other"
    elif first.kind == "dict" and set(first.keys) != set(second.keys):
        odd = sorted(set(first.keys) ^ set(second.keys))
        return f"{place} has the key {odd[0]!r} in one of them only"
    elif len(first.children) != len(second.children):
        return f"{place} has {len(first.children)} items in one and {len(second.children)} in the other"
    below = "{}.{}" if objects else "{}[{}]"
    inner = (difference(one, other, below.format(path, key)) for key, one, other in first.aligned(second))
    return next(filter(None, inner), "")


def _form(tree: Tree) -> str:
    """Return the kind of a list or tuple, whether or not its items are known one by one."""
    return tree.name if tree.kind == "sequence" else tree.kind if tree.kind in ("list", "tuple") else ""


def array_for_container(
    first: Tree, second: Tree, is_array: Callable[[Tree], bool], path: str = ""
) -> tuple[str, Tree, Tree] | None:
    """Return where one of two trees has one array and the other a container or nothing, with what they have there."""
    holds = [tree.kind in (*CONTAINERS, "none") for tree in (first, second)]
    if (holds[0] and is_array(second)) or (holds[1] and is_array(first)):
        return path, first, second
    if first.kind not in CONTAINERS or first.kind != second.kind or len(first.children) != len(second.children):
        return None
    pairs = first.aligned(second)
    inner = (array_for_container(one, other, is_array, f"{path}[{key}]") for key, one, other in pairs)
    return next(filter(None, inner), None)
