# reduction-over-wrong-axis: The weights of particles are normalised over the filters.
import jax
import jax.numpy as jnp

NUM_PARTICLES = 50
NUM_FILTERS = 4
STATE_DIM = 2


def transition(key, particles):
    return 0.9 * particles + 0.2 * jax.random.normal(key, particles.shape)


def log_likelihood(obs, particles):
    # obs (NUM_FILTERS, STATE_DIM), particles (NUM_FILTERS, NUM_PARTICLES, STATE_DIM)
    return -0.5 * jnp.sum((obs[:, None, :] - particles) ** 2, axis=-1) / 0.1


def normalise(logw):
    logw = logw - jnp.max(logw, axis=1, keepdims=True)
    w = jnp.exp(logw)
    return w / w.sum(axis=1, keepdims=True)  #~ return w / w.sum(axis=0, keepdims=True)  #! reduction-over-wrong-axis


def filter_step(carry, inp):
    particles = carry
    key, obs = inp
    k_move, k_res = jax.random.split(key)
    particles = transition(k_move, particles)
    w = normalise(log_likelihood(obs, particles))
    mean = jnp.einsum("fp,fpd->fd", w, particles)
    idx = jax.vmap(lambda k, p: jax.random.choice(k, NUM_PARTICLES, (NUM_PARTICLES,), p=p))(
        jax.random.split(k_res, NUM_FILTERS), w
    )
    particles = jnp.take_along_axis(particles, idx[..., None], axis=1)
    return particles, mean


@jax.jit
def run(key, observations):
    k0, k1 = jax.random.split(key)
    particles = jax.random.normal(k0, (NUM_FILTERS, NUM_PARTICLES, STATE_DIM))
    keys = jax.random.split(k1, observations.shape[0])
    return jax.lax.scan(filter_step, particles, (keys, observations))


def main():
    k_obs, k_run = jax.random.split(jax.random.key(0))
    observations = jnp.cumsum(0.1 * jax.random.normal(k_obs, (20, NUM_FILTERS, STATE_DIM)), axis=0)
    _, means = run(k_run, observations)
    print(float(jnp.abs(means - observations).mean()))


if __name__ == "__main__":
    main()
