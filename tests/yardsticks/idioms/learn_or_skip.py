# Deep Q-learning: the update runs only when there is enough data; either way the key that comes out is fresh.
import jax
import jax.numpy as jnp


def learn(carry, _):
    weights, rng = carry
    rng, sample_rng = jax.random.split(rng)
    return (weights - 0.1 * jax.random.normal(sample_rng, weights.shape), rng), weights.sum()


def update(state, _):
    weights, count, rng = state
    rng, learn_rng = jax.random.split(rng)
    (weights, rng), losses = jax.lax.cond(
        count > 2,
        lambda weights, rng: jax.lax.scan(learn, (weights, rng), None, 3),
        lambda weights, rng: ((weights, rng), jnp.zeros(3)),
        weights,
        learn_rng,
    )
    rng, test_rng = jax.random.split(rng)
    return (weights, count + 1, rng), losses.mean() + jax.random.normal(test_rng)


def main():
    state = (jnp.ones(2), 0, jax.random.key(0))
    print(jax.lax.scan(update, state, None, 6)[1])


if __name__ == "__main__":
    main()
