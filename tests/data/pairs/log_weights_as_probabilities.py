# meaning-mismatch: log-weights are used as probabilities in resampling
import jax
import jax.numpy as jnp


def transition(key, x):
    return 0.9 * x + 0.3 * jax.random.normal(key, x.shape)


def log_likelihood(y, x):
    return -0.5 * ((y - x) / 0.5) ** 2


def resample(key, particles, log_w):
    n = particles.shape[0]
    w = log_w - jax.scipy.special.logsumexp(log_w)
    idx = jax.random.choice(key, n, (n,), p=jnp.exp(w))  #~ idx = jax.random.choice(key, n, (n,), p=w)  #! meaning-mismatch
    return particles[idx]


def particle_filter(key, ys, n):
    k0, k1 = jax.random.split(key)
    particles = jax.random.normal(k0, (n,))

    def step(carry, inp):
        particles, ll = carry
        key, y = inp
        kt, kr = jax.random.split(key)
        particles = transition(kt, particles)
        log_w = log_likelihood(y, particles)
        ll = ll + jax.scipy.special.logsumexp(log_w) - jnp.log(n)
        particles = resample(kr, particles, log_w)
        return (particles, ll), particles.mean()

    (particles, ll), means = jax.lax.scan(step, (particles, 0.0), (jax.random.split(k1, ys.shape[0]), ys))
    return ll, means


def main():
    ys = jnp.sin(jnp.arange(40) * 0.2)
    ll, means = jax.jit(particle_filter, static_argnums=2)(jax.random.key(0), ys, 256)
    print(ll, means[-3:])


if __name__ == "__main__":
    main()
