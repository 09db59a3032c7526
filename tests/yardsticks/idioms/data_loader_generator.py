# A generator that shuffles anew in each epoch with a row of the split key.
import jax
import jax.numpy as jnp


def batches(data, size, *, key):
    indices = jnp.arange(data.shape[0])
    while True:
        key, shuffle_key = jax.random.split(key)
        shuffled = jax.random.permutation(shuffle_key, indices)
        for start in range(0, data.shape[0] - size + 1, size):
            yield data[shuffled[start : start + size]]


def main():
    data_key, loader_key = jax.random.split(jax.random.key(0))
    data = jax.random.normal(data_key, (8, 2))
    for _, batch in zip(range(6), batches(data, 4, key=loader_key)):
        print(batch.mean())


if __name__ == "__main__":
    main()
