"""The rule `logits-as-log-probabilities`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Edge, Gradient, Node, gradients_of
from jaxaudit.analyses.gradients.algebra import Addend, addends, argument, flowing, learned, source_of, strip
from jaxaudit.analyses.lineage.elements import whole_of
from jaxaudit.analyses.meaning import Kind, Meanings, meanings_of
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import BOUNDS
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved
from jaxaudit.spans import Span

_REINFORCE = """
def act(w, obs, key):
    return jax.random.categorical(key, obs @ w)

def loss(w, obs, actions, advantages):
    scores = {made}
    chosen = jnp.take_along_axis(scores, actions[:, None], axis=1)[:, 0]{mark}
    return -jnp.mean(chosen * advantages) - 0.01 * jnp.sum(jax.nn.softmax(scores) ** 2)

step = jax.jit(jax.grad(loss))
"""


class LogitsAsLogProbabilities(Rule):
    """A policy loss takes the logits of the chosen actions for their log-probabilities.

    ## What it does
    Takes differentiated losses apart into sums of products. Where entries that are chosen by an array of actions are
    weighed by data, or compared with stored ones in a ratio `exp(new - old)`, they are log-probabilities. If they come
    from scores that something else takes for logits, and nothing normalises them, they are none.

    ## Why is this bad?
    Nothing holds the logits together: the loss falls without end as all of them grow, and no action becomes more
    probable than another.

    ## Example
        chosen = jnp.take_along_axis(logits, actions[:, None], axis=1)[:, 0]
        loss = -jnp.mean(chosen * advantages)

    ## Use instead
        logp = jax.nn.log_softmax(logits)
        chosen = jnp.take_along_axis(logp, actions[:, None], axis=1)[:, 0]
        loss = -jnp.mean(chosen * advantages)

    ## When it cannot tell
    Scores that nothing takes for logits, as Q-values are, may be weighed by anything.
    """

    summary = "A policy loss weighs the logits of chosen actions as if they were log-probabilities."

    valid = (Example(_REINFORCE.format(made="jax.nn.log_softmax(obs @ w)", mark=""), "normalised first"),)
    invalid = (Example(_REINFORCE.format(made="obs @ w", mark="  #!"), "as they come"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every choice of scores that a loss weighs by data or compares with stored ones."""
        meanings, flow = meanings_of(facts), facts.flow
        gradients = [one for one in gradients_of(facts) if one.op.name == "grad" and one.known]
        logits = _logits(meanings) if gradients else {}
        for gradient in gradients:
            for found in _weighted(gradient):
                score = _chosen(gradient, found)
                meaning = None if score is None else meanings.of(score.value)
                maker = None if score is None else flow.maker(whole_of(flow, score.value))
                if meaning is not None and meaning.kind is Kind.LOG_PROBABILITIES:
                    yield proved(gradient.span_of(found.node), "the entries that are chosen here are log-probabilities")
                elif maker is not None and maker.span in logits:
                    if meaning is None or meaning.kind is not Kind.PROBABILITIES:
                        yield _finding(gradient.span_of(found.node), logits[maker.span])


def _logits(meanings: Meanings) -> dict[Span, Op]:
    """Return where the values are made that something takes for logits, and what takes them."""
    found: dict[Span, Op] = {}
    for taker in meanings.takers:
        maker = meanings.flow.maker(whole_of(meanings.flow, taker.value))
        if taker.wants is Kind.LOGITS and maker is not None:
            found.setdefault(maker.span, taker.op)
    return found


@record
class _Weighted:
    """Something learned that a loss weighs by data."""

    node: Node
    beside: tuple[Node, ...]
    """What it is added to, under the same weights."""


@record
class _Term:
    """A part of a loss, and whether data weighs what it is in."""

    node: Node
    weighed: bool


def _weighted(gradient: Gradient) -> Iterator[_Weighted]:
    """Return the parts of a loss that are weighed by data, through sums, means and minima."""

    def parts(term: _Term) -> list[Addend]:
        return [one for one in addends(gradient.graph, term.node, reduced=True) if learned(one.node)]

    def step(term: _Term) -> Iterator[_Term]:
        for part in parts(term):
            yield from (_Term(one, term.weighed or _is_by_data(part)) for one in _below(gradient, part.node))
            score = _beside_stopped(gradient, part.node)
            if score is not None:
                yield _Term(score, weighed=True)

    for term in walk([_Term(node, weighed=False) for node in gradient.roots], step):
        found = parts(term)
        for part in found:
            if (term.weighed or _is_by_data(part)) and not any(_below(gradient, part.node)):
                yield _Weighted(part.node, tuple(one.node for one in found if _is_weighed_alike(one, part)))


def _is_weighed_alike(one: Addend, other: Addend) -> bool:
    """Whether two parts of a sum are weighed alike: by the same data, or by some of it."""
    return _data(one) == _data(other) or not _data(one).isdisjoint(_data(other))


def _data(part: Addend) -> set[Node]:
    return {strip(one) for one in part.factors if isinstance(one, Node)}


def _is_by_data(part: Addend) -> bool:
    """Whether a part is weighed by data that is no mask or choice."""
    made = [one.op for one in _data(part)]
    return any(op is None or (op.function != "one_hot" and op.name != "array.select") for op in made)


def _below(gradient: Gradient, node: Node) -> Iterator[Node]:
    """Return what a mean, a bound or a choice is taken of."""
    op = node.op
    if node.passes:
        yield from (one for one, edge in node.inputs if edge is Edge.LIVE)
    elif op is not None and op.name == "array.map" and op.function in BOUNDS:
        sides = [argument(gradient.graph, node, role) for role in ("x", "y")]
        yield from (side for side in sides if isinstance(side, Node) and learned(side))
    elif op is not None and op.name == "array.select" and op.function == "clip" and node.inputs:
        yield node.inputs[0][0]


def _beside_stopped(gradient: Gradient, node: Node) -> Node | None:
    """Return the side of a product that is trained, where the other one is stopped and so counts as data."""
    if node.op is None or node.op.name != "array.map" or node.op.function != "multiply":
        return None
    sides = [argument(gradient.graph, node, role) for role in ("x", "y")]
    moving = [one for one in sides if isinstance(one, Node) and flowing(one)]
    return moving[0] if len(moving) == 1 else None


def _chosen(gradient: Gradient, found: _Weighted) -> Node | None:
    """Return what a weighed part takes entries of, by itself or as the exponential of a difference to stored data."""
    node, beside = strip(found.node), [one for one in found.beside if one is not found.node]
    if node.op is not None and node.op.function == "exp" and node.inputs:
        parts = list(addends(gradient.graph, node.inputs[0][0]))
        moving = [one for one in parts if learned(one.node)]
        if len(moving) != 1 or len(parts) < 2 or not moving[0].plain:
            return None
        node, beside = strip(moving[0].node), list[Node]()
    if not _is_chosen(node):
        return None
    scores = source_of(node)
    # What is taken off the same scores may normalise them.
    return None if any(_depends(one, scores) for one in beside) else scores


def _is_chosen(node: Node) -> bool:
    """Whether a value is entries of another one, chosen by an array of indices."""

    def step(one: Node) -> list[Node]:
        chooses = one.op is not None and one.op.name in ("py.item", "array.gather")
        return [strip(below) for below, edge in one.inputs if edge is Edge.LIVE][:1] if chooses else []

    return any(one.op is not None and _is_by_array(one.op) for one in walk((strip(node),), step))


def _is_by_array(op: Op) -> bool:
    """Whether an op chooses entries by an array of indices."""
    index = op.argument("index", "indices") if op.name in ("py.item", "array.gather") else None
    return any(isinstance(one, Value) for one in index_parts(index))


def _depends(top: Node, target: Node) -> bool:
    below = walk((top,), lambda node: [one for one, _ in node.inputs if one.order >= target.order])
    return any(node is target for node in below)


def _finding(span: Span, taker: Op) -> Obligation:
    return Obligation(
        span,
        message="the logits of chosen actions are taken for log-probabilities",
        current="nothing normalises them, so the loss falls without end as all logits grow",
        expected="log-probabilities: the logits less their `logsumexp`",
        steps=(Step(taker.span, "the same scores are taken for logits here"),),
        suggestion="choose from `jax.nn.log_softmax(...)` of the logits",
    )
