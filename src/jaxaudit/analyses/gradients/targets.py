"""Targets in a loss, by structure: a prediction against one made from itself, a score times an advantage, a pair twice.

Names play no part. A bootstrapped target is data plus something learned that is discounted, set against what is learned
from the same parameters; an advantage is a factor that depends on a value which the same loss fits to data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import combinations, permutations

from jaxaudit.analyses.gradients.algebra import (
    Addend,
    dependencies,
    depends,
    flowing,
    learned,
    slice_of,
    source_of,
    strip,
    unstopped,
)
from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.analyses.gradients.graph import Node
from jaxaudit.analyses.gradients.losses import Difference, Product, Term
from jaxaudit.analyses.gradients.reach import Gradient
from jaxaudit.analyses.queries import last, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import EVEN, LOG_SPACE
from jaxaudit.ir.ops import CONTRACTIONS, CUSTOM_DERIVATIVES, DERIVATIVES, SELECTED
from jaxaudit.ir.record import record
from jaxaudit.spans import Span

_NETWORK = CONTRACTIONS | CUSTOM_DERIVATIVES | {"py.call_library", "py.call_unknown"}


@record
class Bootstrap:
    """A prediction, and a target that is made of data and a discounted prediction."""

    difference: Difference
    prediction: Addend
    target: Addend
    """The first discounted part of it."""


@record
class Advantage:
    """A score times a weight that depends on a value."""

    product: Product
    score: Node
    weight: Node
    value: Node


@record
class Twins:
    """Two errors of one kind between the same two sides, each with what is stopped of them."""

    first: Difference
    second: Difference
    first_stops: tuple[bool, bool]
    second_stops: tuple[bool, bool]


def bootstraps(terms: Sequence[Term]) -> Iterator[Bootstrap]:
    """Return the errors between a prediction and a target that is bootstrapped from learned values."""
    for term in terms:
        found = _bootstrap(term) if isinstance(term, Difference) else None
        if found is not None:
            yield found


def _bootstrap(term: Difference) -> Bootstrap | None:
    plain = {one.node: one for one in term.parts if learned(one.node) and one.plain}
    if len(plain) != 1:
        return None
    (prediction,) = plain.values()
    against = [one for one in term.parts if one.sign != prediction.sign]
    targets = [one for one in against if learned(one.node) and one.shrinks]
    if not targets or not any(not learned(one.node) for one in against):
        return None
    target = targets[0]
    first, second = _network(prediction.node), _network(target.node)
    if not first & second or depends(target.node, prediction.node) or depends(prediction.node, target.node):
        return None
    return Bootstrap(term, prediction, target)


def cancelled(term: Term) -> Addend | None:
    """Return a learned part of an error that is added and taken away again, so that nothing of it is left to learn."""
    if not isinstance(term, Difference):
        return None
    plain = [one for one in term.parts if one.flow and one.plain]
    pairs = ((one, other) for one in plain for other in plain if one.sign > other.sign)
    return next((one for one, other in pairs if _drops_out(term, one, other)), None)


def _drops_out(term: Difference, one: Addend, other: Addend) -> bool:
    """Whether two parts are one value; what is turned or spread in between meets other elements of itself."""
    if one.node is not other.node:
        return _is_same(one.node, other.node)
    around = walk((term.node,), lambda node: (below for below, _ in node.inputs if below.order > one.node.order))
    inputs = (pair for node in around for pair in node.inputs)
    return any(edge is Edge.CANCELLED and strip(below) is one.node for below, edge in inputs)


def _is_same(one: Node, other: Node) -> bool:
    """Whether two nodes are the same slice of one value."""
    first, second = one.op, other.op
    if first is None or second is None or first.name != second.name or first.name not in SELECTED:
        return False
    plain = [[given for given in op.arguments.values() if not isinstance(given, Value)] for op in (first, second)]
    sources = [[below for below, _ in node.inputs] for node in (one, other)]
    same = list(map(strip, sources[0])) == list(map(strip, sources[1]))
    return same and plain[0] == plain[1] and len(sources[0]) == 1


def _network(node: Node) -> set[Span]:
    """Return the places of the network that a value is computed by; none where it comes from derivatives of one."""
    ops = {one.op for one in slice_of(node, stopped=True) if one.op is not None}
    if any(op.name in DERIVATIVES or op.backward for op in ops):
        return set()
    return {op.span for op in ops if op.name in _NETWORK}


def advantages(terms: Sequence[Term]) -> Iterator[Advantage]:
    """Return the products of a score with a weight that depends on a value."""
    values = [value for term in terms if isinstance(term, Difference) and (value := _fitted(term)) is not None]
    for term in terms:
        if isinstance(term, Product):
            found = _advantage(term, values)
            if found is not None:
                yield found


def _fitted(term: Difference) -> Node | None:
    """Return the value that an error fits to data."""
    found = {source_of(one.node) for one in term.parts if one.flow and one.plain}
    data = any(not one.flow for one in term.parts)
    return found.pop() if len(found) == 1 and data else None


def _advantage(term: Product, values: Sequence[Node]) -> Advantage | None:
    for value in values:
        weights = [one for one in term.factors if flowing(one) and depends(one, value)]
        scores = [one for one in term.factors if not depends(unstopped(one), value)]
        if len(weights) == 1 and scores and not is_even(weights[0]):
            score = next((one for one in scores if is_score(one)), scores[0])
            return Advantage(term, score, weights[0], value)
    return None


def is_even(node: Node) -> bool:
    """Whether a factor is a squared or absolute error, or a mean of such."""
    error = last(
        strip(node), lambda one: strip(one.inputs[0][0]) if one.made_by("array.reduce") and one.inputs else None
    )
    return error.function in EVEN or (error.op is not None and error.op.loss)


def is_score(node: Node) -> bool:
    """Whether a value is made of log-probabilities: something behind it takes a logarithm."""
    return any(one.function in LOG_SPACE for one in slice_of(unstopped(node)))


def twins(terms: Sequence[Term]) -> Iterator[Twins]:
    """Return every two errors of one kind between the same two learned sides."""
    groups: defaultdict[object, list[tuple[Difference, tuple[bool, bool]]]] = defaultdict(list)
    for term in terms:
        if not isinstance(term, Difference) or len(term.parts) != 2:
            continue
        sides = sorted(term.parts, key=lambda one: unstopped(one.node).order)
        if all(learned(one.node) and one.plain for one in sides) and sides[0].sign != sides[1].sign:
            bases = tuple(unstopped(one.node) for one in sides)
            groups[term.kind, bases].append((term, (not sides[0].flow, not sides[1].flow)))
    for group in groups.values():
        for at, (second, stopped) in enumerate(group[1:], 1):
            first, before = group[at - 1]
            if strip(first.node) is not strip(second.node):
                yield Twins(first, second, before, stopped)


_SIDES = 4
"""Two of each half."""


@record
class Halves:
    """Two ops that do the same to two sides, of which each is made of what the other op has for its other side."""

    first: Op
    second: Op
    first_stops: tuple[bool, bool]
    second_stops: tuple[bool, bool]


def halves(gradient: Gradient) -> Iterator[Halves]:
    """Return the halves of losses in which two views change places, where one of them stops a side."""
    groups: defaultdict[object, list[tuple[Op, list[Node]]]] = defaultdict(list)
    # A distance that only chooses, such as that to the nearest code, is no half of a loss.
    trains = {node.value for root in gradient.roots for node in slice_of(root)}
    for op in (one for region in gradient.op.regions for one in region.walk() if not trains.isdisjoint(one.results)):
        sides = [gradient.graph.nodes.get((value, 0)) for value in op.operands]
        known = [one for one in sides if one is not None and learned(one)]
        if len(known) == 2:
            groups[op.name, op.function, tuple(region.span for region in op.regions)].append((op, known))
    for group in groups.values():
        stops = {op: (_stopped(sides[0]), _stopped(sides[1])) for op, sides in group}
        if not any(map(any, stops.values())):
            continue
        plain = {op: (unstopped(sides[0]), unstopped(sides[1])) for op, sides in group}
        every = {side for sides in plain.values() for side in sides}
        made_of = {side: dependencies(side, every) - {side} for side in every}
        for first, second in combinations(plain, 2):
            if any((*stops[first], *stops[second])) and _change_places(plain[first], plain[second], made_of):
                yield Halves(first, second, stops[first], stops[second])


def _stopped(node: Node) -> bool:
    return node.made_by("grad.stop")


def _change_places(ours: tuple[Node, Node], theirs: tuple[Node, Node], made_of: Mapping[Node, Set[Node]]) -> bool:
    """Whether one side of each op is computed from the other side of the other one, and from no more of the four."""
    (a, b), (c, d) = ours, theirs
    found = {(one, other) for one, other in permutations((a, b, c, d), 2) if other in made_of[one]}
    return len({a, b, c, d}) == _SIDES and found in ({(a, d), (c, b)}, {(b, c), (d, a)})
