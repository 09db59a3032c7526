"""The rule `none-shifts-leaves`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.pytrees._shared.leaf_lists import taken_apart
from jaxaudit.rules.pytrees._shared.missing import count_of, entries_of, first_gap, gap_in, holds_at_least


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
    gap = gap_in(call, facts.flow) if others else None
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
            place = first_gap(call, paired)
            if place:
                yield _violated(element, call, use, gap, Severity.ERROR, f"{place} is None in one tree alone")
            continue
        if depends(facts.flow, other, call.results):
            yield proved(loop.span, "what the leaves meet is made of them")
            continue
        if depends(facts.flow, other, tuple(call.border.trees[0].values()) if call.border is not None else ()):
            yield unknown(loop.span, "what the leaves meet is made of the same tree")
            continue
        own, count = entries_of(call, gap, facts), count_of(other, facts)
        if own is not None and count is not None and not same(own, count):
            yield unknown(loop.span, "what the leaves meet is not as long as the tree")
            continue
        certain = own is not None and (count is not None or holds_at_least(other, own, facts))
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
