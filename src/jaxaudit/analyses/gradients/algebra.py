"""A loss taken apart: the terms it is the sum of, the factors of a product, the parts of a difference.

Nodes that only carry a value on (calls, reshapes, conversions) are looked through. What is not learned (data,
constants) becomes a factor of what it scales.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Set
from math import prod

from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.analyses.gradients.reach import ANYTHING
from jaxaudit.analyses.queries import Answers, last, walk
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES, SCALINGS, SUMS_OF_TWO
from jaxaudit.ir.ops import PASSED_ON, REARRANGED, SELECTED
from jaxaudit.ir.record import record

Factor = Node | float
"""Something a term is multiplied with: data, or a number."""

_CARRIED = (REARRANGED | PASSED_ON | {"py.element"}) - {"grad.stop"}
_REDUCES = frozenset(("collective", "array.reduce", "py.call_library"))
_FLOWS = (Edge.LIVE, Edge.MAYBE)


@record
class Addend:
    """One part of a sum."""

    node: Node
    sign: int
    factors: tuple[Factor, ...]
    where: Node
    """The innermost addition or subtraction that it stands in."""
    stop: Node | None = None
    """The `stop_gradient` around it, within the sum."""

    @property
    def flow(self) -> int:
        """The leaves that gradient flows to from the sum through this part."""
        return 0 if self.stop is not None else flowing(self.node)

    @property
    def plain(self) -> bool:
        """Whether nothing but a sign scales it."""
        return all(isinstance(one, float) and abs(one) == 1.0 for one in self.factors)

    @property
    def shrinks(self) -> bool:
        """Whether it is scaled by data, or by a number between zero and one."""
        known = [one for one in self.factors if isinstance(one, float)]
        return len(known) < len(self.factors) or 0 < abs(prod(known)) < 1


def learned(node: Node) -> bool:
    """Whether a value depends on what is differentiated, be it through `stop_gradient`."""
    return bool(node.live or node.maybe or node.cut)


def flowing(node: Node) -> int:
    """Return the leaves that gradient flows to from here."""
    return (node.live | node.maybe) & ~ANYTHING


def strip(node: Node) -> Node:
    """Look through what only carries a value on."""
    below = _carried(node)
    return node if below is None else last(below, _carried)


def _carried(node: Node) -> Node | None:
    """Return what a node only carries on; None when it makes something else of it."""
    op = node.op
    single = op is not None and (op.name in _CARRIED or (op.name == "py.join" and len(op.operands) == 1))
    return _only_input(node) if node.passes or single else None


def _only_input(node: Node) -> Node | None:
    below = [one for one, edge in node.inputs if edge is Edge.LIVE]
    return below[0] if len(below) == 1 and all(edge is not Edge.MAYBE for _, edge in node.inputs) else None


def source_of(node: Node) -> Node:
    """Return the whole that a value is a slice, a chosen entry or a copy of."""
    return last(node, lambda one: _only_input(one) if one.made_by(*SELECTED) else _carried(one))


def unstopped(node: Node) -> Node:
    """Look through `stop_gradient` as well."""
    return last(node, lambda one: one.inputs[0][0] if _is_stop(one) and len(one.inputs) == 1 else _carried(one))


def argument(graph: Graph, node: Node, role: str) -> Node | float | None:
    """Return one argument of the op that made a node."""
    given: Argument = node.op.arguments.get(role) if node.op is not None else None
    if isinstance(given, Value):
        found = graph.find(given, node)
        constant = _number(found)
        return found if constant is None else constant
    return float(given) if isinstance(given, int | float) else None


def _number(node: Node | None) -> float | None:
    """Return the number that a constant is, through broadcasts."""
    op = None if node is None else strip(node).op
    value = op.constant if op is not None and op.name == "py.const" else None
    return float(value) if isinstance(value, int | float) else None


def addends(graph: Graph, node: Node, *, reduced: bool = False, sign: int = 1) -> Iterator[Addend]:
    """Return the parts of a sum with what scales them; with `reduced`, also inside means and sums over axes."""
    first = strip(node)
    stack = [Addend(first, sign, (), first)]
    seen: set[object] = set()
    while stack:
        part = stack.pop()
        key = (part.node, part.sign, frozenset(Counter(part.factors).items()), part.stop is None)
        if key in seen:
            continue
        seen.add(key)
        whole = not reduced and _is_output(graph, part.node)
        inner = [] if whole else list(_scaled(graph, part.node, reduced))
        if not inner:
            yield part
        where = part.node if len(inner) > 1 else part.where
        for below, turn, more in reversed(inner):
            stop = part.node if _is_stop(part.node) else part.stop
            stack.append(Addend(strip(below), part.sign * turn, (*part.factors, *more), where, stop))


def _is_output(graph: Graph, node: Node) -> bool:
    """Whether a sum is one learned value, such as the output of a layer with its bias added."""
    if graph.outputs is None:
        graph.outputs = Answers(lambda one, ask: _adds_outputs(graph, one, ask), otherwise=False)
    return graph.outputs(node)


def _adds_outputs(graph: Graph, node: Node, is_output: Callable[[Node], bool]) -> bool:
    if not node.made_by("array.map") or node.function != "add":
        return False
    for role in ("x", "y"):
        side = argument(graph, node, role)
        if not isinstance(side, Node) or not learned(side):
            return False
        bare = strip(side)
        if next(_scaled(graph, bare, False), None) is not None and not is_output(bare):
            return False
    return True


def _is_stop(node: Node) -> bool:
    return node.made_by("grad.stop")


Scaled = Iterator[tuple[Node, int, tuple[Factor, ...]]]


def _scaled(graph: Graph, node: Node, reduced: bool) -> Scaled:
    """Return what a sum or a scaled value is made of; nothing for anything else."""
    op = node.op
    if op is None or not learned(node):
        return
    function = op.function
    if op.name == "array.map" and function in SUMS_OF_TWO | SCALINGS:
        x, y = argument(graph, node, "x"), argument(graph, node, "y")
        yield from _sum(x, y, function) if function in SUMS_OF_TWO else _product(x, y, function)
    elif op.name == "array.map" and function == "negative":
        x = argument(graph, node, "x")
        if isinstance(x, Node):
            yield x, -1, ()
    elif op.name == "array.select" and function in ("where", "select"):
        yield from _selected(graph, node)
    elif _is_stop(node) and not reduced:
        yield from ((below, 1, ()) for below, _ in node.inputs)
    elif reduced and op.name in _REDUCES and function in ADDITIONS | AVERAGES:
        yield from ((below, 1, ()) for below, edge in node.inputs if edge is Edge.LIVE)


def _sum(x: Node | float | None, y: Node | float | None, function: str) -> Scaled:
    second = 1 if function == "add" else -1
    if isinstance(x, Node):
        yield x, 1, ()
    if isinstance(y, Node):
        yield y, second, ()


def _product(x: Node | float | None, y: Node | float | None, function: str) -> Scaled:
    """A product of something learned with something that is not; of two learned things it is left whole."""
    divides = function == "divide"
    for this, other in ((x, y), (y, x)):
        if isinstance(this, Node) and learned(this) and not (isinstance(other, Node) and learned(other)):
            if divides and this is y:
                return
            factor = 1.0 / other if divides and isinstance(other, float) and other else other
            sign = -1 if isinstance(factor, float) and factor < 0 else 1
            yield this, sign, () if factor is None else (factor,)
            return


def _selected(graph: Graph, node: Node) -> Scaled:
    condition = argument(graph, node, "condition")
    if isinstance(condition, Node) and not learned(condition):
        for role in ("x", "y"):
            branch = argument(graph, node, role)
            if isinstance(branch, Node):
                yield branch, 1, (condition,)


_FACTORS = {"multiply": ("x", "y"), "negative": ("x",), "divide": ("x",)}


def factors_of(graph: Graph, node: Node) -> Iterator[Node]:
    """Return the learned factors of a product; those of a product inside it once, however often it is a factor."""
    seen: set[Node] = set()
    stack: list[Node] = [node]
    while stack:
        node = strip(stack.pop())
        op = node.op
        roles = _FACTORS.get(op.function, ()) if op is not None and op.name == "array.map" else ()
        if not roles:
            yield node
        elif node not in seen:
            seen.add(node)
            below = [argument(graph, node, role) for role in reversed(roles)]
            stack.extend(one for one in below if isinstance(one, Node) and learned(one))


def depends(top: Node, target: Node) -> bool:
    """Whether gradient flows from one node to another."""
    return bool(dependencies(top, {target}))


def dependencies(top: Node, wanted: Set[Node]) -> set[Node]:
    """Return those of some nodes that gradient flows to from a node."""
    lowest = min((one.order for one in wanted), default=0)

    def flows(node: Node) -> Iterator[Node]:
        return (one for one, edge in node.inputs if edge in _FLOWS and one.order >= lowest)

    return {*wanted}.intersection(walk((top,), flows))


def slice_of(top: Node, *, stopped: bool = False) -> Iterator[Node]:
    """Return every learned node that gradient flows to from a node, itself included; `stopped`: or would flow to."""

    def flows(node: Node) -> Iterator[Node]:
        for below, edge in node.inputs:
            if edge in _FLOWS and (below.live or below.maybe):
                yield below
            elif stopped and edge is not Edge.ZERO and learned(below):
                yield below

    return walk((top,), flows)
