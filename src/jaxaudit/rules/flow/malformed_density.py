"""The rule `malformed-density`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning.spreads import Density, densities
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Rule, proved

_LOSS = """
def loss(w, x, y):
    mean, spread = x @ w["mean"], x @ w["spread"]
    error = (y - mean) ** 2 * jnp.exp(-spread)
    return jnp.mean(0.5 * error + {weight}spread + 0.5 * jnp.log(2 * jnp.pi)){mark}
"""

_DIVERGENCE = """
def divergence(mean, spread):
    return 0.5 * jnp.sum(jnp.exp({times}spread) + mean**2 - 1.0 - {times}spread)

def other(mean, spread):
    return -0.5 * jnp.sum(1.0 + {weight}spread - mean**2 - jnp.exp(spread)){mark}
"""


class MalformedDensity(Rule):
    """A normal density or divergence has its spread and the logarithm of it with weights that do not fit.

    ## What it does
    Takes sums apart that have a power of a spread beside its logarithm, and the rest of a normal density (`log(2 pi)`)
    or of the divergence from the standard one (`mean**2 - 1`). The weight of the logarithm follows from that of the
    power: the sum must be least where the spread is that of the data.

    ## Why is this bad?
    The spread that is learned is wrong by a constant power. The loss falls as it should, so nothing shows.

    ## Example
        nll = 0.5 * (y - mean)**2 / jnp.exp(log_var) + log_var + 0.5 * jnp.log(2 * jnp.pi)

    ## Use instead
        nll = 0.5 * (y - mean)**2 / jnp.exp(log_var) + 0.5 * log_var + 0.5 * jnp.log(2 * jnp.pi)

    ## When it cannot tell
    Losses that weigh a spread by a number of their own are not judged: without the constants it may be meant.
    """

    summary = "A normal density has a spread and its logarithm with weights that do not fit."

    valid = (
        Example(_LOSS.format(weight="0.5 * ", mark=""), "half of a log-variance"),
        Example(_DIVERGENCE.format(times="2.0 * ", weight="", mark=""), "both forms of a divergence"),
        Example(
            """
            def act(mean, log_std, key):
                noise = jax.random.normal(key, mean.shape)
                raw = mean + jnp.exp(log_std) * noise
                log_prob = -0.5 * (noise**2 + jnp.log(2.0 * jnp.pi)) - log_std
                return jnp.tanh(raw), log_prob - 2.0 * (jnp.log(2.0) - raw - jax.nn.softplus(-2.0 * raw))
            """,
            "the sample stands beside the density",
        ),
    )
    invalid = (
        Example(_LOSS.format(weight="", mark="  #!"), "half is missing"),
        Example(_DIVERGENCE.format(times="", weight="2 * ", mark="  #!"), "one side is doubled"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sum that has a spread beside its logarithm."""
        for op in program.mapping("add", "subtract"):
            yield from (_judge(op, one) for one, _ in densities(facts.flow, op) if one.whole)


def _judge(op: Op, found: Density) -> Obligation:
    if found.fits:
        return proved(op.span, "the spread and its logarithm come with weights that fit")
    name = f"`{found.base.name}`" if found.base.name else "the spread"
    logarithm = name if found.base.log else f"the logarithm of {name}"
    return Obligation(
        op.span,
        message=f"{logarithm} has the weight {found.log_weight:g} in a normal density, where {found.wanted:g} is due",
        current="the sum is not least where the spread is that of the data",
        expected="the logarithm of the spread has the weight that follows from the power beside it",
        suggestion=f"give {logarithm} the weight {found.wanted:g}",
    )
