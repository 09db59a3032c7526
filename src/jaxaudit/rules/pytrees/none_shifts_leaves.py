"""The rule `none-shifts-leaves`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim, constant, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import behind, depends, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.pytrees._shared.leaf_lists import taken_apart

_LISTING = through_ops("py.append", "py.container", "py.join", "tree.map")


class NoneShiftsLeaves(Rule):
    """Leaves are numbered, or paired with something else, though `None` is none of them.

    ## What it does
    Looks at loops over `jax.tree.leaves(tree)` or the leaves of `jax.tree.flatten(tree)` whose number selects from
    another sequence (`enumerate`), or that run along another sequence (`zip`), and asks whether the tree has entries
    that are None.

    ## Why is this bad?
    None is no leaf. All leaves behind the first None move forward by one, and meet what belongs to another entry.
    Nothing raises as long as the shapes fit.

    ## Example
        extras = [None, update]
        for i, extra in enumerate(jax.tree.leaves(extras)):
            weights[i] = weights[i] + extra

    ## Use instead
        for i, extra in enumerate(extras):
            if extra is not None:
                weights[i] = weights[i] + extra

    ## When it cannot tell
    When the tree comes from outside. It is a warning where the length of the other sequence is not known.
    """

    summary = "Leaves are numbered or paired though `None` entries are left out of them."
    needs = (Shapes,)

    valid = """
    ## the entries themselves, and leaves that are only summed
    def adapted(weights):
        extras = [None, jnp.ones(3), None, jnp.ones(3)]
        out = list(weights)
        for i, extra in enumerate(extras):
            if extra is not None:
                out[i] = out[i] + extra
        return out, sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(extras))

    ## a key for each leaf, and two trees with None in the same place
    def noisy(key, tree):
        tree = {"a": tree, "b": None, "c": jnp.ones(3)}
        scales = {"a": 1.0, "b": None, "c": 2.0}
        leaves, structure = jax.tree.flatten(tree)
        keys = jax.random.split(key, len(leaves))
        moved = [leaf + jax.random.normal(k, leaf.shape) for leaf, k in zip(leaves, keys)]
        scaled = [s * leaf for leaf, s in zip(leaves, jax.tree.leaves(scales))]
        return jax.tree.unflatten(structure, moved), scaled

    ## None counts as a leaf
    def adapted(weights):
        extras = [None, jnp.ones(3)]
        leaves = jax.tree.leaves(extras, is_leaf=lambda x: x is None)
        return [w if e is None else w + e for w, e in zip(weights, leaves)]
    """
    invalid = """
    ## numbered
    def adapted():
        weights = [jnp.zeros(3), jnp.ones(3), jnp.ones(3)]
        extras = [None, jnp.ones(3), jnp.ones(3)]
        out = list(weights)
        for i, extra in enumerate(jax.tree.leaves(extras)):  #!
            out[i] = out[i] + extra
        return out

    ## made in a loop
    def extras(depth, every):
        return [jnp.ones(3) if i % every == 0 else None for i in range(depth)]

    def adapted(weights):
        return [w + e for w, e in zip(weights, jax.tree.leaves(extras(4, 2)))]  #?

    ## a rate for a parameter that is not there
    def penalty(w, b):
        params = {"b": None, "w": w, "z": b}
        rates = {"b": 0.0, "w": 0.1, "z": 0.5}
        return sum(r * jnp.sum(p**2) for p, r in zip(jax.tree.leaves(params), jax.tree.leaves(rates)))  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop over the leaves of a tree that selects from, or runs along, another sequence."""
        for loop in program.named("py.loop"):
            body = loop.regions[-1].ops if loop.regions else ()
            elements = [
                op for op in body if op.name == "py.element" and isinstance(op.arguments.get("iterable"), Value)
            ]
            for element in elements:
                call = taken_apart(facts.flow, element.arguments["iterable"])  # type: ignore[arg-type]
                if call is not None and not call.has("is_leaf"):
                    yield from _judge(loop, element, call, facts)


def _judge(loop: Op, element: Op, call: Op, facts: Facts) -> Iterator[Obligation]:
    others = list(_beside(loop, element))
    gap = _gap_in(call, facts.flow) if others else None
    if not others:
        return
    if gap is None:
        known = call.border is not None and call.border.trees and call.border.trees[0].kind != "value"
        reason = "no entry of the tree is None" if known else "whether an entry of the tree is None is not known"
        yield (proved if known else unknown)(loop.span, reason)
        return
    for use, other in others:
        paired = taken_apart(facts.flow, other)
        if paired is call:
            continue
        if paired is not None:
            place = _first_gap(call, paired)
            if place:
                yield _violated(element, call, use, gap, Severity.ERROR, f"{place} is None in one tree alone")
            continue
        if depends(facts.flow, other, call.results):
            yield proved(loop.span, "what the leaves meet is made of them")
            continue
        if depends(facts.flow, other, tuple(call.border.trees[0].values()) if call.border is not None else ()):
            yield unknown(loop.span, "what the leaves meet is made of the same tree")
            continue
        own, count = _entries_of(call, gap, facts), _count_of(other, facts)
        if own is not None and count is not None and not same(own, count):
            yield unknown(loop.span, "what the leaves meet is not as long as the tree")
            continue
        certain = own is not None and (count is not None or _holds_at_least(other, own, facts))
        severity = Severity.ERROR if certain else Severity.WARNING
        yield _violated(element, call, use, gap, severity, "entries that are None are left out")


def _beside(loop: Op, element: Op) -> Iterator[tuple[Op, Value]]:
    """Return what the number of a leaf selects from, and what runs along the leaves."""
    at, starts = element.arguments.get("index"), {one.param: one.start for one in Loop(loop).carried}
    for op in loop.regions[-1].walk():
        base = op.argument("base", "iterable")
        numbered = op.name in ("py.item", "py.set_item", "py.element") and op is not element
        if numbered and op.arguments.get("index") is at and isinstance(base, Value):
            yield op, starts.get(base, base)
            return


def _violated(element: Op, call: Op, use: Op, gap: Op | None, severity: Severity, why: str) -> Obligation:
    put = () if gap is None or gap is call else (Step(gap.span, "an entry of the tree is None here"),)
    return Obligation(
        element.span,
        severity=severity,
        message="leaves are numbered without the entries that are None, and meet what belongs to others",
        current=f"{why}, so all leaves behind move forward by one",
        expected="each leaf meets what belongs to its own entry",
        steps=(*put, Step(call.span, "None is none of these leaves"), Step(use.span, "the number is used here")),
        suggestion="go over the entries themselves and leave out None, or map over both trees",
    )


def _gap_in(call: Op, flow: Flow) -> Op | None:
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


def _first_gap(call: Op, other: Op) -> str:
    """Return the first place where one of two trees has None and the other a leaf; empty where there is none."""
    trees = [op.border.trees[0] for op in (call, other) if op.border is not None and op.border.trees]
    return next(_gaps(trees[0], trees[1]), "") if len(trees) == 2 else ""


def _gaps(first: Tree, other: Tree, path: str = "") -> Iterator[str]:
    if (first.kind == "none") != (other.kind == "none"):
        yield f"`{path}`" if path else "the top"
    elif first.kind == other.kind and first.kind in CONTAINERS:
        for key, one, two in first.aligned(other):
            yield from _gaps(one, two, f"{path}[{key}]")


def _entries_of(call: Op, gap: Op, facts: Facts) -> Dim | None:
    """Return how many entries the list has that a call takes apart, None among them."""
    tree = call.border.trees[0] if call.border is not None and call.border.trees else None
    if tree is not None and tree.kind in ("list", "tuple"):
        return constant(len(tree.children))
    places = facts.places
    around = (holder for _, holder in places.up(places.region_of[gap]) if holder is not None)
    turns = next((holder.trips for holder in around if holder.name == "py.loop"), None)
    return constant(turns) if turns is not None else _count_of(call.arguments.get("tree"), facts)


def _holds_at_least(value: Value, count: Dim, facts: Facts) -> bool:
    """Whether a list that is written out has so many items, or more."""
    op = origin(facts.flow, value, {}).op
    listed = op is not None and op.name == "py.container" and op.kind in ("list", "tuple")
    return op is not None and listed and count.constant is not None and len(op.operands) >= count.constant


def _count_of(given: Argument, facts: Facts) -> Dim | None:
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
        return _count_of(op.operands[0], facts)
    if op is None or op.name != "py.loop":
        return None
    if op.trips is not None:
        return constant(op.trips)
    each = [one.arguments.get("iterable") for one in op.regions[-1].ops if one.name == "py.element"]
    maker = facts.flow.maker(each[0]) if len(each) == 1 and isinstance(each[0], Value) else None
    number = maker.arguments.get("num") if maker is not None and maker.name == "key.split" else None
    return constant(number) if isinstance(number, int) else None
