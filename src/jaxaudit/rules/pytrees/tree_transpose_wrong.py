"""The rule `tree-transpose-wrong`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import contexts, origin
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Example, Obligation, Rule, proved, unknown
from jaxaudit.rules.trees import difference


class TreeTransposeWrong(Rule):
    """`jax.tree.transpose` is given the two structures in the wrong order.

    ## What it does
    Compares the outer and the inner structure with the tree that is transposed, where all three are known.

    ## Why is this bad?
    The first structure is that of the tree as it is, the second that of its leaves. The other way round raises, or,
    where both have equally many leaves, puts every array in the wrong place.

    ## Example
        jax.tree.transpose(jax.tree.structure({"a": 0}), jax.tree.structure([0, 0]), [{"a": x}, {"a": y}])

    ## Use instead
        jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure({"a": 0}), [{"a": x}, {"a": y}])

    ## When it cannot tell
    When one of the structures comes from outside.
    """

    summary = "The outer and the inner structure of a tree transpose are swapped."

    valid = (
        Example(
            "def f(x, y):\n    outer = jax.tree.structure([0, 0])\n"
            "    inner = jax.tree.structure({'a': 0})\n"
            "    return jax.tree.transpose(outer, inner, [{'a': x}, {'a': y}])\n",
            "outer first",
        ),
    )
    invalid = (
        Example(
            "def f(x, y):\n    outer = jax.tree.structure([0, 0])\n"
            "    inner = jax.tree.structure({'a': 0})\n"
            "    return jax.tree.transpose(inner, outer, [{'a': x}, {'a': y}])  #!\n",
            "inner first",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every transpose of trees."""
        yield from (_judge(op, facts.flow) for op in program.calling("jax.tree.transpose"))


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


def _structure(op: Op, name: str, flow: Flow) -> Tree | None:
    """Return the tree whose structure an argument is."""
    given = op.arguments.get(name)
    if not isinstance(given, Value):
        return None
    made = next((origin(flow, given, context).op for context in contexts(flow, op)), None)
    border = None if made is None or made.qualified != "jax.tree.structure" else made.border
    return border.trees[0] if border is not None and border.trees and border.trees[0].kind in CONTAINERS else None
