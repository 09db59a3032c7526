# One key for all rows, made different by the row's number before it is drawn from.
import jax
import jax.numpy as jnp


def jitter(key, i, x):
    return x + jax.random.normal(jax.random.fold_in(key, i), x.shape)


def main():
    batch = jnp.zeros((8, 3))
    print(jax.vmap(jitter, in_axes=(None, 0, 0))(jax.random.key(0), jnp.arange(8), batch))


if __name__ == "__main__":
    main()
