"""The rule `misplaced-stop-gradient`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Edge, Gradient, Node
from jaxaudit.analyses.gradients.algebra import addends, flowing, unstopped
from jaxaudit.analyses.gradients.graph import Graph
from jaxaudit.analyses.gradients.losses import Difference, Product, Term, terms_of
from jaxaudit.analyses.gradients.targets import Twins, advantages, bootstraps, is_even, is_score, twins
from jaxaudit.ir import Program
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.gradients._shared.phrases import cancels, function_of, is_undecided, judged, names, unknown_reason

_TD = """
def value(params, obs):
    return (jnp.tanh(obs @ params["w1"]) @ params["w2"])[:, 0]

def loss(params, obs, reward, next_obs):
    v = {prediction}
    target = {target}
    return jnp.mean((v - target) ** 2)

def step(params, obs, reward, next_obs):
    return jax.grad(loss)(params, obs, reward, next_obs)
"""


class MisplacedStopGradient(Rule):
    """`stop_gradient` stands where it keeps the parameters from learning.

    ## What it does
    Looks at what `stop_gradient` leaves of the ways from the parameters to the loss: whether any is left at all, and
    in an error between a prediction and a target, a score and its weight, or two halves of a codebook loss, whether
    the side that was to learn is the one that still does.

    ## Why is this bad?
    Nothing is raised: the gradient of what is stopped is zero, and what should have stayed fixed moves instead.

    ## Example
        v = jax.lax.stop_gradient(value(params, obs))
        target = reward + gamma * value(params, next_obs)
        loss = jnp.mean((v - target) ** 2)

    ## Use instead
        v = value(params, obs)
        target = jax.lax.stop_gradient(reward + gamma * value(params, next_obs))
        loss = jnp.mean((v - target) ** 2)

    ## When it cannot tell
    When the function calls code that was not followed. A part of the parameters that is stopped while others learn may
    be frozen on purpose, which is no finding.
    """

    summary = "`stop_gradient` is on the side that was to learn, or leaves nothing to learn."
    needs = ()

    valid = (
        Example(
            _TD.format(
                prediction="value(params, obs)", target="jax.lax.stop_gradient(reward + 0.99 * value(params, next_obs))"
            ),
            "the target is stopped",
        ),
        Example(
            """
            def loss(params, x, y):
                features = jax.lax.stop_gradient(jnp.tanh(x @ params["encoder"]))
                return jnp.mean((features @ params["head"] - y) ** 2)

            def step(params, x, y):
                return jax.grad(loss)(params, x, y)
            """,
            "a head on a frozen encoder",
        ),
        Example(
            """
            def wake(params, z, y):
                model, guide = params
                fit = -0.5 * jnp.sum((y - z @ model["w"]) ** 2, -1)
                near = -0.5 * jnp.sum((z - y @ guide["w"]) ** 2, -1)
                return -jnp.sum(jax.lax.stop_gradient(jax.nn.softmax(fit - near)) * near)

            def step(params, z, y):
                return jax.grad(wake)(params, z, y)
            """,
            "errors under fixed weights",
        ),
    )
    invalid = (
        Example(
            _TD.format(
                prediction="jax.lax.stop_gradient(value(params, obs))  #!",
                target="reward + 0.99 * value(params, next_obs)",
            ),
            "the prediction is stopped",
        ),
        Example(
            """
            def loss(params, x, y):
                prediction = jax.lax.stop_gradient(x @ params["w"])  #!
                return jnp.mean((prediction - y) ** 2)

            def step(params, x, y):
                return jax.grad(loss)(params, x, y)
            """,
            "nothing is left to learn",
        ),
        Example(
            """
            def loss(params, x, index):
                z = x @ params["encoder"]
                e = params["codebook"][index]
                fit = jnp.mean((z - jax.lax.stop_gradient(e)) ** 2)
                commit = jnp.mean((z - jax.lax.stop_gradient(e)) ** 2)  #!
                return fit + 0.25 * commit

            def step(params, x, index):
                return jax.grad(loss)(params, x, index)
            """,
            "both halves stop the same side",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient whose loss has a `stop_gradient` in it."""
        gradients = [one for one in judged(facts, losses=True) if one.known]
        yield from (one for gradient in gradients for one in _judge(gradient))


def _judge(gradient: Gradient) -> Iterator[Obligation]:
    mask = gradient.mask
    if not mask.cut:
        return
    terms = terms_of(gradient)
    found = [*_turned(gradient, terms), *_twice(gradient, terms), *_predictors(gradient, terms)]
    yield from found
    if is_undecided(gradient):
        yield unknown(gradient.op.span, unknown_reason(gradient))
    elif not (mask.live or mask.maybe):
        yield from _nothing_left(gradient)
    elif not found and _stops(gradient):
        reason = f"what `stop_gradient` leaves of {function_of(gradient)} still trains its parameters"
        yield proved(gradient.op.span, reason)


def _nothing_left(gradient: Gradient) -> Iterator[Obligation]:
    """Return the places that stop the last of the gradient."""
    stopped = [leaf for leaf in gradient.silent if leaf.bit & gradient.mask.cut and not cancels(gradient, leaf)]
    bits = sum(leaf.bit for leaf in stopped)
    places = {gradient.span_of(node): node for node, edge in gradient.kills(bits) if edge is Edge.CUT}
    for span in sorted(places)[:1]:
        yield Obligation(
            span,
            message=f"`stop_gradient` leaves nothing to learn: the gradient of {names(stopped)} is zero",
            current=f"every way from {names(stopped)} to the loss is stopped",
            expected="at least the prediction passes gradient back",
            steps=(Step(gradient.op.span, f"{function_of(gradient)} is differentiated here"),),
            suggestion="stop the target, and leave the prediction as it is",
        )


def _stops(gradient: Gradient) -> bool:
    """Whether the code itself stops a gradient; JAX does so too, inside a softmax and others."""
    inside = (op for region in gradient.op.regions for op in region.walk() if op.name == "grad.stop")
    return any(op.api in ("", "stop_gradient") and not op.library for op in inside)


def _turned(gradient: Gradient, terms: Sequence[Term]) -> Iterator[Obligation]:
    """Find predictions and scores that are stopped while their target or weight is not."""
    for found in bootstraps(terms):
        stop = found.prediction.stop
        if stop is not None and found.target.flow:
            yield _wrong_side(gradient, stop, found.difference.node, "prediction", "target")
    for one in advantages(terms):
        if not flowing(one.score) and is_score(one.score) and (stop := _stop_of(one.score)) is not None:
            yield _wrong_side(gradient, stop, one.product.node, "log-probability", "weight")


def _stop_of(node: Node) -> Node | None:
    return node if node.op is not None and node.op.name == "grad.stop" else None


def _wrong_side(gradient: Gradient, stop: Node, meeting: Node, learns: str, fixed: str) -> Obligation:
    return Obligation(
        gradient.span_of(stop),
        message=f"`stop_gradient` is on the {learns}, and gradient flows into the {fixed} instead",
        current=f"the {fixed} is moved towards the {learns}",
        expected=f"the {learns} learns, and the {fixed} counts as data",
        steps=(Step(gradient.span_of(meeting), f"the {learns} and the {fixed} meet here"),),
        suggestion=f"take `stop_gradient` from the {learns} and put it around the {fixed}",
    )


def _twice(gradient: Gradient, terms: Sequence[Term]) -> Iterator[Obligation]:
    """Find two halves of one loss that stop the same side."""
    for pair in twins(terms):
        if pair.first_stops == pair.second_stops and sum(pair.first_stops) == 1:
            yield _same_side(gradient, pair)


def _same_side(gradient: Gradient, pair: Twins) -> Obligation:
    first, second = sorted((pair.first, pair.second), key=lambda one: gradient.span_of(one.node))
    return Obligation(
        gradient.span_of(second.node),
        message="two errors between the same two sides stop the same one of them",
        current="one side is trained twice, and the other one by neither",
        expected="one error stops the first side, the other error the second",
        steps=(Step(gradient.span_of(first.node), "the other error is here"),),
        suggestion="move `stop_gradient` to the other side in one of the two",
    )


def _predictors(gradient: Gradient, terms: Sequence[Term]) -> Iterator[Obligation]:
    """Find a stopped side that has everything the other side learns, and parameters that nothing else trains."""
    mask = gradient.mask
    # What cancels out elsewhere is not kept from learning by this stop.
    trained = mask.live | mask.maybe | sum(leaf.bit for leaf in gradient.silent if cancels(gradient, leaf))
    for term in terms:
        for live, stop in _sides(gradient.graph, term):
            inner = flowing(unstopped(stop))
            lost = inner & ~trained
            if live and lost and live & ~inner == 0 and lost & gradient.confirmed:
                yield _wrong_side(gradient, stop, term.node, "side with more parameters", "other side")


def _sides(graph: Graph, term: Term) -> Iterator[tuple[int, Node]]:
    """Return what flows into one side of a pair, with the `stop_gradient` around the other; no weights."""
    match term:
        case Difference(parts=(first, second)):
            for this, other in ((first, second), (second, first)):
                if other.stop is not None and this.plain and other.plain:
                    yield this.flow, other.stop
        case Product(factors=(left, right)):
            for one, two in ((left, right), (right, left)):
                if (stop := _stop_of(two)) is not None and not _is_loss(graph, one):
                    yield flowing(one), stop
        case _:
            return


def _is_loss(graph: Graph, node: Node) -> bool:
    """Whether a factor is an error or a log-density itself, so that the other one weighs it."""
    return is_score(node) or any(is_even(one.node) for one in addends(graph, node, reduced=True))
