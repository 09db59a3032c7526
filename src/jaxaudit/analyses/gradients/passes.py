"""Two passes of one network that meet in a loss: a prediction and a label or a teacher that is trained as well.

Names play no part: both sides are computed by the same layers in different calls. Where one side takes further learned
layers, it is a prediction of the other; where both take the same ones (two views of one thing), neither is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.gradients.algebra import argument, flowing, slice_of, strip
from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.analyses.gradients.losses import Difference, Product, Term
from jaxaudit.analyses.gradients.targets import is_score
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Value
from jaxaudit.ir.ops import CONTRACTIONS
from jaxaudit.ir.record import record
from jaxaudit.spans import Span

_PAIR = 2


@record
class Meeting:
    """Two passes of one network in one term of a loss."""

    where: Node
    prediction: Node
    target: Node
    kind: str
    """`label` or `teacher`."""


def meetings(graph: Graph, terms: Sequence[Term]) -> Iterator[Meeting]:
    """Return the terms that compare a pass of a network with another one that is trained too."""
    for node in graph.order:
        if node.op is None or not node.op.loss:
            continue
        prediction, label = argument(graph, node, "logits"), argument(graph, node, "labels")
        if isinstance(prediction, Node) and isinstance(label, Node) and _two_passes(prediction, label):
            yield Meeting(node, prediction, label, "label")
    for term in terms:
        sides = list(_sides(term))
        if len(sides) == _PAIR and _two_passes(*sides):
            yield from _ordered(term, sides)


def _sides(term: Term) -> Iterator[Node]:
    if isinstance(term, Product):
        yield from (strip(one) for one in term.factors if flowing(one))
    elif len(term.parts) == _PAIR and term.parts[0].sign != term.parts[1].sign:
        yield from (one.node for one in term.parts if one.flow and one.plain)


def _ordered(term: Term, sides: Sequence[Node]) -> Iterator[Meeting]:
    first, second = sides
    if isinstance(term, Product) and is_score(first) != is_score(second):
        prediction, label = (first, second) if is_score(first) else (second, first)
        yield Meeting(term.node, prediction, label, "label")
        return
    for prediction, target in ((first, second), (second, first)):
        # A prediction takes layers of its own beside those that both share.
        if flowing(target) & ~flowing(prediction) == 0 and flowing(prediction) & ~flowing(target):
            if isinstance(term, Difference) or not is_score(prediction):
                yield Meeting(term.node, prediction, target, "teacher")


def _two_passes(first: Node, second: Node) -> bool:
    """Whether two sides are trained and made by the same layers, in different calls."""
    if not flowing(first) & flowing(second):
        return False
    one, other = _layers(first), _layers(second)
    apart = bool(set(one.values()) & set(other.values())) and not one.keys() & other.keys()
    return apart and _data(first) != _data(second)


def _data(node: Node) -> set[Value]:
    """Return what a value is made from in the end: two passes over the same data are one."""
    ends = (one for one in walk((node,), _inputs) if not one.inputs and not one.made_by("py.const", "array.create"))
    return {one.value for one in ends}


def _inputs(node: Node) -> Iterator[Node]:
    return (below for below, _ in node.inputs)


def _layers(node: Node) -> dict[Node, Span]:
    return {one: one.op.span for one in slice_of(node) if one.op is not None and one.op.name in CONTRACTIONS}
