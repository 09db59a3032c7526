"""The rule `dead-parameter`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Gradient, Leaf
from jaxaudit.analyses.gradients.algebra import strip
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Program
from jaxaudit.ir.builder import values_in
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.gradients._shared.phrases import (
    function_of,
    is_source,
    is_undecided,
    judged,
    names,
    taken_at,
    unknown_reason,
)
from jaxaudit.rules.gradients._shared.readers import inner_path, is_read, is_read_elsewhere

_NET = """
def loss(params, x, y):
    h = jnp.tanh(x @ params["w1"])
    return jnp.mean((h @ params["{second}"] - y) ** 2)

def step(x, y):
    params = {{"w1": jnp.ones((8, 8)), "w2": jnp.ones((8, 8))}}
    return jax.grad(loss)(params, x, y){mark}
"""


class DeadParameter(Rule):
    """A differentiated parameter has no way to the loss.

    ## What it does
    Looks, for every leaf of the differentiated arguments, for a way to the loss on which gradient flows. A leaf that
    the loss does not depend on at all gets a gradient of zero.

    ## Why is this bad?
    The parameter is initialised, stored and handed to the optimizer, and never learns. Often another one is read in its
    place: the first layer's weights a second time, a bias that is never added.

    ## Example
        h = jnp.tanh(x @ params["w1"])
        return h @ params["w1"]  # w2 is never read

    ## Use instead
        h = jnp.tanh(x @ params["w1"])
        return h @ params["w2"]

    A leaf that something else reads may be frozen or trained elsewhere: that is a warning.

    ## When it cannot tell
    When the function calls code that was not followed, or the leaves of its arguments are not known.
    """

    summary = "A differentiated parameter does not reach the loss at all."
    needs = ()

    valid = (
        Example(_NET.format(second="w2", mark=""), "every leaf reaches the loss"),
        Example(
            """
            def loss(params, x, y):
                h = jax.lax.stop_gradient(jnp.tanh(x @ params["encoder"]))
                return jnp.mean((h @ params["head"] - y) ** 2)

            def step(x, y):
                params = {"encoder": jnp.ones((8, 8)), "head": jnp.ones((8, 8))}
                return jax.grad(loss)(params, x, y)
            """,
            "an encoder that is frozen on purpose",
        ),
        Example(
            """
            import equinox as eqx, jax, jax.numpy as jnp

            class Net(eqx.Module):
                width: int
                weight: jax.Array

                def __init__(self, width):
                    self.width = width
                    self.weight = jnp.ones((width,))

                def __call__(self, x):
                    return jnp.zeros((self.width,)) + self.weight * x

            def train(x, steps):
                model = Net(4)
                for _ in range(steps):
                    loss, grads = eqx.filter_value_and_grad(lambda model: jnp.mean(model(x) ** 2))(model)
                    model = eqx.apply_updates(model, grads)
                return model
            """,
            "a size that a module holds",
        ),
    )
    invalid = (Example(_NET.format(second="w1", mark="  #!"), "the second layer is never read"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient."""
        gradients = judged(facts)
        trained = _trained(gradients)
        yield from (one for gradient in gradients for one in _judge(gradient, facts.flow, trained))


def _trained(gradients: list[Gradient]) -> set[str]:
    """Return where in its tree each leaf stands that some gradient reaches, whatever the tree is called there."""
    found: set[str] = set()
    for gradient in gradients:
        mask = gradient.mask
        found.update(inner_path(leaf) for leaf in gradient.leaves if leaf.bit & (mask.live | mask.maybe))
    return found


def _is_array(gradient: Gradient, leaf: Leaf) -> bool:
    """Whether a leaf is surely an array: what an object of a class holds need not be, and a size is none."""
    held = gradient.op.held
    at = gradient.op.regions[0].params.index(leaf.param)
    return not ((held and at < len(held) and held[at]) or _is_size(gradient, leaf))


def _is_size(gradient: Gradient, leaf: Leaf) -> bool:
    """Whether the function makes arrays of a shape that a leaf says."""
    made = (op for op in gradient.op.regions[0].walk() if "shape" in op.arguments)
    return any(leaf.param in values_in(op.arguments["shape"]) for op in made)


def _judge(gradient: Gradient, flow: Flow, trained: set[str]) -> Iterator[Obligation]:
    span = gradient.op.span
    if is_undecided(gradient):
        yield unknown(span, unknown_reason(gradient))
        return
    mask = gradient.mask
    reached = mask.live | mask.maybe | mask.cut | mask.zero
    live = [leaf for leaf in gradient.leaves if leaf.bit & (mask.live | mask.maybe)]
    silent = [leaf for leaf in gradient.silent if not leaf.bit & reached and _is_array(gradient, leaf)]
    dead = [leaf for leaf in silent if inner_path(leaf) not in trained]
    if dead and live:
        yield _finding(gradient, dead, live, flow)
    elif (tree := _whole_tree(gradient)) is not None:
        yield unknown(span, f"the leaves of `{tree.name}` are not known")
    else:
        yield proved(span, _reason(gradient, live))


def _whole_tree(gradient: Gradient) -> Leaf | None:
    """Return an argument of which it is not known whether it is one array or a tree of many."""
    whole = {leaf.param: leaf for leaf in gradient.leaves if not leaf.path} if is_source(gradient) else {}
    arrays = {
        strip(below).value
        for node in (gradient.graph.order if whole else ())
        if node.op is not None and node.op.name.startswith("array.")
        for below, _ in node.inputs
    }
    return next((leaf for param, leaf in whole.items() if param not in arrays), None)


def _reason(gradient: Gradient, live: list[Leaf]) -> str:
    mask, every = gradient.mask, gradient.leaves
    cut = [leaf for leaf in every if leaf.bit & mask.cut and not leaf.bit & (mask.live | mask.maybe)]
    trees = dict.fromkeys(leaf.name[: len(leaf.name) - len(inner_path(leaf))] or leaf.name for leaf in every)
    whole = f"{len(live)} of {len(every)}" if len(live) < len(every) else f"all {len(live)}"
    taken = "leaves that it takes from" if any(leaf.path for leaf in every) else "leaves of"
    around = " and ".join(f"`{tree}`" for tree in list(trees)[:2]) if len(trees) < 3 else "its arguments"
    leaves = names(live) if len(live) == len(every) == 1 else f"{whole} {taken} {around}"
    stopped = f"; {names(cut)} only through `stop_gradient`" if cut else ""
    return f"the gradient of {function_of(gradient)} reaches {leaves}{stopped}"


def _finding(gradient: Gradient, dead: list[Leaf], live: list[Leaf], flow: Flow) -> Obligation:
    unread = [
        leaf
        for leaf in dead
        if _has_live_sibling(leaf, live)
        and not (is_read(flow, gradient.op, leaf) or is_read_elsewhere(flow, gradient.op, leaf))
    ]
    sure = bool(unread)
    leaves = unread or dead
    return Obligation(
        gradient.op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{names(leaves)} {'do' if len(leaves) > 1 else 'does'} not reach the loss: the gradient is zero",
        current=f"what {function_of(gradient)} gives does not depend on it, so nothing is learned there",
        expected="every parameter that is trained takes part in the loss",
        steps=(*taken_at(gradient.op), Step(gradient.op.regions[0].span, f"{function_of(gradient)} is here")),
        suggestion="use the parameter, or take it out of what is differentiated",
    )


def _has_live_sibling(leaf: Leaf, live: list[Leaf]) -> bool:
    """Whether something else in the same inner tree is trained: then this leaf was meant to be."""
    cut = max(leaf.name.rfind("["), leaf.name.rfind("."))
    around = leaf.name[:cut] if cut > 0 else ""
    return bool(around) and any(other.name.startswith(around) for other in live)
