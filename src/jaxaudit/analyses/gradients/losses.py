"""The terms of a loss: which are errors between two sides, which are products of learned factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.gradients.algebra import Addend, addends, argument, factors_of, learned, strip
from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.analyses.gradients.reach import Gradient
from jaxaudit.ir.functions import EVEN, EXTREMES_OF_TWO

_MOST = 400


@dataclass(frozen=True, slots=True)
class Difference:
    """An error: a sum under a square, an absolute value or a library's regression loss."""

    node: Node
    parts: tuple[Addend, ...]
    kind: str


@dataclass(frozen=True, slots=True)
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
    while stack and len(seen) < _MOST:
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
    found: Node | None = None
    for _ in range(8):
        node = strip(node)
        op = node.op
        if op is None:
            break
        function = op.function
        x = argument(graph, node, "x")
        y = argument(graph, node, "y")
        if op.name == "array.map" and function in EVEN and isinstance(x, Node):
            node = found = x
        elif function == "multiply" and isinstance(x, Node) and isinstance(y, Node) and strip(x) is strip(y):
            node = found = x
        elif function in EXTREMES_OF_TWO and found is not None and isinstance(x, Node) != isinstance(y, Node):
            node = found = x if isinstance(x, Node) else y  # type: ignore[assignment]
        elif op.name == "array.linalg" and function == "norm" and node.inputs:
            node = found = node.inputs[0][0]
        else:
            break
    return None if found is None else strip(found)


def _library_loss(graph: Graph, node: Node) -> Iterator[Term]:
    """A regression loss of a library: its predictions against its targets."""
    op = node.op
    if op is None or op.function not in ("huber_loss", "l2_loss", "log_cosh", "squared_error"):
        return
    left, right = argument(graph, node, "predictions"), argument(graph, node, "targets")
    left = argument(graph, node, "x") if left is None else left
    if not isinstance(left, Node):
        return
    parts = list(addends(graph, left))
    if isinstance(right, Node):
        parts += addends(graph, right, sign=-1)
    yield Difference(node, tuple(parts), op.function)
