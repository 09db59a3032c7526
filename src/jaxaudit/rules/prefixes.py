"""Trees that speak of arguments or results leaf by leaf: axes, specs and shardings, one for each leaf or for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.ir import Op
from jaxaudit.ir.record import replace
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Step
from jaxaudit.rules.trees import Misfit, array_for_container, describe, difference
from jaxaudit.spans import Span

_LEAF = Tree("number")


def written(op: Op, option: str) -> Tree | None:
    """Return the tree that an option of a transformation is given."""
    return (op.prefixes or {}).get(option)


def written_at(op: Op) -> Span:
    """Return where a transformation is written, which need not be where the function that it makes is called."""
    return op.wrapped if op.wrapped is not None and op.wrapped.line else op.span


def over_arguments(op: Op, option: str, given: tuple[Tree, ...], names: tuple[str, ...]) -> Misfit | None:
    """Return where an option does not fit the positional arguments that it speaks of."""
    prefix = written(op, option)
    if prefix is None:
        return None
    whole = Tree("tuple", children=given)
    if prefix.kind in ("dict", "namedtuple"):
        text = f"`{option}` is {describe(prefix)}; it must be one for all, or a tuple with one entry for each argument"
        return Misfit(text, "", (prefix, whole), (prefix, whole))
    if prefix.kind not in ("tuple", "list"):
        return None
    if len(prefix.children) != len(given):
        count = len(given)
        text = f"`{option}` has {len(prefix.children)} entries for {count} positional argument{'s' * (count != 1)}"
        return Misfit(text, "", (prefix, whole), (prefix, whole))
    found = (
        _entry(entry, tree, f"the entry of `{names[at]}`" if at < len(names) else f"entry {at + 1}")
        for at, (entry, tree) in enumerate(zip(prefix.children, given, strict=True))
    )
    return next((one for one in found if one is not None), None)


def over_results(op: Op, option: str, is_array: Callable[[Tree], bool]) -> Misfit | None:
    """Return where an option does not fit what the function gives."""
    prefix, given = written(op, option), op.returned
    if prefix is None or given is None:
        return None
    found = array_for_container(_spoken(prefix), given, is_array)
    if found is not None and found.sides[0].kind in CONTAINERS:
        where = f"`{option}{found.path}`"
        return replace(found, text=f"{where} is {describe(found.sides[0])}, and the function gives one array there")
    return _entry(prefix, given, f"`{option}`")


def _entry(prefix: Tree, tree: Tree, name: str) -> Misfit | None:
    found = difference(_spoken(prefix), tree)
    if found is None:
        return None
    own, other = found.sides
    if own.kind == other.kind == "dict":
        odd = sorted(set(own.keys) ^ set(other.keys))
        return replace(found, text=f"{name} and what it speaks of differ in the key {odd[0]!r}")
    if (own.kind, own.name) == (other.kind, other.name):
        return replace(found, text=f"{name} has {len(own.children)} items for {len(other.children)}")
    return replace(found, text=f"{name} is {describe(own)}, and what it speaks of is {describe(other)}")


def _spoken(prefix: Tree) -> Tree:
    """Return a prefix whose `None` counts as a leaf, as JAX takes it."""
    if prefix.kind == "none":
        return _LEAF
    return replace(prefix, children=tuple(map(_spoken, prefix.children))) if prefix.children else prefix


def is_matched(prefix: Tree, tree: Tree) -> bool:
    """Whether a prefix surely fits a tree: one entry for all of it, or one for each known part."""
    if prefix.kind not in CONTAINERS:
        return prefix.kind in ("none", "number", "text") or (prefix.kind == "value" and bool(prefix.name))
    alike = (prefix.kind, len(prefix.children)) == (tree.kind, len(tree.children))
    pairs = list(prefix.aligned(tree)) if alike else []
    return len(pairs) == len(prefix.children) > 0 and all(is_matched(one, other) for _, one, other in pairs)


def places(op: Op, option: str) -> Iterator[Step]:
    """Return where the containers of an option are written, the outermost first."""
    pending = [one for one in (written(op, option),) if one is not None]
    seen = set()
    while pending:
        tree = pending.pop(0)
        pending += tree.children
        place = tree.written
        if place.line and place not in seen:
            seen.add(place)
            yield Step(place, f"`{option}` is given here" if len(seen) == 1 else f"and a part of `{option}` here")
