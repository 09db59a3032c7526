# Common random numbers: two policies are compared on the very same noise, said with `clone`.
import jax
import jax.numpy as jnp


def evaluate(gain, key):
    noise = jax.random.normal(key, (100,))
    return jnp.mean((1.0 - gain) * noise**2)


def main():
    key = jax.random.key(0)
    print(evaluate(0.1, key) - evaluate(0.2, jax.random.clone(key)))


if __name__ == "__main__":
    main()
