"""Distributions and bijectors of distrax: sample, log_prob, entropy, kl."""

import distrax
import jax
import jax.numpy as jnp

B, N = 4, 3
key = jax.random.PRNGKey(0)
loc, scale, logits = jnp.zeros((B, N)), jnp.ones((B, N)), jnp.zeros((B, N))


def exercised(distribution, key):
    sample = distribution.sample(seed=key)
    several, log_prob = distribution.sample_and_log_prob(seed=key, sample_shape=(5,))
    return sample, several, log_prob, distribution.log_prob(sample)


for distribution in (
    distrax.Normal(loc, scale),
    distrax.MultivariateNormalDiag(loc, scale),
    distrax.Categorical(logits=logits),
    distrax.Bernoulli(logits=logits),
    distrax.OneHotCategorical(logits=logits),
    distrax.Beta(scale, scale),
    distrax.Gamma(scale, scale),
    distrax.Laplace(loc, scale),
    distrax.Logistic(loc, scale),
    distrax.Uniform(loc, scale),
    distrax.Dirichlet(scale),
    distrax.Gumbel(loc, scale),
    distrax.Independent(distrax.Normal(loc, scale), reinterpreted_batch_ndims=1),
    distrax.Transformed(distrax.Normal(loc, scale), distrax.Tanh()),
    distrax.MixtureSameFamily(distrax.Categorical(logits=logits), distrax.Normal(loc, scale)),
    distrax.Deterministic(loc),
    distrax.EpsilonGreedy(logits, 0.1),
    distrax.Softmax(logits, 0.5),
    distrax.LogStddevNormal(loc, scale),
    distrax.ClippedNormal(loc, scale, -1.0, 1.0),
):
    made = exercised(distribution, key)
p, q = distrax.Normal(loc, scale), distrax.Normal(loc + 1, scale)
kl, entropy, mean, mode, std = p.kl_divergence(q), p.entropy(), p.mean(), p.mode(), p.stddev()
c = distrax.Categorical(logits=logits)
best, probs, entropy = c.mode(), c.probs, c.entropy()
flow = distrax.Chain([distrax.Tanh(), distrax.ScalarAffine(1.0, 2.0)])
y, logdet = flow.forward_and_log_det(loc)
x, inverse = flow.inverse_and_log_det(y)
block = distrax.Block(distrax.ScalarAffine(0.0, 2.0), 1)
z, det = block.forward_and_log_det(loc)
hmm = distrax.HMM(
    distrax.Categorical(logits=jnp.zeros(N)),
    distrax.Categorical(logits=jnp.zeros((N, N))),
    distrax.Normal(jnp.zeros(N), jnp.ones(N)),
)
alphas, betas, marginals, log_p = hmm.forward_backward(jnp.zeros(6))
