# A while loop that draws until it is content, with the key in its carry.
import jax
import jax.numpy as jnp


def truncated_normal(key, lower):
    def too_low(carry):
        _, sample = carry
        return sample < lower

    def redraw(carry):
        key, _ = carry
        key, subkey = jax.random.split(key)
        return key, jax.random.normal(subkey)

    _, sample = jax.lax.while_loop(too_low, redraw, (key, -jnp.inf))
    return sample


def main():
    print(truncated_normal(jax.random.key(0), 0.5))


if __name__ == "__main__":
    main()
