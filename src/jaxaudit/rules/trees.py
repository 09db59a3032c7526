"""Trees of containers that have to be alike: where they differ, and the words for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jaxaudit.ir.record import record
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Step

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


@record
class Misfit:
    """Where two trees are not alike."""

    text: str
    path: str
    sides: tuple[Tree, Tree]
    """What they have there."""
    around: tuple[Tree, Tree]
    """The innermost containers of each that are written where both are seen to hold it."""

    def __str__(self) -> str:
        return self.text

    def steps(self, first: str = "one is made here", second: str = "and the other here") -> Iterator[Step]:
        """Return where the two containers are written."""
        for tree, words in zip(self.around, (first, second), strict=True):
            if tree.written.line:
                yield Step(tree.written, words)


def difference(first: Tree, second: Tree) -> Misfit | None:
    """Return where the second tree cannot be mapped along the first; None where that is not sure."""
    return next((found for found in map(_differ, _pairs(first, second)) if found is not None), None)


class _Pair(NamedTuple):
    path: str
    first: Tree
    second: Tree
    around: tuple[Tree, Tree]

    def misfit(self, text: str) -> Misfit:
        return Misfit(text, self.path, (self.first, self.second), self.around)


def _pairs(first: Tree, second: Tree, path: str = "", around: tuple[Tree, Tree] | None = None) -> Iterator[_Pair]:
    """Return what two trees have at the same places, from the top down."""
    outer = around or (first, second)
    inner = (first if first.written.line else outer[0], second if second.written.line else outer[1])
    yield _Pair(path, first, second, inner)
    objects = _are_objects(first, second)
    same = (first.kind, first.name, len(first.children)) == (second.kind, second.name, len(second.children))
    if same and (objects or first.kind in CONTAINERS):
        below = "{}.{}" if objects else "{}[{}]"
        for key, one, other in first.aligned(second):
            yield from _pairs(one, other, below.format(path, key), inner)


def _are_objects(first: Tree, second: Tree) -> bool:
    """Whether both are objects that JAX takes apart."""
    return first.kind == second.kind == "object" and first.registered == second.registered == "yes"


def _is_told(tree: Tree) -> bool:
    """Whether it is known how JAX takes something apart."""
    return tree.kind in (*CONTAINERS, "none") or (tree.kind == "object" and tree.registered == "yes")


def _differ(pair: _Pair) -> Misfit | None:
    path, first, second, _ = pair
    place = f"`{path}`" if path else "the top"
    if "sequence" in (first.kind, second.kind):
        known = all(_form(one) or _is_told(one) for one in (first, second))
        words = [describe(one).replace("`", "") if _form(one) else describe(one) for one in (first, second)]
        apart = known and _form(first) != _form(second)
        return pair.misfit(f"{place} is {words[0]} in one and {words[1]} in the other") if apart else None
    objects = _are_objects(first, second)
    if not objects and not (_is_told(first) and (_is_told(second) or second.kind not in _OPEN)):
        return None
    # Classes of one name are different ones where they stand at different places.
    if (first.kind, first.name) != (second.kind, second.name) or (objects and first.where != second.where):
        return pair.misfit(f"{place} is {describe(first)} in one and {describe(second)} in the other")
    if objects:
        others = dict(second.fixed)
        for name, value in first.fixed:
            met = others.get(name, value)
            if isinstance(value, _SIMPLE) and isinstance(met, _SIMPLE) and value != met:
                return pair.misfit(f"`{path}.{name}` is structure, and {value} in one and {met} in the other")
    elif first.kind == "dict" and set(first.keys) != set(second.keys):
        odd = sorted(set(first.keys) ^ set(second.keys))
        return pair.misfit(f"{place} has the key {odd[0]!r} in one of them only")
    elif len(first.children) != len(second.children):
        return pair.misfit(f"{place} has {len(first.children)} items in one and {len(second.children)} in the other")
    return None


def _form(tree: Tree) -> str:
    """Return the kind of a list or tuple, whether or not its items are known one by one."""
    if tree.kind == "sequence":
        return tree.name if tree.name in ("list", "tuple") else ""
    return tree.kind if tree.kind in ("list", "tuple") else ""


def open_places(first: Tree, second: Tree) -> Iterator[Tree]:
    """Return what the second of two trees has, of unknown structure, where the first has a container."""
    pairs = _pairs(first, second)
    return (pair.second for pair in pairs if pair.first.kind in CONTAINERS and pair.second.kind in _OPEN)


def array_for_container(first: Tree, second: Tree, is_array: Callable[[Tree], bool]) -> Misfit | None:
    """Return where one of two trees has one array and the other a container or nothing."""
    for pair in _pairs(first, second):
        holds = [tree.kind in (*CONTAINERS, "none") for tree in (pair.first, pair.second)]
        if (holds[0] and is_array(pair.second)) or (holds[1] and is_array(pair.first)):
            return pair.misfit("")
    return None
