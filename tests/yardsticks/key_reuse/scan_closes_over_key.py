# The body of a scan draws from a key outside it: every step sees the same numbers.
import jax
import jax.numpy as jnp


def walk(key):
    def step(position, _):
        position = position + jax.random.normal(key)  #! same-key-in-loop
        return position, position

    return jax.lax.scan(step, 0.0, jnp.arange(10))  #! same-key-in-loop


def main():
    print(walk(jax.random.key(0)))


if __name__ == "__main__":
    main()
