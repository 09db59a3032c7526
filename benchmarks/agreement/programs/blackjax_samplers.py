"""Samplers of blackjax on a Gaussian: a kernel, a loop over steps, chains side by side."""

import blackjax
import jax
import jax.numpy as jnp

D, STEPS, CHAINS = 3, 4, 2


def logdensity(x):
    return -0.5 * jnp.sum(x**2)


def run(algorithm, key, position, steps=STEPS):
    state = algorithm.init(position)

    def one(state, key):
        state, info = algorithm.step(key, state)
        return state, (state.position, info)

    return jax.lax.scan(one, state, jax.random.split(key, steps))


key, position = jax.random.key(0), jnp.ones(D)
mass = jnp.ones(D)
last, (positions, info) = run(blackjax.hmc(logdensity, 0.1, mass, 3), key, position)
last, (positions, info) = run(blackjax.nuts(logdensity, 0.1, mass), key, position)
last, (positions, info) = run(blackjax.mala(logdensity, 0.1), key, position)
last, (positions, info) = run(
    blackjax.additive_step_random_walk(logdensity, blackjax.mcmc.random_walk.normal(mass)), key, position
)
last, (positions, info) = run(blackjax.barker_proposal(logdensity, 0.1), key, position)
last, (positions, info) = run(blackjax.elliptical_slice(logdensity, mean=jnp.zeros(D), cov=jnp.eye(D)), key, position)
hmc = blackjax.hmc(logdensity, 0.1, mass, 3)
states = jax.vmap(hmc.init)(jnp.ones((CHAINS, D)))
states, infos = jax.vmap(hmc.step)(jax.random.split(key, CHAINS), states)
ess = blackjax.ess(jnp.ones((CHAINS, 10, D)))
rhat = blackjax.rhat(jnp.ones((CHAINS, 10, D)))
