# A training loop in plain Python with a rebound key.
import jax


def main():
    rng = jax.random.PRNGKey(0)
    for epoch in range(3):
        rng, shuffle_rng = jax.random.split(rng)
        order = jax.random.permutation(shuffle_rng, 4)
        for index in order:
            rng, noise_rng = jax.random.split(rng)
            print(epoch, index, jax.random.normal(noise_rng))


if __name__ == "__main__":
    main()
