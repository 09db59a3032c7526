"""Logits of chosen actions that a policy loss takes for log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Edge, Gradient, Node, gradients_of
from jaxaudit.analyses.gradients.algebra import Addend, addends, argument, flowing, learned, source_of, strip
from jaxaudit.analyses.meaning import Kind, Meanings
from jaxaudit.analyses.meaning.forms import taken_for_logits
from jaxaudit.analyses.meaning.samples import whole
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Step, Verdict
from jaxaudit.spans import Span

RULE = "meaning-mismatch"

_EITHER = frozenset("maximum minimum max min".split())
_MOST = 200
_STEPS = 4
_CHOICES = frozenset(("py.item", "array.gather"))


@dataclass(frozen=True, slots=True)
class Weighted:
    """Something learned that a loss weighs by data."""

    node: Node
    beside: tuple[Node, ...]
    """What it is added to, under the same weights."""


def raw_scores(facts: Facts, meanings: Meanings) -> Iterator[Obligation]:
    """Find chosen logits that are weighed by data, or compared with stored ones, as if they were log-probabilities."""
    gradients = [one for one in gradients_of(facts) if one.op.name == "grad" and one.known]
    logits = _logits(facts.program, meanings) if gradients else {}
    for gradient in gradients if logits else ():
        for found in _weighted(gradient):
            score = _chosen(gradient, found)
            maker = None if score is None else meanings.flow.maker(whole(meanings.flow, score.value))
            if score is None or maker is None or maker.span not in logits:
                continue
            meaning = meanings.of(score.value)
            if meaning is None or meaning.kind not in (Kind.LOG_PROBABILITIES, Kind.PROBABILITIES):
                yield _finding(gradient.span_of(found.node), logits[maker.span])


def _logits(program: Program, meanings: Meanings) -> dict[Span, Op]:
    """Return where the values are made that something takes for logits, and what takes them."""
    found: dict[Span, Op] = {}
    for op in program.named("array.normalise", "key.draw", "array.reduce"):
        for value in () if op.backward else taken_for_logits(op):
            maker = meanings.flow.maker(whole(meanings.flow, value))
            if maker is not None:
                found.setdefault(maker.span, op)
    return found


def _weighted(gradient: Gradient) -> Iterator[Weighted]:
    """Return the parts of a loss that are weighed by data, through sums, means and minima."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node in gradient.roots]
    while stack and len(seen) < _MOST:
        top, weighed = stack.pop()
        parts = [one for one in addends(gradient.graph, top, reduced=True) if learned(one.node)]
        for part in parts:
            if part.node in seen:
                continue
            seen.add(part.node)
            below = list(_below(gradient, part.node))
            known = weighed or _by_data(part)
            stack.extend((one, known) for one in below)
            score = _beside_stopped(gradient, part.node)
            stack.extend([(score, True)] if score is not None else [])
            if not below and known:
                yield Weighted(part.node, tuple(one.node for one in parts if _go_together(one, part)))


def _go_together(one: Addend, other: Addend) -> bool:
    """Whether two parts of a sum are weighed alike: by the same data, or by some of it."""
    return _data(one) == _data(other) or not _data(one).isdisjoint(_data(other))


def _data(part: Addend) -> set[Node]:
    return {strip(one) for one in part.factors if isinstance(one, Node)}


def _by_data(part: Addend) -> bool:
    """Whether a part is weighed by data that is no mask or choice."""
    made = [one.op for one in _data(part)]
    return any(op is None or (op.function != "one_hot" and op.name != "array.select") for op in made)


def _below(gradient: Gradient, node: Node) -> Iterator[Node]:
    op = node.op
    if node.passes:
        yield from (one for one, edge in node.inputs if edge is Edge.LIVE)
    elif op is not None and op.name == "array.map" and op.function in _EITHER:
        sides = [argument(gradient.graph, node, role) for role in ("x", "y")]
        yield from (side for side in sides if isinstance(side, Node) and learned(side))
    elif op is not None and op.name == "array.select" and op.function == "clip" and node.inputs:
        yield node.inputs[0][0]


def _chosen(gradient: Gradient, found: Weighted) -> Node | None:
    """Return what a weighed part takes one entry of.

    By itself, or as the exponential of a difference to stored data.
    """
    node, beside = strip(found.node), [one for one in found.beside if one is not found.node]
    if node.op is not None and node.op.function == "exp" and node.inputs:
        parts = list(addends(gradient.graph, node.inputs[0][0]))
        moving = [one for one in parts if learned(one.node)]
        if len(moving) != 1 or len(parts) < 2 or not moving[0].plain:
            return None
        node, beside = strip(moving[0].node), list[Node]()
    if not _is_chosen(node):
        return None
    whole_score = source_of(node)
    # What is taken off the same scores may normalise them.
    return None if any(_depends(one, whole_score) for one in beside) else whole_score


def _beside_stopped(gradient: Gradient, node: Node) -> Node | None:
    """Return the side of a product that is trained, where the other one is stopped and so counts as data."""
    if node.op is None or node.op.name != "array.map" or node.op.function != "multiply":
        return None
    sides = [argument(gradient.graph, node, role) for role in ("x", "y")]
    moving = [one for one in sides if isinstance(one, Node) and flowing(one)]
    return moving[0] if len(moving) == 1 else None


def _is_chosen(node: Node) -> bool:
    """Whether a value is entries of another one, chosen by an array of indices."""
    for _ in range(_STEPS):
        node = strip(node)
        if node.op is None or node.op.name not in _CHOICES:
            return False
        if _by_array(node.op):
            return True
        node = next((below for below, edge in node.inputs if edge is Edge.LIVE), node)
    return False


def _by_array(op: Op) -> bool:
    """Whether an op chooses entries by an array of indices."""
    index = op.arguments.get("index", op.arguments.get("indices"))
    return isinstance(index, Value) or (isinstance(index, tuple) and any(isinstance(one, Value) for one in index))


def _depends(top: Node, target: Node) -> bool:
    seen, stack = {top}, [top]
    while stack:
        node = stack.pop()
        if node is target:
            return True
        fresh = [below for below, _ in node.inputs if below not in seen and below.order >= target.order]
        seen.update(fresh)
        stack.extend(fresh)
    return False


def _finding(span: Span, taker: Op) -> Obligation:
    return Obligation(
        RULE,
        span,
        Verdict.VIOLATED,
        message="the logits of chosen actions are taken for log-probabilities",
        current="nothing normalises them, so the loss falls without end as all logits grow",
        expected="log-probabilities: the logits less their `logsumexp`",
        steps=(Step(taker.span, "the same scores are taken for logits here"),),
        suggestion="choose from `jax.nn.log_softmax(...)` of the logits",
    )
