# An array of keys where there is a key, else nothing, mapped along with the data.
import jax
import jax.numpy as jnp


def attend(x, *, key):
    noise = 0.0 if key is None else 0.1 * jax.random.normal(key, x.shape)
    return jax.nn.softmax(x + noise)


def heads(x, key=None):
    keys = None if key is None else jax.random.split(key, x.shape[0])
    if keys is None:
        return jax.vmap(lambda row: attend(row, key=None))(x)
    return jax.vmap(lambda row, row_key: attend(row, key=row_key))(x, keys)


def main():
    print(heads(jnp.ones((2, 3))), heads(jnp.ones((2, 3)), jax.random.key(0)))


if __name__ == "__main__":
    main()
