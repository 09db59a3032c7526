"""The rule `zero-gradient-path`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Edge, Gradient, Leaf, Node
from jaxaudit.analyses.gradients.cancelling import added_at
from jaxaudit.ir import Program
from jaxaudit.rules.base import Example, Obligation, Rule, Step, Subject, proved, unknown
from jaxaudit.rules.gradients._shared.phrases import (
    cancels,
    deed,
    function_of,
    is_undecided,
    judged,
    names,
    taken_at,
    unknown_reason,
    whole_tree,
)
from jaxaudit.spans import Span

_FIT = """
def delayed(signal, delay):
    position = jnp.arange(64) - delay
    low = jnp.clip(jnp.floor(position), 0, 62).astype(jnp.int32){mark}
    {rest}

def loss(params, signal, recorded):
    model = params["gain"] * delayed(signal, params["delay"])
    return jnp.mean((model - recorded) ** 2)

def step(params, signal, recorded):
    return jax.grad(loss)(params, signal, recorded)
"""


_SCORE = """
def log_density(sample, mean):
    return -0.5 * jnp.sum((sample - mean) ** 2, axis=-1){mark}

def surrogate(params, obs, noise, reward):
    mean = obs @ params["w"]
    sample = {sample}
    gain = jax.lax.stop_gradient(reward(sample))
    return -jnp.mean(gain * log_density(sample, mean)) + jnp.sum(params["bias"] ** 2)

def step(params, obs, noise, reward):
    return jax.grad(surrogate)(params, obs, noise, reward)
"""


class ZeroGradientPath(Rule):
    """A parameter reaches the loss only through functions whose derivative is zero, or cancels out.

    ## What it does
    Follows every leaf of the differentiated arguments to the loss. Rounding (`floor`, `ceil`, `round`), `sign`,
    comparisons, `argmax` and its kin, conversions to integers and positions used as an index move in steps: their
    derivative is zero wherever it exists. A leaf all of whose ways lead through them gets a gradient of exactly zero.
    So does one that is added and taken away again: the mean of a policy in `log_density(mean + noise, mean)`.

    ## Why is this bad?
    Nothing is raised. The optimizer goes on, and the parameter stays where it was.

    ## Example
        low = jnp.floor(position).astype(jnp.int32)
        return signal[low]

    ## Use instead
        low = jnp.floor(position).astype(jnp.int32)
        rest = position - low
        return (1 - rest) * signal[low] + rest * signal[low + 1]

    For a choice, use a soft one (`softmax`), a straight-through estimator, or a score-function estimator.

    ## When it cannot tell
    When the function calls code that was not followed, or a function with a derivative rule of its own.
    """

    summary = "A differentiated parameter reaches the loss only through rounding or indices, or cancels out."
    needs = ()

    valid = (
        Example(
            _FIT.format(
                mark="", rest="part = position - low\n    return (1 - part) * signal[low] + part * signal[low + 1]"
            ),
            "interpolated between the two neighbours",
        ),
        Example(
            """
            def loss(logits, values):
                soft = jax.nn.softmax(logits)
                hard = jax.nn.one_hot(jnp.argmax(soft), 4)
                choice = hard + soft - jax.lax.stop_gradient(soft)
                return jnp.sum(choice * values)

            def step(logits, values):
                return jax.grad(loss)(logits, values)
            """,
            "a straight-through estimator",
        ),
        Example(
            """
            import flax.linen as nn

            class Coded(nn.Module):
                @nn.compact
                def __call__(self, x):
                    encode = nn.Dense(8)
                    soft = jax.nn.softmax(encode(x))
                    hard = jax.nn.one_hot(jnp.argmax(encode(x), -1), 8)
                    return nn.Dense(1)(hard + soft - jax.lax.stop_gradient(soft))

            def step(params, x, y):
                return jax.grad(lambda params: jnp.mean((Coded().apply(params, x) - y) ** 2))(params)
            """,
            "a layer that is read twice",
        ),
        Example(
            """
            def loss(layers, x):
                active = jnp.stack([layer["w"].mean() > 0 for layer in layers])
                return jnp.mean(x @ layers[0]["w"] @ layers[1]["w"]) * active.sum()

            def step(layers, x):
                return jax.grad(loss)(layers, x)
            """,
            "items that are read one by one too",
        ),
        Example(_SCORE.format(sample="jax.lax.stop_gradient(mean + noise)", mark=""), "a sample that counts as data"),
        Example(
            """
            def apart(x):
                return jnp.sum(jax.vmap(lambda row: jnp.sum((row - x) ** 2))(x)) + jnp.sum((x - x.T) ** 2)

            def pull(x):
                return jax.grad(apart)(x)
            """,
            "other elements of the same array",
        ),
    )
    invalid = (
        Example(_FIT.format(mark="  #!", rest="return signal[low]"), "an index is made by rounding"),
        Example(
            """
            def loss(w, x, labels):
                guess = jnp.argmax(x @ w, axis=-1)  #!
                return jnp.mean((guess != labels).astype(jnp.float32))

            def step(w, x, labels):
                return jax.grad(loss)(w, x, labels)
            """,
            "the error rate is no loss",
        ),
        Example(
            """
            def loss(params, x):
                kept = jnp.where(x > params["threshold"], x, 0.0)  #!
                return jnp.sum((params["scale"] * kept - x) ** 2)

            def step(params, x):
                return jax.grad(loss)(params, x)
            """,
            "a threshold in a comparison",
        ),
        Example(
            """
            def shifted(delay, signal):
                low = jnp.floor(jnp.arange(8) - delay).astype(jnp.int32)  #!
                return signal[low]

            def sensitivity(delay, signal):
                return jax.jacfwd(shifted)(delay, signal)
            """,
            "a Jacobian of nothing but zeros",
        ),
        Example(
            """
            import flax.linen as nn

            class Routed(nn.Module):
                def setup(self):
                    self.gate, self.body = nn.Dense(4), nn.Dense(4)

                def __call__(self, x):
                    choice = jnp.argmax(self.gate(x), axis=-1)  #!
                    return jax.nn.one_hot(choice, 4) * self.body(x)

            def step(params, x, y):
                return jax.grad(lambda params: jnp.mean((Routed().apply(params, x) - y) ** 2))(params)
            """,
            "one layer of a module",
        ),
        Example(
            """
            def loss(layers, x):
                for w, b in layers[:-1]:
                    x = jnp.sign(x @ w + b)  #!
                w, b = layers[-1]
                return jnp.mean(x @ w + b)

            def step(layers, x):
                return jax.grad(loss)(layers, x)
            """,
            "all layers but the last, in a loop",
        ),
        Example(
            """
            def loss(layers, x):
                for i in range(len(layers)):
                    x = x @ jnp.round(layers[i]["w"]) + layers[i]["b"]  #!
                return jnp.mean(x)

            def step(layers, x):
                return jax.grad(loss)(layers, x)
            """,
            "an entry of every layer",
        ),
        Example(_SCORE.format(sample="mean + noise", mark="  #!"), "the density of a sample that moves with its mean"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient, Jacobian and pullback."""
        yield from (one for gradient in judged(facts) for one in _judge(gradient))


def _judge(gradient: Gradient) -> Iterator[Obligation]:
    span = gradient.op.span
    if is_undecided(gradient):
        yield unknown(span, unknown_reason(gradient))
        return
    mask = gradient.mask
    lost = [leaf for leaf in gradient.silent if cancels(gradient, leaf)]
    stuck = [leaf for leaf in gradient.silent if leaf.bit & mask.zero and not leaf.bit & mask.cut and leaf not in lost]
    for node, leaves in _by_place(gradient, stuck, Edge.ZERO).values():
        yield _finding(gradient, node, leaves)
    for node, leaves in _by_place(gradient, lost, Edge.CANCELLED).values():
        yield _cancelled(gradient, node, leaves)
    if not (stuck or lost) and (tree := whole_tree(gradient)) is not None:
        yield unknown(span, f"the leaves of `{tree.name}` are not known")
    elif not (stuck or lost):
        yield proved(span, f"no leaf reaches the result of {function_of(gradient)} through rounding or indices alone")


def _by_place(gradient: Gradient, stuck: list[Leaf], how: Edge) -> dict[Span, tuple[Node, list[Leaf]]]:
    """Put the leaves together that die at the same place, each at the first one."""
    found: dict[Span, tuple[Node, list[Leaf]]] = {}
    for leaf in stuck:
        ends = [node for node, edge in gradient.kills(leaf.bit) if edge is how]
        if ends:
            first = min(ends, key=lambda node: node.order)
            found.setdefault(gradient.span_of(first), (first, []))[1].append(leaf)
    return found


def _finding(gradient: Gradient, node: Node, leaves: list[Leaf]) -> Obligation:
    many = len(leaves) > 1
    return Obligation(
        gradient.span_of(node),
        message=f"{names(leaves)} reach{'' if many else 'es'} the loss only through {deed(node)}: the gradient is zero",
        current=f"{deed(node)} moves in steps: its derivative is zero, and nothing is learned through it",
        expected="a way from the parameter to the loss that has a derivative",
        steps=(*taken_at(gradient.op), Step(gradient.op.span, f"{function_of(gradient)} is differentiated here")),
        suggestion="interpolate, use a soft version (`softmax`, `sigmoid`), or a straight-through estimator",
        subject=Subject(about="no gradient"),
    )


def _cancelled(gradient: Gradient, node: Node, leaves: list[Leaf]) -> Obligation:
    return Obligation(
        gradient.span_of(node),
        message=f"{names(leaves)} cancel{'' if len(leaves) > 1 else 's'} out here: the gradient is zero",
        current="what is subtracted is a term of what it is subtracted from: the result does not depend on it",
        expected="a way from the parameter to the loss that has a derivative",
        steps=(
            Step(gradient.span_of(added_at(gradient.graph, node)), "it is a term of this sum"),
            Step(gradient.op.span, f"{function_of(gradient)} is differentiated here"),
        ),
        suggestion="stop the gradient of the sample that a density is taken of, or of what is not meant to move",
        subject=Subject(about="no gradient"),
    )
