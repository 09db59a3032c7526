# scan-length-mismatch: Values and their successors are of different length.
import jax
import jax.numpy as jnp

T = 20


def td_errors(rewards, values, gamma):
    def step(carry, inp):
        r, v, nxt = inp
        delta = r + gamma * nxt - v
        return carry + delta, delta

    return jax.lax.scan(step, 0.0, (rewards, values[:-1], values[1:]))  #~ return jax.lax.scan(step, 0.0, (rewards, values, values[1:]))  #! scan-length-mismatch


def main():
    k1, k2 = jax.random.split(jax.random.PRNGKey(0))
    rewards = jax.random.normal(k1, (T,))
    values = jax.random.normal(k2, (T + 1,))
    print(td_errors(rewards, values, 0.9)[0])


if __name__ == "__main__":
    main()
