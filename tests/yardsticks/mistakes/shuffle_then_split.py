# A data loader that shuffles with a key and then splits that same key for the next epoch.
import jax
import jax.numpy as jnp


def epoch_orders(key, size, epochs):
    orders = []
    for _ in range(epochs):
        orders.append(jax.random.permutation(key, size))
        (key,) = jax.random.split(key, 1)  #! key-reused
    return jnp.stack(orders)


def main():
    print(epoch_orders(jax.random.key(0), 6, 3))


if __name__ == "__main__":
    main()
