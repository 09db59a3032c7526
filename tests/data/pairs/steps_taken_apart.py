# wrong-axis-mapped: a per-trajectory function is vmapped over the time axis of (T, B)
import jax
import jax.numpy as jnp

NUM_STEPS, NUM_ENVS = 32, 8


def discounted_return(rewards, dones, gamma=0.99):
    """Returns of one trajectory (T,)."""

    def back(acc, rd):
        r, d = rd
        acc = r + gamma * (1.0 - d) * acc
        return acc, acc

    _, out = jax.lax.scan(back, 0.0, (rewards, dones), reverse=True)
    return out


def collect(key):
    def step(carry, k):
        x = carry
        x = 0.9 * x + jax.random.normal(k, (NUM_ENVS,))
        done = (jnp.abs(x) > 2.0).astype(jnp.float32)
        return x * (1 - done), (-(x**2), done)

    _, (rewards, dones) = jax.lax.scan(step, jnp.zeros(NUM_ENVS), jax.random.split(key, NUM_STEPS))
    return rewards, dones


@jax.jit
def returns(key):
    rewards, dones = collect(key)
    return jax.vmap(discounted_return, in_axes=1, out_axes=1)(rewards, dones)  #~ return jax.vmap(discounted_return)(rewards, dones)  #! wrong-axis-mapped


if __name__ == "__main__":
    print(returns(jax.random.key(0)).shape)
