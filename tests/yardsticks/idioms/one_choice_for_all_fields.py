# One draw of indices, used for every field: one draw is one use.
import jax
import jax.numpy as jnp


def sample(buffer, key, size):
    indices = jax.random.randint(key, (size,), 0, buffer["obs"].shape[0])
    return jax.tree.map(lambda leaf: leaf[indices], buffer)


def main():
    buffer = {"obs": jnp.zeros((10, 2)), "reward": jnp.arange(10.0)}
    print(sample(buffer, jax.random.key(0), 4)["reward"])


if __name__ == "__main__":
    main()
