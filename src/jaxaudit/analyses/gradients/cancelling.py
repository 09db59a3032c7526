"""Sums that add a value and take it away again: nothing of its gradient comes through.

`(mean + noise) - mean` has the derivative zero by `mean`, however the two stand in functions of their own. So has the
density of such a sample, which depends on the distance from its middle alone. Terms are compared as values, so that an
array and its transpose are two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.analyses.queries import last
from jaxaudit.ir import Value
from jaxaudit.ir.ops import BODIES

_DEEPEST = 8
"""How many sums may stand in each other."""
_SIGNS = {"add": (("x", 1), ("y", 1)), "subtract": (("x", 1), ("y", -1))}
_DISTANCE = (("x", 1), ("loc", -1))
"""A density that takes a middle is one of the distance from it."""


def cancel(graph: Graph) -> None:
    """Let every difference depend on its terms, and end the gradient of those that cancel."""
    for node in graph.order:
        signs = _signs(node)
        if all(sign > 0 for _, sign in signs):
            continue
        met = _operands(graph, node)
        terms = [term for below, sign in met for term in _terms(graph, below, sign, 1)]
        counts = {one: Counter(sign for other, sign in terms if other is one) for one, _ in terms}
        gone = {one for one, count in counts.items() if count[1] == count[-1]}
        if gone:
            sides = {below for below, _ in met}
            beside = [(below, edge) for below, edge in node.inputs if below not in sides]
            node.inputs = [(one, Edge.CANCELLED if one in gone else Edge.LIVE) for one in counts] + beside


def added_at(graph: Graph, node: Node) -> Node:
    """Return the sum that has what cancels in a node for a term."""
    return next((last(below, partial(_carried, graph)) for below, _ in _operands(graph, node)), node)


def _terms(graph: Graph, node: Node, sign: int, depth: int) -> Iterator[tuple[Node, int]]:
    """Return the nodes that a sum is of, each with its sign; a number has no node."""
    node = last(node, partial(_carried, graph))
    below = _operands(graph, node) if node.function in _SIGNS and depth < _DEEPEST else []
    if not below:
        yield node, sign
    for one, turn in below:
        yield from _terms(graph, one, sign * turn, depth + 1)


def _signs(node: Node) -> tuple[tuple[str, int], ...]:
    """Return the arguments that count in a sum, a difference or a distance, each with its sign."""
    made = node.op if node.made_by("array.map") and not node.passes else None
    if made is None:
        return ()
    return _DISTANCE if made.has("loc") else _SIGNS.get(made.function, ())


def _operands(graph: Graph, node: Node) -> list[tuple[Node, int]]:
    given = [(node.op.arguments.get(role), sign) for role, sign in _signs(node)] if node.op is not None else []
    found = [(graph.find(value, node), sign) for value, sign in given if isinstance(value, Value)]
    return [(one, sign) for one, sign in found if one is not None]


def _carried(graph: Graph, node: Node) -> Node | None:
    """Return the node that another one is across the border of a call; a map and a loop give other elements."""
    region = graph.places.owner.get(node.value)
    border = node.op if region is None else graph.places.holder.get(id(region))
    if not node.passes or border is None or border.name not in BODIES or len(node.inputs) != 1:
        return None
    return node.inputs[0][0] if node.inputs[0][1] is Edge.LIVE else None
