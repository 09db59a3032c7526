# Path simulation: every increment of the path is the same number.
import jax
import jax.numpy as jnp


def simulate(key, steps, dt):
    def add(i, path):
        jump = jnp.sqrt(dt) * jax.random.normal(key)  #! same-key-in-loop
        return path.at[i + 1].set(path[i] + jump)

    return jax.lax.fori_loop(0, steps, add, jnp.zeros(steps + 1))  #! same-key-in-loop


def main():
    print(simulate(jax.random.key(0), 10, 0.1))


if __name__ == "__main__":
    main()
