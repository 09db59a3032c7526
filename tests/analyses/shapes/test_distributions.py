"""The shapes of what distributions are asked for, and of what is drawn from them."""

import pytest

from tests.analyses.shapes.test_shapes import shape_of

HEAD = """
import distrax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpyro.distributions as dist

key = jax.random.key(0)
pi = distrax.Categorical(logits=jnp.ones((8, 4)))
mv = distrax.MultivariateNormalDiag(jnp.ones((8, 6)), jnp.ones(6))
each = distrax.Normal(jnp.ones((8, 6)), 1.0)
"""


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("pi.sample(seed=key)", "8"),
        ("pi.sample(seed=key, sample_shape=(5,))", "5, 8"),
        ("pi.log_prob(pi.sample(seed=key))", "8"),
        ("pi.sample_and_log_prob(seed=key)[1]", "8"),
        ("pi.entropy()", "8"),
        ("distrax.Categorical(probs=jnp.ones((2, 3, 4))).mode()", "2, 3"),
        ("mv.sample(seed=key)", "8, 6"),
        ("mv.log_prob(jnp.ones((8, 6)))", "8"),
        ("mv.log_prob(jnp.ones((5, 8, 6)))", "5, 8"),
        ("mv.kl_divergence(distrax.MultivariateNormalDiag(jnp.ones((8, 6)), jnp.ones((8, 6))))", "8"),
        ("each.log_prob(jnp.ones((8, 6)))", "8, 6"),
        ("dist.Normal(jnp.ones((8, 6)), 1.0).sample(key, (3,))", "3, 8, 6"),
        ("dist.Normal(jnp.ones(unknown()), 1.0).sample(key)", "?"),
    ],
)
def test_distributions_know_their_batch_and_event(expression, expected):
    assert shape_of(f"{HEAD}\nresult = {expression}\ny = jnp.copy(result)\n") == expected


def test_a_distribution_that_a_module_gives_keeps_its_batch():
    code = (
        HEAD
        + """
class Policy(nn.Module):
    @nn.compact
    def __call__(self, x):
        return distrax.Categorical(logits=nn.Dense(4)(x)), nn.Dense(1)(x)[..., 0]

net = Policy()
chosen, value = net.apply(net.init(key, jnp.ones((8, 6))), jnp.ones((8, 6)))
result = chosen.log_prob(jnp.ones(8, int))
y = jnp.copy(result)
"""
    )
    assert shape_of(code) == "8"
