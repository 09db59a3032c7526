# The closure sees the key of the current turn, made anew in each turn.
import jax
import jax.numpy as jnp


def main():
    key = jax.random.key(0)
    weights = jnp.ones(3)
    for _ in range(3):
        key, loss_key = jax.random.split(key)

        def loss(weights, loss_key=loss_key):
            return jnp.sum(weights * jax.random.normal(loss_key, (3,)))

        weights = weights - 0.1 * jax.grad(loss)(weights)
    print(weights)


if __name__ == "__main__":
    main()
