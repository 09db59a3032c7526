"""The rule `tree-transpose-wrong`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import contexts, origin
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, proved, unknown
from jaxaudit.rules.trees import difference


class TreeTransposeWrong(Rule):
    """The outer and the inner structure of a tree are taken for each other.

    ## What it does
    Compares the outer and the inner structure that `jax.tree.transpose` is given with the tree, where all three are
    known. Finds what `jax.tree.map` makes with a function that gives a tuple, and that is unpacked as if it were a
    tuple of trees: `params, momentum = jax.tree.map(update, params, momentum)`.

    ## Why is this bad?
    The first structure is that of the tree as it is, the second that of its leaves. The other way round raises, or,
    where both have equally many leaves, puts every array in the wrong place. `jax.tree.map` gives a tree with a tuple
    for each leaf: unpacking takes apart its top, so that the first variable gets all that belongs to the first entry.

    ## Example
        jax.tree.transpose(jax.tree.structure({"a": 0}), jax.tree.structure([0, 0]), [{"a": x}, {"a": y}])

    ## Use instead
        jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure({"a": 0}), [{"a": x}, {"a": y}])

    ## When it cannot tell
    When one of the structures comes from outside. A tree that may well have as many entries as the tuples have parts
    is a warning, unless one of the variables held a tree that was mapped over.
    """

    summary = "The outer and the inner structure of a tree are taken for each other."

    valid = (
        Example(
            "def f(x, y):\n    outer = jax.tree.structure([0, 0])\n"
            "    inner = jax.tree.structure({'a': 0})\n"
            "    return jax.tree.transpose(outer, inner, [{'a': x}, {'a': y}])\n",
            "outer first",
        ),
        Example(
            "def update(p, m, g):\n    m = 0.9 * m + g\n    return p - 0.1 * m, m\n\n"
            "def step(params, momentum, grads):\n    pairs = jax.tree.map(update, params, momentum, grads)\n"
            "    outer, inner = jax.tree.structure(params), jax.tree.structure((0, 0))\n"
            "    params, momentum = jax.tree.transpose(outer, inner, pairs)\n    return params, momentum\n\n"
            "def parts(x, y):\n    low, high = jnp.min(x), jnp.max(y)\n"
            "    (a, b), (c, d) = jax.tree.map(lambda v: (v.real, v.imag), (low, high))\n"
            "    low, high = jax.tree.map(lambda v: (v.real, v.imag), (low, high))\n    return a, b, c, d, low, high\n",
            "transposed, and two entries that are taken as such",
        ),
    )
    invalid = (
        Example(
            "def f(x, y):\n    outer = jax.tree.structure([0, 0])\n"
            "    inner = jax.tree.structure({'a': 0})\n"
            "    return jax.tree.transpose(inner, outer, [{'a': x}, {'a': y}])  #!\n",
            "inner first",
        ),
        Example(
            "def update(p, m, g):\n    m = 0.9 * m + g\n    return p - 0.1 * m, m\n\n"
            "def step(params, m, grads):\n    params, m = jax.tree.map(update, params, m, grads)  #!\n"
            "    return params, m\n",
            "a tree of pairs taken for a pair of trees",
        ),
        Example(
            "def clip(params):\n    clipped, sums = jax.tree.map(lambda p: (jnp.clip(p, -1, 1), p.sum()), params)  #?\n"
            "    return clipped, sums\n",
            "perhaps two entries",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every transpose of trees, and every tree of tuples that is unpacked like a tuple of trees."""
        yield from (_judge(op, facts.flow) for op in program.calling("jax.tree.transpose"))
        yield from map(_unzipped, program.named("tree.unzipped"))


def _judge(op: Op, flow: Flow) -> Obligation:
    border = op.border
    tree = border.trees[2] if border is not None and len(border.trees) == 3 else None
    outer, inner = (_structure(op, name, flow) for name in ("outer_treedef", "inner_treedef"))
    if tree is None or outer is None or inner is None or tree.kind not in CONTAINERS:
        return unknown(op.span, "one of the structures is not known")
    found = difference(outer, tree)
    if not found or difference(inner, tree):
        return proved(op.span, "the outer structure is that of the tree")
    return Obligation(
        op.span,
        message="the outer and the inner structure are swapped in `tree.transpose`",
        current=f"the first structure is not that of the tree: {found}",
        expected="first the structure of the tree, then that of its leaves",
        suggestion="exchange the first two arguments",
    )


def _unzipped(op: Op) -> Obligation:
    held = " and ".join(f"`{name}`" for name in op.written or ())
    if op.kind == "tuple" and not held:
        return unknown(op.span, "whether the entries of the tree are meant, or the parts of its leaves, is not known")
    certain = (held or op.kind == "dict") and not op.guarded
    gets = "the keys of the dict" if op.kind == "dict" else "all that belongs to one entry at the top of the tree"
    return Obligation(
        op.span,
        severity=Severity.ERROR if certain else Severity.WARNING,
        message="a tree with a tuple for each leaf is unpacked as if it were a tuple of trees",
        current=f"each variable gets {gets}",
        expected=f"{held or 'each variable'} gets a tree again, with one part of each tuple",
        suggestion="map once for each part, or use `jax.tree.transpose`",
    )


def _structure(op: Op, name: str, flow: Flow) -> Tree | None:
    """Return the tree whose structure an argument is."""
    given = op.arguments.get(name)
    if not isinstance(given, Value):
        return None
    made = next((origin(flow, given, context).op for context in contexts(flow, op)), None)
    border = None if made is None or made.qualified != "jax.tree.structure" else made.border
    return border.trees[0] if border is not None and border.trees and border.trees[0].kind in CONTAINERS else None
