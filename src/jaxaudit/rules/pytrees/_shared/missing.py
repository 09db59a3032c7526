"""Entries of trees that are None, which are no leaves."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim, constant
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import behind, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.trees import CONTAINERS, Tree

_LISTING = through_ops("py.append", "py.container", "py.join", "tree.map")


def gap_in(call: Op, flow: Flow) -> Op | None:
    """Return what puts None beside leaves into the tree that a call takes apart; None where nothing is seen to."""
    tree = call.border.trees[0] if call.border is not None and call.border.trees else None
    if tree is None:
        return None
    if _has_gap(tree):
        return call
    values = walk(tree.values(), lambda one: behind(flow, one, _LISTING))
    return next((op for one in values if (op := flow.maker(one)) is not None and _puts_none(op)), None)


def _has_gap(tree: Tree) -> bool:
    held = tree.children if tree.kind in CONTAINERS else ()
    gaps = [child.kind == "none" for child in held]
    return (any(gaps) and not all(gaps)) or any(map(_has_gap, held))


def _puts_none(op: Op) -> bool:
    """Whether an op is None, or appends it."""
    if op.name == "py.const":
        return op.constant is None
    return op.name == "py.append" and "value" in op.arguments and op.arguments["value"] is None


def first_gap(call: Op, other: Op) -> str:
    """Return the first place where one of two trees has None and the other a leaf; empty where there is none."""
    trees = [op.border.trees[0] for op in (call, other) if op.border is not None and op.border.trees]
    return next(_gaps(trees[0], trees[1]), "") if len(trees) == 2 else ""


def _gaps(first: Tree, other: Tree, path: str = "") -> Iterator[str]:
    if (first.kind == "none") != (other.kind == "none"):
        yield f"`{path}`" if path else "the top"
    elif first.kind == other.kind and first.kind in CONTAINERS:
        for key, one, two in first.aligned(other):
            yield from _gaps(one, two, f"{path}[{key}]")


def entries_of(call: Op, gap: Op, facts: Facts) -> Dim | None:
    """Return how many entries the list has that a call takes apart, None among them."""
    tree = call.border.trees[0] if call.border is not None and call.border.trees else None
    if tree is not None and tree.kind in ("list", "tuple"):
        return constant(len(tree.children))
    places = facts.places
    around = (holder for _, holder in places.up(places.region_of[gap]) if holder is not None)
    turns = next((holder.trips for holder in around if holder.name == "py.loop"), None)
    return constant(turns) if turns is not None else count_of(call.arguments.get("tree"), facts)


def holds_at_least(value: Value, count: Dim, facts: Facts) -> bool:
    """Whether a list that is written out has so many items, or more."""
    op = origin(facts.flow, value, {}).op
    listed = op is not None and op.name == "py.container" and op.kind in ("list", "tuple")
    return op is not None and listed and count.constant is not None and len(op.operands) >= count.constant


def count_of(given: Argument, facts: Facts) -> Dim | None:
    """Return how many items a list has, None among them."""
    if not isinstance(given, Value):
        return constant(len(given)) if isinstance(given, tuple) else None
    fact = facts.get(Shapes).of(given)
    if fact.items is not None:
        return constant(len(fact.items))
    if fact.length is not None:
        return fact.length
    op = origin(facts.flow, given, {}).op
    if op is not None and op.name == "py.container" and len(op.operands) == 1:
        return count_of(op.operands[0], facts)
    if op is None or op.name != "py.loop":
        return None
    if op.trips is not None:
        return constant(op.trips)
    each = [one.arguments.get("iterable") for one in op.regions[-1].ops if one.name == "py.element"]
    maker = facts.flow.maker(each[0]) if len(each) == 1 and isinstance(each[0], Value) else None
    number = maker.arguments.get("num") if maker is not None and maker.name == "key.split" else None
    return constant(number) if isinstance(number, int) else None
