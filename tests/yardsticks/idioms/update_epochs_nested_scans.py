# Epochs inside updates: each level takes its own key out of the state before it goes down a level.
import jax
import jax.numpy as jnp


def update_epoch(update_state, _):
    weights, batch, rng = update_state
    rng, _rng = jax.random.split(rng)
    permutation = jax.random.permutation(_rng, batch.shape[0])
    shuffled = jnp.take(batch, permutation, axis=0)
    minibatches = shuffled.reshape((4, -1) + shuffled.shape[1:])

    def minibatch_step(weights, minibatch):
        return weights - 0.1 * minibatch.mean(axis=0), None

    weights, _ = jax.lax.scan(minibatch_step, weights, minibatches)
    return (weights, batch, rng), None


def update(state, _):
    weights, rng = state
    rng, data_rng = jax.random.split(rng)
    batch = jax.random.normal(data_rng, (16, 3))
    (weights, _, rng), _ = jax.lax.scan(update_epoch, (weights, batch, rng), None, 2)
    return (weights, rng), weights.sum()


def main():
    state = (jnp.zeros(3), jax.random.key(0))
    print(jax.lax.scan(update, state, None, 5)[1])


if __name__ == "__main__":
    main()
