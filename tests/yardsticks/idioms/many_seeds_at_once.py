# The whole training run is mapped over one key for each seed.
import jax


def train(rng):
    rng, init_rng = jax.random.split(rng)
    weights = jax.random.normal(init_rng, (3,))

    def step(carry, _):
        weights, rng = carry
        rng, noise_rng = jax.random.split(rng)
        return (0.9 * weights + 0.1 * jax.random.normal(noise_rng, (3,)), rng), None

    (weights, _), _ = jax.lax.scan(step, (weights, rng), None, 10)
    return weights


def main():
    rngs = jax.random.split(jax.random.PRNGKey(42), 5)
    print(jax.jit(jax.vmap(train))(rngs))


if __name__ == "__main__":
    main()
