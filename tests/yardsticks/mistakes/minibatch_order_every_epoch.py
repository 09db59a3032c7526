# Each epoch of PPO shuffles with the same key.
import jax
import jax.numpy as jnp


def train(rng, batch, epochs):
    def epoch(weights, _):
        order = jax.random.permutation(rng, batch.shape[0])  #! same-key-in-loop
        return weights - 0.1 * batch[order].mean(axis=0), order

    return jax.lax.scan(epoch, jnp.zeros(batch.shape[1]), None, epochs)  #! same-key-in-loop


def main():
    data_rng, train_rng = jax.random.split(jax.random.PRNGKey(0))
    print(train(train_rng, jax.random.normal(data_rng, (8, 2)), 3)[1])


if __name__ == "__main__":
    main()
