"""The rule `missing-stop-gradient`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Gradient
from jaxaudit.analyses.gradients.algebra import Addend, argument, flowing, slice_of, source_of, strip
from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.analyses.gradients.intent import kept_apart, shown_intent
from jaxaudit.analyses.gradients.losses import Difference, Product, Term, terms_of
from jaxaudit.analyses.gradients.targets import (
    Advantage,
    Bootstrap,
    Halves,
    Twins,
    advantages,
    bootstraps,
    cancelled,
    halves,
    is_score,
    twins,
)
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Program, Value
from jaxaudit.ir.functions import EXTREMES
from jaxaudit.ir.ops import CONTRACTIONS
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Subject, proved, unknown
from jaxaudit.rules.gradients._shared.phrases import function_of, judged, named
from jaxaudit.spans import Span

_PAIR = 2

_TD = """
def value(params, obs):
    return jnp.tanh(obs @ params["w1"]) @ params["w2"]

def loss(params, obs, reward, done, next_obs):
    {target}
    return jnp.mean((value(params, obs) - target) ** 2)

def step(params, obs, reward, done, next_obs):
    return jax.grad(loss)(params, obs, reward, done, next_obs)
"""

_SLOW = """
import jax, jax.numpy as jnp, optax

def value(params, obs):
    return jnp.tanh(obs @ params["w1"]) @ params["w2"]

def loss(params, slow, obs, reward, next_obs):
    target = reward + 0.99 * value(params, next_obs)  #!
    return jnp.mean((value(params, obs) - target) ** 2)

def step(params, slow, obs, reward, next_obs):
    grads = jax.grad(loss)(params, slow, obs, reward, next_obs)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, optax.incremental_update(params, slow, 0.01)
"""

_ACTOR_CRITIC = """
def loss(params, obs, actions, returns):
    h = jnp.tanh(obs @ params["torso"])
    logp = jax.nn.log_softmax(h @ params["policy"])
    chosen = jnp.take_along_axis(logp, actions[:, None], axis=1)[:, 0]
    advantage = returns - (h @ params["value"])[:, 0]
    actor = -jnp.mean(chosen * {weight}){mark}
    return actor + 0.5 * jnp.mean(advantage**2)

def step(params, obs, actions, returns):
    return jax.grad(loss)(params, obs, actions, returns)
"""

_CODEBOOK = """
def loss(params, x):
    z = x @ params["encoder"]
    index = jnp.argmin(jnp.sum((z[:, None] - params["codebook"]) ** 2, -1), -1)
    e = params["codebook"][index]
    fit = jnp.mean({fit} ** 2){mark}
    commit = jnp.mean((z - jax.lax.stop_gradient(e)) ** 2)
    decoded = (z + jax.lax.stop_gradient(e - z)) @ params["decoder"]
    return jnp.mean((decoded - x) ** 2) + fit + 0.25 * commit

def step(params, x):
    return jax.grad(loss)(params, x)
"""


_VIEWS = """
def nearness(p, z):
    return jnp.mean(jnp.sum(p * z, axis=-1) / jnp.linalg.norm(p, axis=-1) / jnp.linalg.norm(z, axis=-1))

def loss(params, first, second):
    z1, z2 = jnp.tanh(first @ params["encoder"]), jnp.tanh(second @ params["encoder"])
    p1, p2 = z1 @ params["predictor"], z2 @ params["predictor"]
    total = nearness(p1, jax.lax.stop_gradient(z2))
    return -total - nearness(p2, {second}){mark}

def step(params, first, second):
    return jax.grad(loss)(params, first, second)
"""


class MissingStopGradient(Rule):
    """A target that is made from the parameters being trained passes gradient back.

    ## What it does
    Takes the loss apart and looks, by structure and not by name, for targets that depend on the differentiated
    parameters by a way gradient can take:

    - a bootstrapped target: data plus a discounted prediction, set against the prediction of the same parameters;
    - an advantage: a factor beside a log-probability, made from a value that the same loss fits to data;
    - a target that is made by adding to the prediction, which then cancels (returns as advantages plus values);
    - a label or a teacher: another pass of the same network that a prediction is compared with;
    - one half of a pair of equal errors, of which the other half is stopped (a codebook and its commitment).

    ## Why is this bad?
    The loss can be lowered by moving the target instead of the prediction. Nothing is raised, and training goes to
    something else than was meant: a critic that follows the policy's noise, values that shrink towards each other.

    ## Example
        target = reward + gamma * value(params, next_obs)
        loss = jnp.mean((value(params, obs) - target) ** 2)

    ## Use instead
        target = jax.lax.stop_gradient(reward + gamma * value(params, next_obs))
        loss = jnp.mean((value(params, obs) - target) ** 2)

    Minimising the Bellman residual with its full gradient is a method of its own. A bootstrapped target is an error
    where the code shows that targets count as data (a target network, a slow copy of the parameters, `stop_gradient`
    elsewhere in the file) and neither the function's name nor a comment speaks of a residual gradient; else a warning.

    ## When it cannot tell
    When a side is computed by code that was not followed and is not given the parameters. Losses that let gradient
    through both sides on purpose (contrastive losses, a policy trained through its critic) have another structure.
    """

    summary = "A target computed from the trained parameters passes gradient back."
    needs = ()

    valid = (
        Example(
            _TD.format(
                target="target = jax.lax.stop_gradient(reward + 0.99 * (1 - done) * value(params, next_obs)[:, 0])"
            ),
            "the target is stopped",
        ),
        Example(_ACTOR_CRITIC.format(weight="jax.lax.stop_gradient(advantage)", mark=""), "the advantage is stopped"),
        Example(_CODEBOOK.format(fit="(jax.lax.stop_gradient(z) - e)", mark=""), "each half stops the other side"),
        Example(
            """
            def q(params, obs, action):
                return jnp.concatenate([obs, action], -1) @ params["q"]

            def loss(actor, critic, obs):
                return -jnp.mean(q(critic, obs, jnp.tanh(obs @ actor["w"])))

            def step(actor, critic, obs):
                return jax.grad(loss)(actor, critic, obs)
            """,
            "a policy that is trained through its critic",
        ),
        Example(
            """
            def apart(x):
                return jnp.sum(jax.vmap(lambda row: jnp.sum((row - x) ** 2))(x)) + jnp.sum((x - x.T) ** 2)

            def pull(x):
                return jax.grad(apart)(x)
            """,
            "an array and other elements of it",
        ),
        Example(_VIEWS.format(second="jax.lax.stop_gradient(z1)", mark=""), "both halves of a loss stop the same side"),
        Example(
            """
            def slope(x):
                low = jax.lax.stop_gradient(jnp.max(x, axis=0))
                high = jnp.exp(-jnp.max(x, axis=0))
                return jnp.exp(x - low) - x * high

            def loss(w, obs):
                x = jnp.tanh(obs @ w["torso"]) @ w["head"]
                return jnp.mean(jax.lax.stop_gradient(slope(x)) * x)

            def step(w, obs):
                return jax.grad(loss)(w, obs)
            """,
            "a product inside of what is stopped",
        ),
        Example(
            """
            def loss(params, x):
                z = x @ params["encoder"]
                book = params["book"]
                code = book[jnp.argmin(jnp.sum((z[:, None] - book) ** 2, -1), -1)]
                fit = jnp.mean((code - jax.lax.stop_gradient(z)) ** 2)
                return fit + 0.25 * jnp.mean((z - jax.lax.stop_gradient(code)) ** 2)

            def step(params, x):
                return jax.grad(loss)(params, x)
            """,
            "a distance that only chooses",
        ),
    )
    invalid = (
        Example(
            _TD.format(target="target = reward + 0.99 * (1 - done) * value(params, next_obs)[:, 0]  #?"),
            "the target of a value, which may be meant to be trained",
        ),
        Example(
            _TD.format(target="target = reward + 0.99 * (1 - done) * value(params, next_obs)[:, 0]  #?")
            + "\n@jax.jit\ndef learn(params, batch):\n    return jax.grad(loss)(params, *batch)\n",
            "a batch that is spread",
        ),
        Example(
            _TD.format(target="target = reward + 0.99 * jnp.max(value(params, next_obs), axis=1, keepdims=True)  #!"),
            "the best of several predictions",
        ),
        Example(_SLOW, "the wrong parameters, where a target network is kept"),
        Example(_ACTOR_CRITIC.format(weight="advantage", mark="  #!"), "the advantage trains the value"),
        Example(_CODEBOOK.format(fit="(z - e)", mark="  #!"), "one half of a codebook loss"),
        Example(_VIEWS.format(second="z1", mark="  #!"), "one half of a loss on two views"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every target in every loss."""
        gradients = [one for one in judged(facts, losses=True) if one.known]
        yield from (one for gradient in gradients for one in _judge(gradient))


def _judge(gradient: Gradient) -> Iterator[Obligation]:
    terms = terms_of(gradient)
    for term in terms:
        if (lost := cancelled(term)) is not None and isinstance(term, Difference):
            yield _cancelling(gradient, term, lost)
    for bootstrap in bootstraps(terms):
        yield from _bootstrapped(gradient, bootstrap)
    for advantage in advantages(terms):
        if flowing(advantage.score):
            yield _weighted(gradient, advantage)
    for meeting in _meetings(gradient.graph, terms):
        yield _trained_target(gradient, meeting)
    for pair in twins(terms):
        if (False, False) in (pair.first_stops, pair.second_stops) and pair.first_stops != pair.second_stops:
            yield _paired(gradient, pair)
    yield from (_exchanged(gradient, pair) for pair in halves(gradient))


def _exchanged(gradient: Gradient, pair: Halves) -> Obligation:
    first, second = (op.span for op in (pair.first, pair.second))
    if pair.first_stops == pair.second_stops:
        return proved(second, f"this half of the loss stops the same side as that of line {first.line}")
    if sum(pair.first_stops) + sum(pair.second_stops) != 1:
        return unknown(second, f"this half of the loss stops the other side than that of line {first.line}")
    loose, other = (first, second) if sum(pair.second_stops) else (second, first)
    return Obligation(
        loose,
        message=f"this trains both of its sides, while the other half of {function_of(gradient)} stops one of them",
        current="the side that the other half takes for data is moved by this half, too",
        expected="both halves, in which the two sides change places, stop the same side",
        steps=(Step(other, "the other half is here"),),
        suggestion="wrap the side that the other half stops in `jax.lax.stop_gradient(...)`",
    )


def _bootstrapped(gradient: Gradient, found: Bootstrap) -> Iterator[Obligation]:
    target, prediction = found.target, found.prediction
    where = target.stop or target.where
    span = gradient.span_of(where)
    if not target.flow & prediction.flow:
        if prediction.flow:
            yield proved(span, _stopped_reason(gradient, found))
        return
    meet = Step(gradient.span_of(found.difference.node), "the prediction and its target meet here")
    intent = _greedy(gradient, target.node) or shown_intent(gradient, meet.span.path)
    yield Obligation(
        span,
        severity=Severity.WARNING if intent is None else Severity.ERROR,
        message=f"gradient flows into the bootstrapped target {named(where)} of {function_of(gradient)}",
        current="the target is computed from the parameters being trained, so the loss also moves the target",
        expected="only the prediction is trained; the target counts as data",
        steps=(meet,) if intent is None else (meet, Step(intent[1], intent[0])),
        suggestion="wrap the target in `jax.lax.stop_gradient(...)`, or compute it from parameters of a target network",
        subject=_subject(gradient),
    )


def _greedy(gradient: Gradient, target: Node) -> tuple[str, Span] | None:
    """Return where the best of several predictions is taken for the target: what is chosen by itself is no learner."""
    best = source_of(target)
    taken = best.made_by("array.reduce") and best.function in EXTREMES
    return ("the target is the best of several predictions", gradient.span_of(best)) if taken else None


def _trained_target(gradient: Gradient, found: _Meeting) -> Obligation:
    """Judge a label or a teacher that is trained; networks that learn from each other do so on purpose."""
    intent = kept_apart(gradient)
    name = f" {named(found.target)}" if found.target.value.name else ""
    return Obligation(
        gradient.span_of(found.where),
        severity=Severity.WARNING if intent is None else Severity.ERROR,
        message=f"gradient flows into the {found.kind}{name}, which the trained network makes itself",
        current=f"the {found.kind} is moved towards the prediction, and both may end as the same constant",
        expected=f"only the prediction is trained; the {found.kind} counts as data",
        steps=() if intent is None else (Step(intent[1], intent[0]),),
        suggestion=f"wrap the {found.kind} in `jax.lax.stop_gradient(...)`, or compute it from slow parameters",
        subject=_subject(gradient),
    )


def _cancelling(gradient: Gradient, term: Difference, lost: Addend) -> Obligation:
    return Obligation(
        gradient.span_of(term.node),
        message=f"{named(lost.node)} is in its own target, cancels there, and gets no gradient from this error",
        current="the target is made by adding to the prediction, so the prediction drops out of the error",
        expected="the target counts as data, and the prediction is moved towards it",
        steps=(Step(gradient.span_of(lost.where), "the target is made here"),),
        suggestion="wrap the target in `jax.lax.stop_gradient(...)`",
    )


def _stopped_reason(gradient: Gradient, found: Bootstrap) -> str:
    stops = [one for one in slice_of(found.target.node, stopped=True) if one.op and one.op.name == "grad.stop"]
    stop = found.target.stop or next(iter(stops), None)
    if stop is not None:
        return f"the bootstrapped target is cut by `stop_gradient`, line {gradient.span_of(stop).line}"
    return f"no gradient flows from the bootstrapped target of {function_of(gradient)} to what is trained"


def _subject(gradient: Gradient) -> Subject:
    """Return where an author would say that the target is meant to be trained too."""
    region = gradient.op.regions[0]
    return Subject((gradient.op.qualified, region.label), (region.span,), about="full gradient")


def _weighted(gradient: Gradient, found: Advantage) -> Obligation:
    sure = is_score(found.score)
    return Obligation(
        gradient.span_of(found.product.node),
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"gradient flows into the weight {named(found.weight)}, and so into the value behind it",
        current="the value is moved to lower this term, besides being fitted to data in the same loss",
        expected="the weight of a log-probability counts as data",
        steps=(Step(gradient.span_of(found.weight), f"{named(found.weight)} depends on the value here"),),
        suggestion="multiply with `jax.lax.stop_gradient(...)` of the weight",
    )


def _paired(gradient: Gradient, found: Twins) -> Obligation:
    loose = found.first if found.first_stops == (False, False) else found.second
    other = found.second if loose is found.first else found.first
    return Obligation(
        gradient.span_of(loose.node),
        message="this error trains both of its sides, while its twin stops one of them",
        current="the side that the twin trains is moved by this term too",
        expected="each of the two errors stops the side that the other one trains",
        steps=(Step(gradient.span_of(other.node), "the twin is here"),),
        suggestion="wrap the side that the twin trains in `jax.lax.stop_gradient(...)`",
    )


@record
class _Meeting:
    """Two passes of one network in one term of a loss."""

    where: Node
    prediction: Node
    target: Node
    kind: str
    """`label` or `teacher`."""


def _meetings(graph: Graph, terms: Sequence[Term]) -> Iterator[_Meeting]:
    """Return the terms that compare a pass of a network with another one that is trained too."""
    for node in graph.order:
        if node.op is None or not node.op.loss:
            continue
        prediction, label = argument(graph, node, "logits"), argument(graph, node, "labels")
        if isinstance(prediction, Node) and isinstance(label, Node) and _two_passes(prediction, label):
            yield _Meeting(node, prediction, label, "label")
    for term in terms:
        sides = list(_sides(term))
        if len(sides) == _PAIR and _two_passes(*sides):
            yield from _ordered(term, sides)


def _sides(term: Term) -> Iterator[Node]:
    if isinstance(term, Product):
        yield from (strip(one) for one in term.factors if flowing(one))
    elif len(term.parts) == _PAIR and term.parts[0].sign != term.parts[1].sign:
        yield from (one.node for one in term.parts if one.flow and one.plain)


def _ordered(term: Term, sides: Sequence[Node]) -> Iterator[_Meeting]:
    first, second = sides
    if isinstance(term, Product) and is_score(first) != is_score(second):
        prediction, label = (first, second) if is_score(first) else (second, first)
        yield _Meeting(term.node, prediction, label, "label")
        return
    for prediction, target in ((first, second), (second, first)):
        # A prediction takes layers of its own beside those that both share.
        if flowing(target) & ~flowing(prediction) == 0 and flowing(prediction) & ~flowing(target):
            if isinstance(term, Difference) or not is_score(prediction):
                yield _Meeting(term.node, prediction, target, "teacher")


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
