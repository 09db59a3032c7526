"""What goes on across the end of an episode, in programs."""

import pytest
from rules.programs import marked, said

_ENV = """
N, H, T = 8, 16, 32


def reset(key):
    return jax.random.normal(key, (2,))


def env_step(key, x, a):
    x = x + 0.1 * a
    reward = -jnp.sum(x**2)
    done = jnp.abs(x).max() > 2.0
    x = jnp.where(done, reset(key), x)
    return x, reward, done
"""

PROGRAMS = {
    "returns that nothing stops": """
def rollout(w, x, key):
    def body(x, k):
        a = x @ w
        nx, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, a)
        return nx, (x, a, r, d)

    return jax.lax.scan(body, x, jax.random.split(key, T))


def returns(rewards, gamma=0.99):
    def back(g, r):
        g = r + gamma * g  #! leak-across-episodes
        return g, g

    return jax.lax.scan(back, jnp.zeros(N), rewards, reverse=True)[1]


@jax.jit
def train(w, x, key):
    x, (obs, act, r, d) = rollout(w, x, key)
    ret = returns(r)

    def loss(w):
        return jnp.mean(jnp.sum((obs @ w - act) ** 2, -1) * ret)

    return w - 0.1 * jax.grad(loss)(w), x, d.mean()


x0 = jax.vmap(reset)(jax.random.split(jax.random.key(0), N))
train(jnp.ones((2, 2)), x0, jax.random.key(1))
""",
    "returns that the flags stop": """
def rollout(w, x, key):
    def body(x, k):
        a = x @ w
        nx, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, a)
        return nx, (x, a, r, d)

    return jax.lax.scan(body, x, jax.random.split(key, T))


def returns(rewards, dones, gamma=0.99):
    def back(g, inp):
        r, d = inp
        g = r + gamma * (1.0 - d) * g
        return g, g

    return jax.lax.scan(back, jnp.zeros(N), (rewards, dones), reverse=True)[1]


@jax.jit
def train(w, x, key):
    x, (obs, act, r, d) = rollout(w, x, key)
    ret = returns(r, d)

    def loss(w):
        return jnp.mean(jnp.sum((obs @ w - act) ** 2, -1) * ret)

    return w - 0.1 * jax.grad(loss)(w), x, d.mean()


x0 = jax.vmap(reset)(jax.random.split(jax.random.key(0), N))
train(jnp.ones((2, 2)), x0, jax.random.key(1))
""",
    "a cumulative sum": """
def rollout(w, x, key):
    def body(x, k):
        nx, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, x @ w)
        return nx, {"obs": x, "reward": r, "done": d}

    return jax.lax.scan(body, x, jax.random.split(key, T))[1]


def togo(rewards):
    return jnp.cumsum(rewards[::-1], axis=0)[::-1]  #! leak-across-episodes


def loss(w, x, key):
    traj = rollout(w, x, key)
    ret = togo(traj["reward"])
    return jnp.mean(jnp.sum(traj["obs"] @ w, -1) * ret), traj["done"].sum()


x0 = jax.vmap(reset)(jax.random.split(jax.random.key(0), N))
jax.grad(loss, has_aux=True)(jnp.ones((2, 2)), x0, jax.random.key(1))
""",
    "a memory that is cleared by the first loop alone": """
def cell(p, h, x):
    return jnp.tanh(h @ p["h"] + x @ p["x"])


def rollout(p, x, h, key):
    def body(carry, k):
        x, h = carry
        h = cell(p, h, x)
        nx, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, h @ p["out"])
        return (nx, jnp.where(d[:, None], 0.0, h)), (x, r, d)

    return jax.lax.scan(body, (x, h), jax.random.split(key, T))


def unroll(p, h0, obs):
    def step(h, x):
        h = cell(p, h, x)  #! memory-cleared-at-other-step
        return h, h @ p["out"]

    return jax.lax.scan(step, h0, obs)[1]


def loss(p, h0, batch):
    obs, r, d = batch
    return jnp.mean(jnp.sum(unroll(p, h0, obs), -1) * r)


@jax.jit
def train(p, x, h, key):
    (x2, h2), batch = rollout(p, x, h, key)
    return jax.grad(loss)(p, h, batch), x2, h2


p = {"h": jnp.ones((H, H)), "x": jnp.ones((2, H)), "out": jnp.ones((H, 2))}
x0 = jax.vmap(reset)(jax.random.split(jax.random.key(0), N))
train(p, x0, jnp.zeros((N, H)), jax.random.key(1))
""",
    "a memory that both loops clear": """
def cell(p, h, x):
    return jnp.tanh(h @ p["h"] + x @ p["x"])


def rollout(p, x, h, key):
    def body(carry, k):
        x, h = carry
        h = cell(p, h, x)
        nx, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, h @ p["out"])
        return (nx, jnp.where(d[:, None], 0.0, h)), (x, r, d)

    return jax.lax.scan(body, (x, h), jax.random.split(key, T))


def unroll(p, h0, obs, dones):
    def step(h, inp):
        x, d = inp
        h = cell(p, h, x)
        y = h @ p["out"]
        return jnp.where(d[:, None], 0.0, h), y

    return jax.lax.scan(step, h0, (obs, dones))[1]


def loss(p, h0, batch):
    obs, r, d = batch
    return jnp.mean(jnp.sum(unroll(p, h0, obs, d), -1) * r)


@jax.jit
def train(p, x, h, key):
    (x2, h2), batch = rollout(p, x, h, key)
    return jax.grad(loss)(p, h, batch), x2, h2


p = {"h": jnp.ones((H, H)), "x": jnp.ones((2, H)), "out": jnp.ones((H, 2))}
x0 = jax.vmap(reset)(jax.random.split(jax.random.key(0), N))
train(p, x0, jnp.zeros((N, H)), jax.random.key(1))
""",
    "a memory that no loop clears, though the state starts anew": """
def cell(p, h, x):
    return jnp.tanh(h @ p["h"] + x @ p["x"])  #! uneven-reset


def rollout(p, x, h, key):
    def body(carry, k):
        x, h = carry
        h = cell(p, h, x)
        nx, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, h @ p["out"])
        return (nx, h), (x, r, d)

    return jax.lax.scan(body, (x, h), jax.random.split(key, T))


def unroll(p, h0, obs):
    def step(h, x):
        h = cell(p, h, x)
        return h, h @ p["out"]

    return jax.lax.scan(step, h0, obs)[1]


def loss(p, h0, batch):
    obs, r, d = batch
    return jnp.mean(jnp.sum(unroll(p, h0, obs), -1) * r)


@jax.jit
def train(p, x, h, key):
    (x2, h2), batch = rollout(p, x, h, key)
    return jax.grad(loss)(p, h, batch), x2, h2


p = {"h": jnp.ones((H, H)), "x": jnp.ones((2, H)), "out": jnp.ones((H, 2))}
x0 = jax.vmap(reset)(jax.random.split(jax.random.key(0), N))
train(p, x0, jnp.zeros((N, H)), jax.random.key(1))
""",
    "a window that is rolled": """
def run(w, x, key):
    def body(carry, k):
        x, hist = carry
        a = hist.reshape(N, -1) @ w
        x, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, a)
        hist = jnp.roll(hist, -1, axis=1).at[:, -1].set(x)  #! uneven-reset
        return (x, hist), (r, d)

    hist = jnp.repeat(x[:, None], 4, axis=1)
    return jax.lax.scan(body, (x, hist), jax.random.split(key, T))


x0 = jax.vmap(reset)(jax.random.split(jax.random.key(0), N))
run(jnp.ones((8, 2)), x0, jax.random.key(1))
""",
    "a window that is filled anew, and one with its flags": """
def run(w, x, key):
    def body(carry, k):
        x, hist = carry
        a = hist.reshape(N, -1) @ w
        x, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, a)
        hist = jnp.roll(hist, -1, axis=1).at[:, -1].set(x)
        hist = jnp.where(d[:, None, None], x[:, None], hist)
        return (x, hist), (r, d)

    hist = jnp.repeat(x[:, None], 4, axis=1)
    return jax.lax.scan(body, (x, hist), jax.random.split(key, T))


x0 = jax.vmap(reset)(jax.random.split(jax.random.key(0), N))
run(jnp.ones((8, 2)), x0, jax.random.key(1))


def transitions(w, x, key):
    def body(carry, k):
        x, obs, ends = carry
        nx, r, d = jax.vmap(env_step)(jax.random.split(k, N), x, x @ w)
        obs = jnp.concatenate([obs[1:], nx[None]])
        ends = jnp.concatenate([ends[1:], d[None]])
        return (nx, obs, ends), (r, d)

    return jax.lax.scan(body, (x, jnp.zeros((4, N, 2)), jnp.zeros((4, N), bool)), jax.random.split(key, T))


transitions(jnp.ones((2, 2)), x0, jax.random.key(1))
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(_ENV + program) == marked(_ENV + program)
