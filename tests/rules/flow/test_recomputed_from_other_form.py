"""What `recomputed-from-other-form` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

_ACTOR = """
import distrax
import flax.linen as nn
from typing import NamedTuple


class Transition(NamedTuple):
    obs: jax.Array
    act: jax.Array
    logp: jax.Array


class Actor(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.tanh(nn.Dense(16)(x))
        mean = nn.Dense(2)(h)
        return distrax.MultivariateNormalDiag(mean, jnp.exp(self.param("s", nn.initializers.zeros, (2,))) * jnp.ones_like(mean))


def env_step(x, a):
    return x + 0.1 * a


def make(actor):
    def rollout(params, x, key):
        def body(x, k):
            pi = actor.apply(params, x)
            u = pi.sample(seed=k)
            logp = pi.log_prob(u)
            a = jnp.tanh(u)
            return env_step(x, a), Transition(obs=x, act=a, logp=logp)

        return jax.lax.scan(body, x, jax.random.split(key, 20))

    def loss(params, batch, adv):
        pi = actor.apply(params, batch.obs)
        ratio = jnp.exp(pi.log_prob(batch.act) - batch.logp)  #! recomputed-from-other-form
        return -(ratio * adv).mean()

    @jax.jit
    def update(params, x, key):
        x, batch = rollout(params, x, key)
        adv = -(batch.obs**2).sum(-1)
        return x, jax.grad(loss)(params, batch, adv)

    return update


actor = Actor()
x = jnp.zeros((4, 2))
params = actor.init(jax.random.key(0), x)
make(actor)(params, x, jax.random.key(1))
"""

PROGRAMS = {
    "a module that gives a distribution": _ACTOR,
    "sample and density at once": _ACTOR.replace(
        "u = pi.sample(seed=k)\n            logp = pi.log_prob(u)", "u, logp = pi.sample_and_log_prob(seed=k)"
    ),
    "what was drawn is stored": _ACTOR.replace("act=a", "act=u").replace("  #! recomputed-from-other-form", ""),
    "clipped actions in a list": """
        def logp_fn(w, obs, u):
            return -0.5 * jnp.sum((u - obs @ w) ** 2, -1)


        def collect(w, x, key):
            obs, acts, logps = [], [], []
            for _ in range(10):
                key, k = jax.random.split(key)
                u = x @ w + jax.random.normal(k, (2,))
                a = jnp.clip(u, -1.0, 1.0)
                obs.append(x)
                acts.append(a)
                logps.append(logp_fn(w, x, u))
                x = x + 0.1 * a
            return jnp.stack(obs), jnp.stack(acts), jnp.stack(logps)


        def loss(w, obs, acts, old, adv):
            ratio = jnp.exp(logp_fn(w, obs, acts) - old)  #! recomputed-from-other-form
            return -(ratio * adv).mean()


        def main():
            w = jnp.ones((2, 2))
            obs, acts, old = collect(w, jnp.zeros(2), jax.random.key(0))
            g = jax.grad(loss)(w, obs, acts, old, jnp.ones(10))
            print(g)


        main()
        """,
    "squashed actions are stored": """
        def logp(w, obs, u):
            return -jnp.sum((u - obs @ w) ** 2, -1)

        def rollout(w, state, key):
            def step(state, key):
                u = state @ w + jax.random.normal(key, (2,))
                action = jnp.tanh(u)
                return 0.9 * state, {"obs": state, "action": action, "logp": logp(w, state, u)}
            return jax.lax.scan(step, state, jax.random.split(key, 10))[1]

        def ratio(w, state, key):
            batch = rollout(w, state, key)
            return jnp.exp(logp(w, batch["obs"], batch["action"]) - batch["logp"])  #! recomputed-from-other-form
        """,
    "what a scan computes again is not what another one stored": """
        def policy(w, x, h):
            h = jnp.tanh(x @ w["x"] + h @ w["h"])
            return h @ w["out"], h

        def rollout(w, x, h, key):
            def step(carry, k):
                x, h = carry
                scores, h = policy(w, x, h)
                action = jax.random.categorical(k, scores)
                old = jnp.take_along_axis(jax.nn.log_softmax(scores), action[:, None], 1)[:, 0]
                return (0.9 * x + action[:, None], h), (x, action, old)
            return jax.lax.scan(step, (x, h), jax.random.split(key, 9))[1]

        def replay(w, h, xs):
            def step(h, x):
                scores, h = policy(w, x, h)
                return h, scores
            return jax.lax.scan(step, h, xs)[1]

        def ratio(w, x, h, key):
            xs, actions, old = rollout(w, x, h, key)
            now = jax.nn.log_softmax(replay(w, h, xs))
            return jnp.exp(jnp.take_along_axis(now, actions[:, :, None], 2)[..., 0] - old)
        """,
    "temporal differences are no mismatch": """
        def value(w, obs):
            return obs @ w

        def rollout(w, state):
            def step(state, _):
                following = state * 0.9
                return following, (state, following, value(w, state))
            return jax.lax.scan(step, state, None, 10)[1]

        def loss(w, state):
            obs, following, old = rollout(w, state)
            return jnp.mean((value(w, following) - old) ** 2) + jnp.mean((value(w, obs) - old) ** 2)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
