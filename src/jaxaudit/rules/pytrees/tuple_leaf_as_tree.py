"""The rule `tuple-leaf-as-tree`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown


class TupleLeafAsTree(Rule):
    """A tuple that is meant as one leaf is taken apart.

    ## What it does
    Finds `jax.tree.map` over a tree whose entries are tuples of numbers, with a function that uses its argument as
    the shape of an array, and no `is_leaf`.

    ## Why is this bad?
    A tuple is a tree. The function is called with 3 and then with 4, not with `(3, 4)`: it makes two vectors where
    one matrix was meant, and raises nothing.

    ## Example
        shapes = {"w": (3, 4), "b": (4,)}
        params = jax.tree.map(jnp.zeros, shapes)

    ## Use instead
        params = jax.tree.map(jnp.zeros, shapes, is_leaf=lambda x: isinstance(x, tuple))

    ## When it cannot tell
    When the tree comes from outside. A plain tuple of sizes is taken at its word.
    """

    summary = "A shape in a tree is taken apart because a tuple is no leaf."

    valid = (
        Example(
            "def f():\n    shapes = {'w': (3, 4), 'b': (4,)}\n"
            "    return jax.tree.map(jnp.zeros, shapes, is_leaf=lambda x: isinstance(x, tuple))\n",
            "told so",
        ),
        Example("def f():\n    return jax.tree.map(jnp.zeros, (3, 4))\n", "sizes"),
    )
    invalid = (
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
        yield from (one for op in program.named("tree.map") for one in _judge(op))


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
