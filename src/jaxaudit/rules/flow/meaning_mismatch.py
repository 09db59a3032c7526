"""The rule `meaning-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Origin, contexts
from jaxaudit.analyses.lineage.recompute import Parting, compare
from jaxaudit.analyses.meaning import meanings_of
from jaxaudit.analyses.queries import depends
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Rule, Step, Verdict
from jaxaudit.rules.flow._shared import taken_as
from jaxaudit.rules.flow._shared.angles import angles_in_wrong_unit
from jaxaudit.rules.flow._shared.mixed_ratios import mixed_ratios
from jaxaudit.rules.flow._shared.phrases import proved
from jaxaudit.rules.flow._shared.raw_scores import raw_scores
from jaxaudit.rules.flow._shared.squashed import squashed_samples
from jaxaudit.rules.flow._shared.unread_forms import unread_forms
from jaxaudit.rules.flow._shared.weighted_logs import weighted_logs
from jaxaudit.spans import Span

_MEETS = ("subtract", "divide")

_ROLLOUT = """import jax
import jax.numpy as jnp

def score(w, x, a):
    return jnp.tanh(x @ w) * a

def whiten(x):
    return (x - 5.0) / 20.0

def rollout(w, state, key):
    def step(state, key):
        obs = state * 2.0
        seen = whiten(obs)
        a = jax.random.normal(key, (3,))
        return state + a, (STORED, a, score(w, seen, a))
    return jax.lax.scan(step, state, jax.random.split(key, 9))

def train(w, state, key):
    _, (x, a, old) = rollout(w, state, key)
    return jnp.exp(score(w, x, a) - old).mean()MARK
"""


_SOFT = """import jax
import jax.numpy as jnp

def act(p, obs, key):
    mean = obs @ p["mean"]
    raw = mean + 0.3 * jax.random.normal(key, mean.shape)
    logp = -0.5 * jnp.sum(((LATE - mean) / 0.3) ** 2, -1)MARK
    return jnp.tanh(raw), logpREST

def loss(p, q, obs, key):
    action, logp = act(p, obs, key)
    return jnp.mean(0.2 * logp - (jnp.concatenate([obs, action], -1) @ q))
"""

_REINFORCE = """import jax
import jax.numpy as jnp

def act(w, obs, key):
    return jax.random.categorical(key, obs @ w)

def loss(w, obs, actions, advantages):
    scores = MADE
    chosen = jnp.take_along_axis(scores, actions[:, None], axis=1)[:, 0]MARK
    return -jnp.mean(chosen * advantages) - 0.01 * jnp.sum(jax.nn.softmax(scores) ** 2)

step = jax.jit(jax.grad(loss))
"""


_LOSS = """import jax
import jax.numpy as jnp
import optax

def loss(w, x, labels):
    scores = MADE
    return optax.softmax_cross_entropy_with_integer_labels(scores, labels).mean()MARK
"""


class MeaningMismatch(Rule):
    """A value is taken for something that it is not, or computed again from another form of its inputs.

    ## What it does

    Finds places where something is computed a second time and set against its stored value: a difference or a ratio
    of `f(params, x, a)` with the `f` that was stored in each step of a scan. Both computations must start from the
    same stored values. If one began with a normalised observation, a squashed action or another form of what was
    stored, they part.

    Finds places that take a value for logits, probabilities or log-probabilities, and reads off the ops that made the
    value what it is: a softmax gives probabilities, `log_softmax` and the logarithm of probabilities give
    log-probabilities, written out or called. Probabilities in a loss, a softmax or `categorical` that takes logits, and
    the logarithm of log-probabilities, are errors, and so is a ratio `exp(a - b)` of the one and the other. A second
    sigmoid or tanh and the exponential of probabilities are warnings. So is a raw value that is read after it was
    normalised into a variable that nothing reads; where mean and spread are computed on the spot, or the raw value
    enters a network, it is an error.

    Follows samples of a normal distribution: a log-probability taken at the squashed sample, one of the sample before
    `tanh` that is added to something that depends on the squashed one without a correction, a sample that is squashed
    twice, and a raw one that is handed on where its sibling is squashed. Finds degrees in a sine or cosine, angles that
    are converted twice, and policy losses that take the logits of the chosen actions for log-probabilities.

    ## Why is this bad?

    The ratio of a policy to its old self must be one before the first update. If the rollout acts on normalised
    observations and stores the raw ones, it never is, and nothing is raised. A softmax of probabilities is nearly
    uniform: the loss hardly falls, and the model looks merely bad.

    ## Example

    ```python
    logp = log_prob(params, whiten(obs), action)
    return state, Transition(obs, action, logp)
    ```

    ## Use instead

    ```python
    obs = whiten(obs)
    logp = log_prob(params, obs, action)
    return state, Transition(obs, action, logp)
    ```

    ## When it cannot tell

    When either computation goes through code that is not followed, or a value comes from outside, it is left open.
    Names are never evidence. A softmax along another axis than the first is taken for intended.
    """

    name = "meaning-mismatch"
    family = "flow"
    summary = "A value is taken for logits, probabilities or a stored form of something that it is not."

    valid = (
        Example(_ROLLOUT.replace("STORED", "seen").replace("MARK", ""), "the same form"),
        Example(_LOSS.replace("MADE", "x @ w").replace("MARK", ""), "logits"),
        Example(_LOSS.replace("MADE", "jax.nn.log_softmax(x @ w)").replace("MARK", ""), "log-probabilities do no harm"),
        Example(
            _SOFT.replace("LATE", "raw")
            .replace("MARK", "")
            .replace("REST", " - jnp.sum(jnp.log(1 - jnp.tanh(raw) ** 2 + 1e-6), -1)"),
            "the density of the squashed sample",
        ),
        Example(_REINFORCE.replace("MADE", "jax.nn.log_softmax(obs @ w)").replace("MARK", ""), "normalised first"),
        Example(
            """
            import jax.numpy as jnp

            def heading(dx, dy):
                degrees = jnp.degrees(jnp.arctan2(dy, dx)) % 360.0
                return degrees, jnp.sin(jnp.deg2rad(degrees))
            """,
            "degrees are converted before the sine",
        ),
    )
    invalid = (
        Example(_ROLLOUT.replace("STORED", "obs").replace("MARK", "  #!"), "raw values are stored"),
        Example(
            _LOSS.replace("MADE", "jax.nn.softmax(x @ w)").replace("MARK", "  #!"), "probabilities in a logits loss"
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def act(w, x, key):
                probs = jnp.exp(x @ w) / jnp.sum(jnp.exp(x @ w), axis=-1, keepdims=True)
                weights = jax.nn.softmax(x @ w)
                entropy = -jnp.sum(weights * jnp.log(jax.nn.log_softmax(x @ w)))  #!
                return jax.random.categorical(key, weights), entropy  #!
            """,
            "probabilities drawn from as logits, the logarithm of log-probabilities",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def act(w, obs):
                clean = (obs - obs.mean(0)) / (obs.std(0) + 1e-8)
                return jnp.tanh(obs @ w)  #!
            """,
            "the normalised observation is not read",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def divergence(a, b):
                p, q = jax.nn.log_softmax(a), jax.nn.log_softmax(b)
                return jnp.sum(p * (p - q), axis=-1)  #!
            """,
            "weighted by logarithms",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def ratio(new, old):
                return jnp.exp(jax.nn.log_softmax(new) - jax.nn.softmax(old))  #!
            """,
            "a ratio of a logarithm and no logarithm",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def squash(mean):
                action = jnp.tanh(mean)
                return jnp.tanh(action) * 2.0  #?
            """,
            "squashed twice",
        ),
        Example(
            _SOFT.replace("LATE", "raw").replace("MARK", "  #!").replace("REST", ""),
            "nothing accounts for the squashing",
        ),
        Example(
            _SOFT.replace("LATE", "jnp.tanh(raw)").replace("MARK", "  #!").replace("REST", ""),
            "the density at the squashed sample",
        ),
        Example(
            """
            import jax, jax.numpy as jnp

            def act(w, obs, key, explore):
                mean = obs @ w
                noisy = mean + 0.3 * jax.random.normal(key, mean.shape)  #!
                return jnp.where(explore, noisy, jnp.tanh(mean))
            """,
            "only the mean is squashed",
        ),
        Example(_REINFORCE.replace("MADE", "obs @ w").replace("MARK", "  #!"), "logits taken for log-probabilities"),
        Example(
            """
            import jax.numpy as jnp

            def heading(dx, dy):
                angle = jnp.degrees(jnp.arctan2(dy, dx))
                return jnp.sin(angle)  #!
            """,
            "degrees in a sine",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every stored value that is computed again, and every place that takes a value for something."""
        flow = facts.flow
        yield from (one for op in program.mapping(*_MEETS) if len(op.operands) == 2 for one in _judge(op, flow))
        meanings = meanings_of(facts)
        judged = (taken_as.judge(sink, meanings) for sink in taken_as.sinks(program))
        yield from (one for one in judged if one is not None)
        yield from unread_forms(program, meanings)
        yield from squashed_samples(flow)
        yield from angles_in_wrong_unit(flow)
        yield from raw_scores(facts, meanings)
        yield from weighted_logs(program, meanings)
        yield from mixed_ratios(program, meanings)


def _judge(op: Op, flow: Flow) -> Iterator[Obligation]:
    first, second = op.operands
    for context in contexts(flow, op):
        for stored, again in ((second, first), (first, second)):
            found = compare(flow, stored, again, context)
            if found is None or not found.shared:
                continue
            if not found.partings:
                yield proved(MeaningMismatch.name, op.span, "both are computed from the very values that were stored")
            elif len(found.partings) == 1 and _related(found.partings[0], flow):
                yield _part(op, found.partings[0])


def _related(parting: Parting, flow: Flow) -> bool:
    """Whether one of the two values is a form of the other, made in the same step."""
    then, now = parting.then.value, parting.now.value
    return depends(flow, then, (now,)) or depends(flow, now, (then,))


def _part(op: Op, parting: Parting) -> Obligation:
    then, now = _named(parting.then, "another form of it"), _named(parting.now, "the stored value")
    return Obligation(
        MeaningMismatch.name,
        op.span,
        Verdict.VIOLATED,
        message=f"this was first computed from {then}, but is computed again from {now}",
        current=f"{now} is what was stored, while the stored result was computed from {then}",
        expected="both computations start from the same values",
        steps=(
            Step(_place(parting.then), f"when it was stored, {then} was used"),
            Step(_place(parting.now), f"what was stored is {now}"),
        ),
        suggestion=f"store {then}, or apply the same function to {now} before it is used again",
    )


def _named(origin: Origin, otherwise: str) -> str:
    return f"`{origin.name}`" if origin.name else otherwise


def _place(origin: Origin) -> Span:
    return origin.value.span if origin.op is None else origin.op.span
