# A key that may be missing: without it there is no noise.
import jax
import jax.numpy as jnp


def dropout(x, rate, *, key=None, inference=False):
    if inference or rate == 0:
        return x
    if key is None:
        raise RuntimeError("dropout needs a key unless it runs in inference mode")
    keep = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0)


def block(x, *, key=None):
    first, second = (None, None) if key is None else jax.random.split(key)
    x = dropout(x, 0.1, key=first, inference=key is None)
    return dropout(x, 0.2, key=second, inference=key is None)


def main():
    print(block(jnp.ones(4)), block(jnp.ones(4), key=jax.random.key(0)))


if __name__ == "__main__":
    main()
