# A numpyro model: the seed handler splits for each site, and inference takes a key of its own.
import jax
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS


def model(y=None):
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    return numpyro.sample("y", dist.Normal(mean, scale), obs=y)


def main():
    data_key, run_key = jax.random.split(jax.random.key(0))
    with numpyro.handlers.seed(rng_seed=data_key):
        y = model()
    mcmc = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False)
    mcmc.run(run_key, y)
    print(mcmc.get_samples()["mean"].shape)


if __name__ == "__main__":
    main()
