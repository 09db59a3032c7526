"""The rule `density-of-squashed-sample`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.meaning.samples import outside
from jaxaudit.analyses.meaning.squashing import Squashing, densities, is_used_raw, meets, squashings, uses
from jaxaudit.analyses.queries import reached
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_POLICY = """
def act(p, obs, key):
    mean = obs @ p["mean"]
    raw = mean + 0.3 * jax.random.normal(key, mean.shape)
    logp = -0.5 * jnp.sum((({at} - mean) / 0.3) ** 2, -1){mark}
    return jnp.tanh(raw), logp{correction}

def loss(p, q, obs, key):
    action, logp = act(p, obs, key)
    return jnp.mean(0.2 * logp - (jnp.concatenate([obs, action], -1) @ q))
"""


class DensityOfSquashedSample(Rule):
    """The log-probability of a sample that `tanh` squashes is that of another value.

    ## What it does
    Follows samples of a normal distribution through `tanh`. The density must be taken at the value before `tanh`, and
    where it is added to something that depends on the squashed value, as in a soft Q-value, the logarithm of the
    derivative of `tanh` must be taken off it.

    ## Why is this bad?
    The entropy of the policy is wrong, most of all near the bounds, where squashing changes the density most. Nothing
    is raised; the policy drifts to the bounds, or never gets there.

    ## Example
        action = jnp.tanh(raw)
        logp = normal.log_prob(raw).sum(-1)
        return (alpha * logp - q(obs, action)).mean()

    ## Use instead
        action = jnp.tanh(raw)
        logp = (normal.log_prob(raw) - jnp.log(1 - action**2 + 1e-6)).sum(-1)
        return (alpha * logp - q(obs, action)).mean()

    ## When it cannot tell
    Where something else reads the raw sample, the distribution before `tanh` may be the one that is meant.
    """

    summary = "The log-probability of a squashed sample does not account for the squashing."

    valid = (
        Example(
            _POLICY.format(at="raw", mark="", correction=" - jnp.sum(jnp.log(1 - jnp.tanh(raw) ** 2 + 1e-6), -1)"),
            "corrected",
        ),
    )
    invalid = (
        Example(_POLICY.format(at="raw", mark="  #!", correction=""), "nothing accounts for the squashing"),
        Example(_POLICY.format(at="jnp.tanh(raw)", mark="  #!", correction=""), "the density at the squashed sample"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every density of a sample that is squashed."""
        flow = facts.flow
        for one in squashings(facts):
            for density in densities(flow, one.action, one.sample):
                yield _at_squashed(flow.through(density, one.op, one.action), one.op)
            if one.alone:
                yield from _before_squashing(one, flow)
                continue
            for density in densities(flow, one.raw, one.sample):
                yield unknown(density.span, "the sample is squashed at several places, and one may account for it")


def _before_squashing(squashing: Squashing, flow: Flow) -> Iterator[Obligation]:
    """Judge the densities at a sample that is squashed once, by what else becomes of it."""
    found = list(densities(flow, squashing.raw, squashing.sample))
    skip = {squashing.op, *found}
    corrected = uses(flow, squashing.action).logarithms or uses(flow, squashing.raw, skip).logarithms
    kept = any(value in flow.leaving and not list(outside(flow, value)) for value in squashing.raw)
    used = reached(flow, squashing.action)
    for density in found:
        if corrected:
            yield proved(density.span, f"the logarithm on line {corrected[0].span.line} accounts for the squashing")
        elif kept or is_used_raw(flow, squashing, skip):
            yield unknown(density.span, "the sample is used before `tanh` too, and its density may be meant")
        elif meets(flow, density, used):
            yield _uncorrected(density, squashing.op)


def _at_squashed(density: Op, squash: Op) -> Obligation:
    return Obligation(
        density.span,
        message="the normal density is evaluated at the squashed sample",
        current="the distribution is that of the value before `tanh`, so this is the probability of another action",
        expected="the density at the value before `tanh`, less the logarithm of the derivative of `tanh`",
        steps=(Step(squash.span, "the sample is squashed here"),),
        suggestion="evaluate it before `tanh` and subtract `log(1 - action**2)`, or use a tanh bijector",
    )


def _uncorrected(density: Op, squash: Op) -> Obligation:
    return Obligation(
        density.span,
        message="this log-probability is that of the sample before `tanh`, but the squashed one is used with it",
        current="squashing changes the density, and nothing accounts for it",
        expected="the log-probability less the logarithm of the derivative of `tanh`",
        steps=(Step(squash.span, "the sample is squashed here"),),
        suggestion="subtract `log(1 - action**2)` for every dimension, or use a tanh bijector",
    )
