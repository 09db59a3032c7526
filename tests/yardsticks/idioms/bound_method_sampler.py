# A sampler object that takes its key at each call and keeps none.
import dataclasses

import jax


@dataclasses.dataclass(frozen=True)
class Gaussian:
    mean: float
    scale: float

    def sample(self, *, seed, sample_shape=()):
        return self.mean + self.scale * jax.random.normal(seed, sample_shape)


def main():
    prior, noise = Gaussian(0.0, 1.0), Gaussian(0.0, 0.1)
    prior_key, noise_key = jax.random.split(jax.random.key(0))
    draw_prior = prior.sample
    print(draw_prior(seed=prior_key, sample_shape=(3,)) + noise.sample(seed=noise_key))


if __name__ == "__main__":
    main()
