# Rejection sampling that draws the rejected number again and again.
import jax
import jax.numpy as jnp


def bounded_normal(key, bound):
    def outside(state):
        return jnp.abs(state[1]) > bound

    def redraw(state):
        key, _ = state
        return key, jax.random.normal(key)  #! same-key-in-loop

    return jax.lax.while_loop(outside, redraw, (key, jnp.inf))[1]  #! same-key-in-loop


def main():
    print(bounded_normal(jax.random.key(0), 5.0))


if __name__ == "__main__":
    main()
