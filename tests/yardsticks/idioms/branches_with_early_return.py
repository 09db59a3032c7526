# Each of three exclusive paths draws from the same key once.
import jax
import jax.numpy as jnp


def initialise(key, shape, kind):
    if kind == "normal":
        return jax.random.normal(key, shape)
    if kind == "uniform":
        return jax.random.uniform(key, shape, minval=-1.0)
    if kind != "zeros":
        raise ValueError(f"unknown kind {kind!r}")
    return jnp.zeros(shape)


def main():
    first, second = jax.random.split(jax.random.key(0))
    print(initialise(first, (3,), "normal") + initialise(second, (3,), "uniform"))


if __name__ == "__main__":
    main()
