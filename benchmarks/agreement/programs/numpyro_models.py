"""Models of numpyro: traces, densities, SVI, MCMC, predictive draws."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

N, D = 8, 3


def model(x, y=None):
    w = numpyro.sample("w", dist.Normal(jnp.zeros(D), 1.0).to_event(1))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1.0))
    with numpyro.plate("data", x.shape[0]):
        mean = x @ w + b
        numpyro.sample("y", dist.Normal(mean, sigma), obs=y)
    return mean


x, y = jnp.ones((N, D)), jnp.zeros(N)
key = jax.random.PRNGKey(0)
traced = numpyro.handlers.trace(numpyro.handlers.seed(model, key)).get_trace(x, y)
logp, _ = numpyro.infer.util.log_density(model, (x, y), {}, {"w": jnp.zeros(D), "b": 0.0, "sigma": 1.0})
prior = Predictive(model, num_samples=6)(key, x)
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(1e-2), Trace_ELBO())
state = svi.init(key, x, y)
state, loss = svi.update(state, x, y)
for one in (
    dist.Normal(jnp.zeros((N, D)), 1.0),
    dist.Gamma(2.0, jnp.ones(D)),
    dist.Categorical(logits=jnp.zeros((N, D))),
    dist.MultivariateNormal(jnp.zeros(D), jnp.eye(D)),
    dist.Dirichlet(jnp.ones((N, D))),
    dist.StudentT(3.0, jnp.zeros(D), 1.0),
    dist.Bernoulli(probs=jnp.full(N, 0.5)),
    dist.LKJCholesky(D),
    dist.TransformedDistribution(dist.Normal(jnp.zeros(D), 1.0), dist.transforms.ExpTransform()),
    dist.Poisson(jnp.ones(D)),
    dist.Beta(2.0, jnp.ones(D)),
    dist.Uniform(jnp.zeros(D), 1.0),
    dist.ZeroInflatedPoisson(0.1, jnp.ones(D)),
    dist.MixtureSameFamily(dist.Categorical(jnp.ones(2) / 2), dist.Normal(jnp.zeros(2), 1.0)),
):
    drawn = one.sample(key, (4,))
    density = one.log_prob(drawn)
