"""The rule `term-without-gradient`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Edge, Gradient, Node, gradients_of
from jaxaudit.analyses.gradients.algebra import Addend, addends, learned, strip
from jaxaudit.analyses.gradients.chosen import chosen_params
from jaxaudit.analyses.gradients.reach import ANYTHING
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import holders, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.gradients._shared.phrases import function_of, is_undecided, taken_at, unknown_reason
from jaxaudit.spans import Span

_FIT = """
def net(params, t):
    return jnp.tanh(t * params["a"]) @ params["b"]

def residual(params, t):
    slope = jax.grad(net, argnums=1)
    return slope(params, t) + net(params, t)

def step(params, ts):
    def loss(p):
        start = (net(p, 0.0) - 1.0) ** 2
        inside = jnp.mean(jax.vmap(lambda t: residual({which}, t))(ts) ** 2){mark}
        return start + inside

    return jax.grad(loss)(params)
"""

_HELD = """
class Agent:
    def __init__(self, key):
        self.params = {{"w": jax.random.normal(key, (4, 2))}}

    def policy(self, params, obs):
        return jnp.tanh(obs @ params["w"])

    def loss(self, params, obs, action):
        error = self.policy({which}, obs) - action{mark}
        return jnp.mean(error**2) + 1e-4 * jnp.sum(params["w"] ** 2)

    def step(self, obs, action):
        return jax.grad(self.loss)(self.params, obs, action)

def main(key, obs, action):
    return Agent(key).step(obs, action)
"""


class TermWithoutGradient(Rule):
    """A term of a loss is computed from the values around the function, not from its argument.

    ## What it does
    Takes every differentiated sum apart, and looks for terms that do not depend on the argument although they read the
    very values at which the gradient is taken: through a closure, or an attribute of `self`.

    ## Why is this bad?
    The term has the right value, so the loss that is reported looks right. To the gradient it is a constant: nothing is
    learned from it.

    ## Example
        def loss(p):
            return data_error(p) + penalty(params)


        grads = jax.grad(loss)(params)

    ## Use instead
        def loss(p):
            return data_error(p) + penalty(p)

    What is meant to be a constant is wrapped in `jax.lax.stop_gradient`, or meets the argument in the same term, as in
    a ratio to the old policy.

    ## When it cannot tell
    When the function calls code that was not followed.
    """

    summary = "A term of the loss reads the values around the function instead of its argument."
    needs = ()

    valid = (
        Example(_FIT.format(which="p", mark=""), "all terms are of the argument"),
        Example(_HELD.format(which="params", mark=""), "the argument of a method"),
        Example(
            """
            def log_prob(params, obs, action):
                return -jnp.sum((action - obs @ params["w"]) ** 2, axis=-1)

            def step(params, obs, action, advantage):
                def loss(p):
                    ratio = jnp.exp(log_prob(p, obs, action) - log_prob(params, obs, action))
                    return -jnp.mean(ratio * advantage) + 1e-3 * jnp.sum(p["w"] ** 2)

                return jax.grad(loss)(params)
            """,
            "the old policy in a ratio",
        ),
        Example(
            """
            def step(params, x, y):
                def loss(p):
                    penalty = jax.lax.stop_gradient(jnp.sum(params["w"] ** 2))
                    return jnp.mean((x @ p["w"] - y) ** 2) + penalty

                return jax.grad(loss)(params)
            """,
            "stopped, as the author says",
        ),
        Example(
            """
            def value(x):
                return jnp.sum(jnp.sin(x))

            def model(x, slope):
                def local(z):
                    return value(x) + jnp.dot(slope, z - x)

                return jax.grad(local)(x)
            """,
            "a linear model around a point",
        ),
    )
    invalid = (
        Example(_FIT.format(which="params", mark="  #!"), "one term of two"),
        Example(_HELD.format(which="self.params", mark="  #!"), "an attribute of the object"),
        Example(
            """
            def loss(params, x, y):
                return jnp.mean((x @ params - y) ** 2)

            def curvature(params, x, y, v):
                return jax.jvp(jax.grad(lambda p: loss(params, x, y)), (params,), (v,))[1]  #!
            """,
            "nothing of the loss",
        ),
        Example(
            """
            def step(params, x, y):
                def loss(p):
                    penalty = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))  #!
                    return jnp.mean((x @ p["w"] - y) ** 2) + 1e-3 * penalty

                return jax.value_and_grad(loss)(params)
            """,
            "a penalty",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient."""
        for gradient in gradients_of(facts):
            if gradient.op.name == "grad":
                yield from _judge(gradient, facts.flow)


def _judge(gradient: Gradient, flow: Flow) -> Iterator[Obligation]:
    if not gradient.known or not gradient.roots or not gradient.graph.complete:
        yield unknown(gradient.op.span, unknown_reason(gradient))
        return
    outside = _read_outside(gradient, flow)
    lost = _constant_terms(gradient, outside) if outside else []
    spans = dict.fromkeys(span for term in lost for span in _places(gradient, term.node, outside))
    if spans and not any(map(learned, gradient.roots)):
        spans = {gradient.op.span: None}
    if spans and not _met(gradient, outside):
        yield from (_finding(gradient, span) for span in spans)
    elif outside:
        yield unknown(gradient.op.span, f"{function_of(gradient)} reads values at which the gradient is taken")
    elif is_undecided(gradient):
        yield unknown(gradient.op.span, unknown_reason(gradient))
    else:
        yield proved(gradient.op.span, f"{function_of(gradient)} reads what is differentiated as its argument alone")


def _same(flow: Flow, value: Value) -> Value:
    return origin(flow, value, {}, in_turn=True).value


def _read_outside(gradient: Gradient, flow: Flow) -> set[Node]:
    """Return the values around the function that are those at which the gradient is taken."""
    op = gradient.op
    chosen = set(chosen_params(flow, op))
    pairs = zip(op.regions[0].params, op.operands, strict=False)
    given = {_same(flow, operand) for param, operand in pairs if param in chosen}
    around = (one for one in gradient.graph.order if not one.inputs and one.op is None)
    return {one for one in around if one.value not in chosen and _same(flow, one.value) in given}


def _constant_terms(gradient: Gradient, outside: Set[Node]) -> list[Addend]:
    """Return the terms that are made of some values, and of nothing that is differentiated."""
    terms = [one for root in gradient.roots for one in addends(gradient.graph, root, reduced=True)]
    bare = (one for one in terms if one.stop is None and not learned(one.node) and not one.node.maybe & ANYTHING)
    return [one for one in bare if outside & set(_behind(one.node))]


def _behind(node: Node) -> Iterator[Node]:
    return walk((node,), lambda one: (below for below, edge in one.inputs if edge is not Edge.CUT))


def _met(gradient: Gradient, outside: Set[Node]) -> bool:
    """Whether some values meet the argument itself, as in a model around a point."""
    return any(
        any(strip(below) in outside for below, _ in node.inputs) and any(learned(below) for below, _ in node.inputs)
        for node in gradient.graph.order
        if node.made_by("array.map")
    )


def _places(gradient: Gradient, term: Node, outside: Set[Node]) -> Iterator[Span]:
    """Return where some values are read for a term, as the functions that have the argument write it."""
    flow, where = gradient.graph.flow, gradient.graph.places.region_of
    own = {id(gradient.op.regions[0])}
    own.update(id(where[one.op]) for one in gradient.graph.order if one.op is not None and learned(one))
    reading = [one for one in _behind(term) if any(below in outside for below, _ in one.inputs)]
    ops = (op for one in reading for op in _made_by(flow, one))
    around = walk(ops, lambda op: _around(flow, op, own))
    return (op.span for op in around if id(where[op]) in own)


def _made_by(flow: Flow, node: Node) -> Iterable[Op]:
    """Return what made a node, or what runs the function that it is a parameter of."""
    owner = flow.places.owner.get(node.value)
    return (node.op,) if node.op is not None else () if owner is None else holders(flow, owner)


def _around(flow: Flow, op: Op, own: Collection[int]) -> Iterable[Op]:
    """Return what runs the region that an op stands in, unless that is one of some."""
    region = flow.places.region_of[op]
    return () if id(region) in own else holders(flow, region)


def _finding(gradient: Gradient, span: Span) -> Obligation:
    return Obligation(
        span,
        message=f"a term of {function_of(gradient)} reads the values around it, not its argument",
        current="to the gradient the term is a constant: nothing is learned from it",
        expected="what is differentiated is read as the argument of the function",
        steps=(*taken_at(gradient.op), Step(gradient.op.span, "the gradient is taken at the values that are read")),
        suggestion="read the argument, or wrap what is meant to be a constant in `jax.lax.stop_gradient(...)`",
    )
