# A branch gets the key as an operand; a new one comes out of either branch.
import jax
import jax.numpy as jnp


def restart(key, x):
    key, draw_key = jax.random.split(key)
    return key, jax.random.normal(draw_key, x.shape)


def carry_on(key, x):
    return key, x


def step(carry, done):
    key, x = carry
    key, x = jax.lax.cond(done, restart, carry_on, key, x)
    return (key, x), x


def main():
    done = jnp.array([True, False, False, True])
    print(jax.lax.scan(step, (jax.random.key(0), jnp.zeros(2)), done)[1])


if __name__ == "__main__":
    main()
