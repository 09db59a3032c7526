# axis-conflict: Each particle normalises its own weight.
import jax
import jax.numpy as jnp


def log_likelihood(x, y):
    return -0.5 * jnp.sum((y - x[:2]) ** 2) / 0.1


class ParticleFilter:
    def __init__(self, n):
        self.n = n

    def propagate(self, key, x):
        return x.at[:2].add(0.1 * x[2:]) + 0.05 * jax.random.normal(key, x.shape)

    def weigh(self, x, y):
        logw = log_likelihood(x, y)
        #~ return jax.nn.softmax(logw)  #! axis-conflict
        return logw  #~

    def step(self, key, particles, y):
        k_prop, k_res = jax.random.split(key)
        particles = jax.vmap(self.propagate)(jax.random.split(k_prop, self.n), particles)
        weights = jax.nn.softmax(jax.vmap(self.weigh, in_axes=(0, None))(particles, y))  #~ weights = jax.vmap(self.weigh, in_axes=(0, None))(particles, y)
        idx = jax.random.choice(k_res, self.n, (self.n,), p=weights)
        return particles[idx]


def main():
    pf = ParticleFilter(100)
    key = jax.random.PRNGKey(0)
    particles = jax.random.normal(key, (100, 4))
    for t in range(10):
        particles = pf.step(jax.random.fold_in(key, t), particles, jnp.array([0.1 * t, 0.0]))
    print(particles.mean(0))


if __name__ == "__main__":
    main()
