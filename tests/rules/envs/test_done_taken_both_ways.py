"""What `done-taken-both-ways` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a mask against a reset": """
        def rollout(params, state, keys):
            def step(state, key):
                action = jnp.tanh(state @ params) + 0.1 * jax.random.normal(key, state.shape[:1])
                nxt = 0.9 * state + action[:, None]
                done = jnp.abs(nxt).max(-1) > 2.0
                reward = -(nxt ** 2).sum(-1)
                nxt = jnp.where(done[:, None], 0.0, nxt)
                return nxt, (state, action, reward, done)
            return jax.lax.scan(step, state, keys)

        def returns(rewards, dones):
            def back(g, x):
                r, d = x
                g = r + 0.99 * d * g  #! done-taken-both-ways
                return g, g
            return jax.lax.scan(back, jnp.zeros_like(rewards[0]), (rewards, dones), reverse=True)[1]

        @jax.jit
        def train(params, state, keys):
            state, (s, a, r, d) = rollout(params, state, keys)
            return returns(r, d)
        """,
    "a mask and a reset": """
        def rollout(params, state, keys):
            def step(state, key):
                action = jnp.tanh(state @ params) + 0.1 * jax.random.normal(key, state.shape[:1])
                nxt = 0.9 * state + action[:, None]
                done = jnp.abs(nxt).max(-1) > 2.0
                reward = -(nxt ** 2).sum(-1)
                nxt = jnp.where(done[:, None], 0.0, nxt)
                return nxt, (state, action, reward, done)
            return jax.lax.scan(step, state, keys)

        def returns(rewards, dones):
            def back(g, x):
                r, d = x
                g = r + 0.99 * (1 - d) * g
                return g, g
            return jax.lax.scan(back, jnp.zeros_like(rewards[0]), (rewards, dones), reverse=True)[1]

        @jax.jit
        def train(params, state, keys):
            state, (s, a, r, d) = rollout(params, state, keys)
            return returns(r, d)
        """,
    "a return that starts anew in every step": """
        def log_step(env, state, action, key):
            env_state, ret, length, last_ret = state
            obs, env_state, reward, done, info = env.step(key, env_state, action)
            ret = ret + reward
            length = length + 1
            last_ret = jnp.where(done, ret, last_ret)
            state = (env_state, jnp.where(done, ret, 0.0), length * (1 - done), last_ret)  #! done-taken-both-ways
            return obs, state, reward, done
        """,
    "a return that starts anew at the end": """
        def log_step(env, state, action, key):
            env_state, ret, length, last_ret = state
            obs, env_state, reward, done, info = env.step(key, env_state, action)
            ret = ret + reward
            length = length + 1
            last_ret = jnp.where(done, ret, last_ret)
            state = (env_state, jnp.where(done, 0.0, ret), length * (1 - done), last_ret)
            return obs, state, reward, done
        """,
    "a counter against two others": """
        class LogWrapper:
            def __init__(self, env): self.env = env
            def step(self, key, state, action):
                obs, env_state, reward, done, info = self.env.step(key, state["env"], action)
                ret = state["ret"] + reward
                n = state["n"] + 1
                new = dict(env=env_state, ret=ret * (1 - done), n=n * done,  #! done-taken-both-ways
                           last=state["last"] * (1 - done) + ret * done)
                return obs, new, reward, done, info
        """,
    "three counters alike": """
        class LogWrapper:
            def __init__(self, env): self.env = env
            def step(self, key, state, action):
                obs, env_state, reward, done, info = self.env.step(key, state["env"], action)
                ret = state["ret"] + reward
                n = state["n"] + 1
                new = dict(env=env_state, ret=ret * (1 - done), n=n * (1 - done),
                           last=state["last"] * (1 - done) + ret * done)
                return obs, new, reward, done, info
        """,
    "zeros in the place of a value that ends are no part of it": """
        def last_value(value, rewards, dones):
            done = dones[-1] > 0
            value = jnp.where(done, jnp.zeros_like(value), value)

            def back(carry, x):
                total, after = carry
                reward, done, value = x
                delta = reward + 0.9 * after * (1 - done) - value
                total = delta + 0.8 * (1 - done) * total
                return (total, value), total

            return jax.lax.scan(back, (jnp.zeros_like(value), value), (rewards, dones, rewards), reverse=True)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
