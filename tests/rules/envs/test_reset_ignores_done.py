"""Flags of a batch that decide as one, in programs."""

import pytest
from rules.programs import marked, said

_ENV = """
N, H = 8, 16


def reset_one(key):
    return {"x": jax.random.normal(key, (2,)), "t": jnp.zeros((), jnp.int32)}


def step_one(key, s, a):
    x = s["x"] + 0.1 * a
    t = s["t"] + 1
    done = (jnp.abs(x).max() > 2.0) | (t >= 20)
    fresh = reset_one(key)
    nxt = jax.tree.map(lambda n, o: jnp.where(done, n, o), fresh, {"x": x, "t": t})
    return nxt, -jnp.sum(x**2), done
"""

PROGRAMS = {
    "a product clears the memory of all": _ENV
    + """
def rollout(w, key):
    def body(carry, k):
        s, h, total = carry
        h = jnp.tanh(h + s["x"] @ w)
        s, r, done = jax.vmap(step_one)(jax.random.split(k, N), s, h[:, :2])
        keep = 1.0 - jnp.any(done)
        h = h * keep  #! reset-ignores-done
        total = (total + r) * (1.0 - done)
        return (s, h, total), (r, done)

    s = jax.vmap(reset_one)(jax.random.split(jax.random.fold_in(key, 1), N))
    return jax.lax.scan(body, (s, jnp.zeros((N, H)), jnp.zeros(N)), jax.random.split(key, 50))

rollout(jnp.ones((2, H)), jax.random.key(0))
""",
    "a sum of the flags, in a method": _ENV
    + """
class Agent:
    def __init__(self, w):
        self.w = w

    def forget(self, h, done):
        return jax.lax.cond(done.sum() > 0, lambda m: jnp.zeros_like(m), lambda m: m, h)  #! reset-ignores-done

    def run(self, key):
        def body(carry, k):
            s, h = carry
            h = jnp.tanh(h + s["x"] @ self.w)
            s, r, done = jax.vmap(step_one)(jax.random.split(k, N), s, h[:, :2])
            return (s, self.forget(h, done)), (r, done)

        s = jax.vmap(reset_one)(jax.random.split(jax.random.fold_in(key, 1), N))
        return jax.lax.scan(body, (s, jnp.zeros((N, H))), jax.random.split(key, 50))

Agent(jnp.ones((2, H))).run(jax.random.key(0))
""",
    "the first flag for all": _ENV
    + """
def rollout(w, key):
    def body(carry, k):
        s, h = carry
        h = jnp.tanh(h + s["x"] @ w)
        s, r, done = jax.vmap(step_one)(jax.random.split(k, N), s, h[:, :2])
        h = jnp.where(done[0], 0.0, h)  #! reset-ignores-done
        return (s, h), (r, done)

    s = jax.vmap(reset_one)(jax.random.split(jax.random.fold_in(key, 1), N))
    return jax.lax.scan(body, (s, jnp.zeros((N, H))), jax.random.split(key, 50))

rollout(jnp.ones((2, H)), jax.random.key(0))
""",
    "a loop of Python": """
N = 8


def reset(key):
    return jax.random.normal(key, (N, 2))


@jax.jit
def step(x, a):
    x = x + 0.1 * a
    return x, -jnp.sum(x**2, -1), jnp.abs(x).max(-1) > 2.0


def main():
    key = jax.random.key(0)
    key, k = jax.random.split(key)
    x = reset(k)
    ret = jnp.zeros(N)
    for _ in range(100):
        key, k = jax.random.split(key)
        x, r, done = step(x, -x)
        ret = jnp.where(done, 0.0, ret + r)
        if done.any():  #! reset-ignores-done
            x = reset(k)
    print(ret)


main()

""",
    "one field of a record": """
from typing import NamedTuple

N = 6


class Log(NamedTuple):
    ret: jax.Array
    length: jax.Array


def env_step(key, x, a):
    x = x + a
    done = jnp.abs(x) > 3.0
    x = jnp.where(done, jax.random.normal(key, x.shape), x)
    return x, -jnp.abs(x), done


def track(log, r, done):
    alive = jnp.logical_not(done.max())
    return Log(ret=(log.ret + r) * alive, length=(log.length + 1) * (1 - done))  #! reset-ignores-done


@jax.jit
def run(x, log, key):
    def body(carry, k):
        x, log = carry
        x, r, done = env_step(k, x, -0.1 * x)
        return (x, track(log, r, done)), done
    return jax.lax.scan(body, (x, log), jax.random.split(key, 100))

run(jnp.zeros(N), Log(jnp.zeros(N), jnp.zeros(N)), jax.random.key(0))

""",
    "flags that are looked at as a whole": _ENV
    + """
def rollout(w, key):
    def body(carry, k):
        s, h, seen = carry
        h = jnp.tanh(h + s["x"] @ w)
        s, r, done = jax.vmap(step_one)(jax.random.split(k, N), s, h[:, :2])
        h = jax.lax.cond(done.any(), lambda: jnp.where(done[:, None], 0.0, h), lambda: h)
        seen = seen * (1 - done.any()) + done.sum()
        r = r * 0.5
        bad = jnp.any(jnp.isnan(h))
        h = jnp.where(bad, jnp.zeros_like(h), h)  #? reset-ignores-done
        return (s, h, seen), (r, done, done.mean())

    s = jax.vmap(reset_one)(jax.random.split(jax.random.fold_in(key, 1), N))
    return jax.lax.scan(body, (s, jnp.zeros((N, H)), 0.0), jax.random.split(key, 50))

rollout(jnp.ones((2, H)), jax.random.key(0))
""",
    "a game that is over when all players are": """
N, A = 8, 3


def reset(key):
    return jax.random.normal(key, (A, 2)), jnp.zeros(A, bool)


def step(key, state, act):
    pos, dead = state
    pos = jnp.where(dead[:, None], pos, pos + act)
    dead = dead | (jnp.abs(pos).max(-1) > 3.0)
    reward = (1.0 - dead) * -jnp.sum(pos**2, -1)
    over = jnp.all(dead)
    fresh = reset(key)
    state = jax.tree.map(lambda a, b: jnp.where(over, a, b), fresh, (pos, dead))  #? reset-ignores-done
    return state, reward, dead, over


def main():
    keys = jax.random.split(jax.random.key(0), N)
    state = jax.vmap(reset)(keys)

    def body(state, k):
        state, r, d, over = jax.vmap(step)(jax.random.split(k, N), state, -0.1 * state[0])
        return state, (r, d, over)
    print(jax.lax.scan(body, state, jax.random.split(jax.random.key(1), 30))[1][0].mean())

main()

""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
