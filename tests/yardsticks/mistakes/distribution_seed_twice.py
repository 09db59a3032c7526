# Two distrax distributions are sampled with the same seed.
import distrax
import jax


def main():
    key = jax.random.key(0)
    prior = distrax.Normal(0.0, 1.0)
    noise = distrax.Normal(0.0, 0.1)
    latent = prior.sample(seed=key, sample_shape=(4,))
    observed = latent + noise.sample(seed=key, sample_shape=(4,))  #! key-reused
    print(observed)


if __name__ == "__main__":
    main()
