"""Trees that have to be alike: what a loop is started with and what its body hands on, and what branches give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.trees import CONTAINERS, Border, Tree
from jaxaudit.rules.base import Obligation, Raises, Step, Verdict
from jaxaudit.rules.pytrees._shared.phrases import describe, difference


def other_structure(rule: str, op: Op, flow: Flow) -> Iterator[Obligation]:
    """Return the difference between the tree that a loop starts with and the one that its body hands on."""
    border, handed = op.border, op.handed
    if not isinstance(border, Border) or not isinstance(handed, Border) or not border.trees:
        return
    start, end = border.trees[0], handed.trees[0]
    leaves = {param for param, given, _ in Loop(op).carried_in(op.regions[-1]) if _is_number(given, flow)}
    found = difference(start, end) or _leaf_for_tree(start, end, _Known(flow, leaves))
    if found:
        yield Obligation(
            rule,
            op.span,
            Verdict.VIOLATED,
            message=f"the carry changes its structure: {found}",
            current=f"`{op.name}` is started with one structure, and the body hands on another: this raises",
            raises=Raises.TRACING,
            expected="the body hands on what it was given, part by part",
            steps=(Step(op.regions[-1].span, "this body hands on another structure"),),
            suggestion="return the carry first, with all its parts in their order",
        )


def other_branch(rule: str, op: Op, shapes: Shapes) -> Obligation | None:
    """Return the difference between the trees that two branches give back."""
    handed = op.handed
    trees = handed.trees if isinstance(handed, Border) else ()
    for tree in trees[1:]:
        found = difference(trees[0], tree) or difference(tree, trees[0]) or _apart(trees[0], tree, shapes)
        if found:
            return Obligation(
                rule,
                op.span,
                Verdict.VIOLATED,
                message=f"the branches give different structures: {found}",
                current="JAX raises an exception: all branches must give the same structure",
                raises=Raises.TRACING,
                expected="every branch gives the same containers, part by part",
                suggestion="return the same structure from every branch",
            )
    return None


def _apart(first: Tree, other: Tree, shapes: Shapes) -> str:
    """Say that one branch gives a container, or None, where the other gives an array."""
    for whole, leaf in ((first, other), (other, first)):
        is_array = leaf.kind == "number" or (leaf.value is not None and shapes.of(leaf.value).dims is not None)
        if whole.kind in (*CONTAINERS, "none") and is_array:
            return f"{describe(whole)} in one and one array in another"
    if first.kind not in CONTAINERS or first.kind != other.kind or len(first.children) != len(other.children):
        return ""
    aligned = [other.child(key) for key in first.keys] if first.kind == "dict" else other.children
    pairs = zip(first.children, aligned, strict=True)
    return next((found for one, two in pairs if two is not None and (found := _apart(one, two, shapes))), "")


@dataclass(frozen=True, slots=True)
class _Known:
    """What says of a value that it is one array: where it comes from, or that the loop started with one."""

    flow: Flow
    leaves: set[Value]

    def is_leaf(self, tree: Tree) -> bool:
        if tree.kind == "number" or tree.value is None or tree.name:
            return tree.kind == "number"
        made = self.flow.maker(tree.value)
        computed = made is not None and made.name == "array.map" and not self.leaves.isdisjoint(made.operands)
        return computed or _is_number(tree.value, self.flow)


def _is_number(value: Value, flow: Flow) -> bool:
    made = flow.maker(value)
    return (made is not None and made.name == "py.const") or is_array(flow, value, {})


def _leaf_for_tree(start: Tree, end: Tree, known: _Known, path: str = "") -> str:
    """Say where one of two trees has an array and the other a container."""
    place = f"`{path}`" if path else "the carry"
    if start.kind in CONTAINERS and known.is_leaf(end):
        return f"{place} is {describe(start)} in and one array out"
    if end.kind in CONTAINERS and known.is_leaf(start):
        return f"{place} is one array in and {describe(end)} out"
    if start.kind not in CONTAINERS or end.kind != start.kind or len(start.children) != len(end.children):
        return ""
    for at, child in enumerate(start.children):
        key = start.keys[at] if at < len(start.keys) else str(at)
        other = end.child(key) if start.kind == "dict" else end.children[at]
        found = "" if other is None else _leaf_for_tree(child, other, known, f"{path}[{key}]")
        if found:
            return found
    return ""
