# unrolled-loop: Returns are added up backwards by a Python loop.
import jax
import jax.numpy as jnp

GAMMA = 0.99


class Returns:
    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, rewards, dones):
        #~ out = []
        #~ g = jnp.zeros(rewards.shape[1])
        #~ for t in reversed(range(rewards.shape[0])):  #! unrolled-loop
        #~     g = rewards[t] + self.gamma * (1.0 - dones[t]) * g
        #~     out.append(g)
        #~ return jnp.stack(out[::-1])
        def back(g, inp):  #~
            r, d = inp  #~
            g = r + self.gamma * (1.0 - d) * g  #~
            return g, g  #~
        _, out = jax.lax.scan(back, jnp.zeros(rewards.shape[1]), (rewards, dones), reverse=True)  #~
        return out  #~


def main():
    k1, k2 = jax.random.split(jax.random.PRNGKey(0))
    rewards = jax.random.normal(k1, (1024, 16))
    dones = jax.random.bernoulli(k2, 0.01, (1024, 16)).astype(jnp.float32)
    compute = jax.jit(Returns(GAMMA))
    print(compute(rewards, dones).mean())


if __name__ == "__main__":
    main()
