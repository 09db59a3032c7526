"""The rule `tuple-leaf-as-tree`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict, proved, unknown


class TupleLeafAsTree(Rule):
    """A tuple that is meant as one leaf is taken apart.

    ## What it does
    Finds `jax.tree.map` over a tree whose entries are tuples of numbers, with a function that uses its argument as
    the shape of an array, and no `is_leaf`. The same for a tree of pairs `(mean, scale)` and a function that takes
    `pair[0]` and `pair[1]`, and for named tuples whose fields it reads.

    ## Why is this bad?
    A tuple is a tree. The function is called with 3 and then with 4, not with `(3, 4)`: it makes two vectors where
    one matrix was meant, and raises nothing.

    ## Example
        shapes = {"w": (3, 4), "b": (4,)}
        params = jax.tree.map(jnp.zeros, shapes)

    ## Use instead
        params = jax.tree.map(jnp.zeros, shapes, is_leaf=lambda x: isinstance(x, tuple))

    ## When it cannot tell
    When the tree comes from outside. A plain tuple of sizes is taken at its word. Where all arrays of the pairs may
    have as many rows as there are in a pair, it is a warning.
    """

    summary = "A shape or a pair in a tree is taken apart because a tuple is no leaf."
    needs = (Shapes,)

    valid = (
        Example(
            "def f():\n    shapes = {'w': (3, 4), 'b': (4,)}\n"
            "    return jax.tree.map(jnp.zeros, shapes, is_leaf=lambda x: isinstance(x, tuple))\n",
            "told so",
        ),
        Example("def f():\n    return jax.tree.map(jnp.zeros, (3, 4))\n", "sizes"),
        Example(
            "def f(w, b):\n    pairs = {'w': (w, jnp.ones(3)), 'b': (b, jnp.ones(4))}\n"
            "    return jax.tree.map(lambda p: p[0] + p[1], pairs, is_leaf=lambda x: isinstance(x, tuple))\n",
            "pairs that are leaves",
        ),
        Example(
            "def f():\n    pairs = {'a': (jnp.ones((2, 3)), jnp.ones((2, 5)))}\n"
            "    return jax.tree.map(lambda p: p[0] - p[1], pairs)\n",
            "two rows of each",
        ),
    )
    invalid = (
        Example(
            "def f():\n    pairs = {'w': (jnp.ones((3, 4)), jnp.ones((3, 4))), 'b': (jnp.ones(4), jnp.ones(4))}\n"
            "    return jax.tree.map(lambda p: p[0] + jnp.exp(p[1]), pairs)  #!\n",
            "pairs",
        ),
        Example(
            "from typing import NamedTuple\n\nclass Stats(NamedTuple):\n    centre: jax.Array\n    width: jax.Array\n\n"
            "def f(x):\n    stats = {'a': Stats(jnp.zeros(3), jnp.ones(3))}\n"
            "    return jax.tree.map(lambda s: (x - s.centre) / s.width, stats)  #!\n",
            "fields",
        ),
        Example(
            "def f():\n    shapes = {'w': (3, 4), 'b': (4,)}\n    return jax.tree.map(jnp.zeros, shapes)  #!\n",
            "shapes",
        ),
        Example(
            "def f(key):\n    shapes = {'w': (3, 4)}\n"
            "    return jax.tree.map(lambda s: jax.random.normal(key, s), shapes)  #!\n",
            "drawn",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every mapped function that takes its leaf for a shape."""
        for op in program.named("tree.map"):
            yield from _judge(op)
            yield from _judge_parts(op, facts)


def _judge(op: Op) -> Iterator[Obligation]:
    border, region = op.border, op.regions[0]
    if border is None or len(border.trees) != 1 or op.paths:
        return
    use = next((inner for inner in region.ops if _is_shape(inner, region.params[0])), None)
    if use is None:
        return
    tree = border.trees[0]
    if op.is_leaf:
        yield proved(op.span, "`is_leaf` decides what counts as a leaf")
    elif tree.kind in CONTAINERS and any(_holds_shape(child) for child in tree.children):
        yield _taken_apart(op, use)
    elif tree.kind in CONTAINERS:
        yield proved(op.span, "no entry of the tree is a tuple of numbers")
    else:
        yield unknown(op.span, "what the tree holds is not known")


def _judge_parts(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge a function that takes its leaf apart, as if it were given a tuple."""
    border, region = op.border, op.regions[0] if op.regions else None
    at = op.paths if isinstance(op.paths, int) else 0
    if border is None or region is None or op.is_leaf or not border.trees or at >= len(region.params):
        return
    uses = facts.flow.readers.get(region.params[at], ())
    tree = border.trees[0]
    holders = list(_innermost(tree)) if tree.kind in CONTAINERS else []
    # A tuple at the top is what is mapped over; those further in may be meant as one.
    if not uses or not holders or holders == [tree]:
        return
    places = [use.arguments.get("index") if use.name == "py.item" else None for use in uses]
    taken = {place for place in places if isinstance(place, int)}
    if (
        len(taken) > 1
        and all(isinstance(place, int) for place in places)
        and all(one.kind == "tuple" and taken == set(range(len(one.children))) for one in holders)
    ):
        sizes = [facts.get(Shapes).of(value).dims for one in holders for value in one.values()]
        rows = [dims[0].constant if dims else None for dims in sizes]
        if any(size not in (None, len(taken)) for size in rows) or () in sizes:
            yield _parts(op, uses[0], "each array alone, and takes rows of it", Severity.ERROR)
        elif None in rows:
            found = _parts(op, uses[0], "each array alone, and takes rows of it", Severity.WARNING)
            reason = "whether the arrays of the pairs have that many rows is not known"
            yield replace(found, verdict=Verdict.UNKNOWN, reason=reason)
    named = {use.label if use.name == "py.attr" else "" for use in uses}
    if all(one.kind == "namedtuple" and named <= set(one.keys) for one in holders):
        yield _parts(op, uses[0], "each field alone, which has no such fields", Severity.ERROR)


def _innermost(tree: Tree) -> Iterator[Tree]:
    """Return the containers that hold leaves."""
    inner = [child for child in tree.children if child.kind in CONTAINERS]
    if len(inner) < len(tree.children):
        yield tree
    yield from (one for child in inner for one in _innermost(child))


def _parts(op: Op, use: Op, given: str, severity: Severity) -> Obligation:
    return Obligation(
        op.span,
        severity=severity,
        message="`tree.map` takes the tuples in this tree apart: a tuple is no leaf",
        current=f"the function is called with {given}",
        expected="the function is called once for each tuple",
        steps=(Step(use.span, "the leaf is taken apart here"),),
        suggestion="add `is_leaf=lambda x: isinstance(x, tuple)`",
    )


def _is_shape(op: Op, leaf: Value) -> bool:
    return op.name in ("array.create", "key.draw", "array.expand") and op.arguments.get("shape") is leaf


def _holds_shape(tree: Tree) -> bool:
    if tree.kind == "tuple" and tree.children:
        return all(child.kind == "number" for child in tree.children)
    return tree.kind in CONTAINERS and any(_holds_shape(child) for child in tree.children)


def _taken_apart(op: Op, use: Op) -> Obligation:
    return Obligation(
        op.span,
        message="`tree.map` takes the shapes in this tree apart: a tuple is no leaf",
        current="the function is called once for each number of a shape, and makes a vector of each",
        expected="the function is called once for each shape",
        steps=(Step(use.span, "the leaf is used as a shape here"),),
        suggestion="add `is_leaf=lambda x: isinstance(x, tuple)`",
    )
