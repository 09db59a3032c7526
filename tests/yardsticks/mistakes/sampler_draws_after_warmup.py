# Bayesian inference: the warm-up and the real run start from the same key.
import jax
import jax.numpy as jnp


def run(key, state, steps):
    def step(state, step_key):
        state = 0.9 * state + jax.random.normal(step_key)
        return state, state

    return jax.lax.scan(step, state, jax.random.split(key, steps))


def main():
    key = jax.random.PRNGKey(1)
    state, _ = run(key, jnp.float32(0.0), 50)
    _, draws = run(key, state, 100)  #! key-reused
    print(draws.mean())


if __name__ == "__main__":
    main()
