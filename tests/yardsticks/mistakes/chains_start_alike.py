# Four Markov chains that all draw the same starting point and the same moves.
import jax
import jax.numpy as jnp


def chain(key, start):
    def step(x, step_key):
        return x + jax.random.normal(step_key), x  #! same-key-across-vmap

    return jax.lax.scan(step, start, jax.random.split(key, 20))[1]  #! same-key-across-vmap


def main():
    starts = jnp.arange(4.0)
    print(jax.vmap(chain, in_axes=(None, 0))(jax.random.key(0), starts))  #! same-key-across-vmap


if __name__ == "__main__":
    main()
