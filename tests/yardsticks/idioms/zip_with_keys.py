# Rows of a split paired with the things that need them.
import jax
import jax.numpy as jnp


def main():
    sizes = (3, 16, 16, 1)
    keys = jax.random.split(jax.random.key(0), len(sizes) - 1)
    params = []
    for key, fan_in, fan_out in zip(keys, sizes[:-1], sizes[1:], strict=True):
        weight_key, bias_key = jax.random.split(key)
        weight = jax.random.normal(weight_key, (fan_in, fan_out)) / jnp.sqrt(fan_in)
        params.append((weight, 0.01 * jax.random.normal(bias_key, (fan_out,))))
    print([weight.shape for weight, _ in params])


if __name__ == "__main__":
    main()
