"""The terms of a loss: which are errors between two sides, which are products of learned factors."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.gradients.algebra import Addend, addends, argument, factors_of, learned, strip
from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.analyses.gradients.reach import Gradient
from jaxaudit.analyses.queries import last
from jaxaudit.ir.functions import EVEN, EXTREMES_OF_TWO
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays


@record
class Difference:
    """An error: a sum under a square, an absolute value or a library's regression loss."""

    node: Node
    parts: tuple[Addend, ...]
    kind: str


@record
class Product:
    """A product of learned factors."""

    node: Node
    factors: tuple[Node, ...]


Term = Difference | Product


def terms_of(gradient: Gradient) -> list[Term]:
    """Return the errors and products that the loss is a weighted sum of."""
    found: list[Term] = []
    seen: set[Node] = set()
    stack = list(gradient.roots)
    graph = gradient.graph
    while stack:
        node = strip(stack.pop())
        if node in seen or not learned(node):
            continue
        seen.add(node)
        below = list(_alternatives(graph, node))
        if below:
            stack.extend(below)
            continue
        parts = list(addends(graph, node, reduced=True))
        if len(parts) > 1 or parts[0].node is not node:
            stack.extend(part.node for part in parts)
        else:
            found.extend(_term(graph, node))
    return found


def _alternatives(graph: Graph, node: Node) -> Iterator[Node]:
    """Return what a term is one of: the sides of a minimum, of a branch, of the turns of a loop."""
    op = node.op
    if node.passes:
        yield from (below for below, edge in node.inputs if edge is Edge.LIVE)
    elif op is not None and op.name == "py.join":
        yield from (below for below, _ in node.inputs)
    elif op is not None and op.name == "array.map" and op.function in EXTREMES_OF_TWO:
        sides = [argument(graph, node, role) for role in ("x", "y")]
        if not _bounds_error(node):
            yield from (side for side in sides if isinstance(side, Node) and learned(side))


def _bounds_error(node: Node) -> bool:
    """Whether a minimum bounds an absolute error, as in a Huber loss written out."""
    return any(strip(side).function == "abs" for side, _ in node.inputs)


def _term(graph: Graph, node: Node) -> Iterator[Term]:
    op = node.op
    if op is None:
        return
    if op.loss:
        yield from _library_loss(graph, node)
        return
    inner = _inside_square(graph, node)
    if inner is not None:
        parts = tuple(addends(graph, inner))
        yield Difference(node, parts, op.function)
        return
    factors = tuple(factors_of(graph, node))
    if len(factors) > 1:
        yield Product(node, factors)


def _inside_square(graph: Graph, node: Node) -> Node | None:
    """Return what is squared, or made positive; None when a node is something else."""
    inside = last(node, lambda one: _without_square(graph, one, bounded=one is not node))
    return None if inside is node else strip(inside)


def _without_square(graph: Graph, node: Node, *, bounded: bool) -> Node | None:
    """Return what is under a square, a norm, or (`bounded`, in an error) a bound."""
    node = strip(node)
    x, y = argument(graph, node, "x"), argument(graph, node, "y")
    sides = [one for one in (x, y) if isinstance(one, Node)]
    if node.made_by("array.map") and node.function in EVEN and isinstance(x, Node):
        return x
    if node.function == "multiply" and len(sides) == 2 and strip(sides[0]) is strip(sides[1]):
        return sides[0]
    if bounded and node.function in EXTREMES_OF_TWO and len(sides) == 1:
        return sides[0]
    return node.inputs[0][0] if node.made_by("array.linalg") and node.function == "norm" and node.inputs else None


def _library_loss(graph: Graph, node: Node) -> Iterator[Term]:
    """A regression loss of a library: its predictions against its targets."""
    op = node.op
    if op is None or not plays(op.qualified, "loss.regression"):
        return
    left, right = argument(graph, node, "predictions"), argument(graph, node, "targets")
    left = argument(graph, node, "x") if left is None else left
    if not isinstance(left, Node):
        return
    parts = list(addends(graph, left))
    if isinstance(right, Node):
        parts += addends(graph, right, sign=-1)
    yield Difference(node, tuple(parts), op.function)
