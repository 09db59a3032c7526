"""Running statistics that take samples in, in programs."""

import pytest
from rules.programs import marked, said

WRONG = """
from flax import struct


class RMS:
    def __init__(self, dim):
        self.mean = jnp.zeros(dim)
        self.var = jnp.ones(dim)
        self.count = 1e-4

    def update(self, x):
        bm, bv, bc = x.mean(0), x.var(0), x.shape[0]
        tot = self.count + bc
        self.mean = self.mean + (bm - self.mean) * bc / tot
        d = bm - self.mean
        m2 = self.var * self.count + bv * bc + d**2 * self.count * bc / tot  #! variance-merged-without-means
        self.var = m2 / tot
        self.count = tot


@struct.dataclass
class W:
    n: jax.Array
    mu: jax.Array
    m2: jax.Array


def push(w, x):
    n = w.n + 1
    d = x - w.mu
    mu = w.mu + d / n
    return w.replace(n=n, mu=mu, m2=w.m2 + d * d)  #! variance-merged-without-means


def feed(w, xs):
    return jax.lax.scan(lambda c, x: (push(c, x), None), w, xs)[0]


def merge_no_shift(state, batch):
    c, m, v = state
    k = batch.shape[0]
    t = c + k
    new_m = (c * m + k * jnp.mean(batch, axis=0)) / t
    new_v = (c * v + k * jnp.var(batch, axis=0)) / t  #! variance-merged-without-means
    return t, new_m, new_v


def weight_forgotten(stats, obs):
    n = stats["n"] + len(obs)
    delta = obs.mean(axis=0) - stats["mean"]
    mean = stats["mean"] + delta / n  #! variance-merged-without-means
    return {"n": n, "mean": mean}


def steps_for_samples(stats, obs):
    size = obs.shape[0]
    bm = obs.mean(axis=(0, 1))
    bs = ((obs - bm) ** 2).sum(axis=(0, 1))
    n = stats["n"] + size
    delta = bm - stats["mean"]
    mean = stats["mean"] + delta * size / n
    m2 = stats["m2"] + bs + delta**2 * stats["n"] * size / n  #! variance-merged-without-means
    return {"n": n, "mean": mean, "m2": m2}


def wrong_product(c, m, s, x):
    n = x.shape[0]
    t = c + n
    xm = x.mean(0)
    d = xm - m
    return t, m + d * n / t, s + jnp.sum((x - xm) ** 2, 0) + d**2 * n * n / t  #! variance-merged-without-means
"""

RIGHT = """
from flax import struct


class RMS:
    def __init__(self, dim):
        self.mean = jnp.zeros(dim)
        self.var = jnp.ones(dim)
        self.count = 1e-4

    def update(self, x):
        bm, bv, bc = x.mean(0), x.var(0), x.shape[0]
        tot = self.count + bc
        d = bm - self.mean
        self.mean = self.mean + d * bc / tot
        m2 = self.var * self.count + bv * bc + d**2 * self.count * bc / tot
        self.var = m2 / tot
        self.count = tot


@struct.dataclass
class W:
    n: jax.Array
    mu: jax.Array
    m2: jax.Array


def push(w, x):
    n = w.n + 1
    d = x - w.mu
    mu = w.mu + d / n
    return w.replace(n=n, mu=mu, m2=w.m2 + d * (x - mu))


def feed(w, xs):
    return jax.lax.scan(lambda c, x: (push(c, x), None), w, xs)[0]


def brax(state, batch):
    count = state["count"] + batch.shape[0]
    d_old = batch - state["mean"]
    mean = state["mean"] + jnp.sum(d_old, axis=0) / count
    d_new = batch - mean
    var = state["summed"] + jnp.sum(d_old * d_new, axis=0)
    return {"count": count, "mean": mean, "summed": var}


def raw(c, m, q, x):
    n = x.shape[0]
    t = c + n
    return t, (c * m + x.sum(0)) / t, (c * q + (x**2).sum(0)) / t


def sample(c, m, v, x):
    n = x.shape[0]
    t = c + n
    xm = x.mean(0)
    s = (c - 1) * v + (n - 1) * jnp.var(x, axis=0, ddof=1) + (xm - m) ** 2 * c * n / t
    return t, m + (xm - m) * n / t, s / (t - 1)


def batches(c, m, v, x):
    t = c + 1
    xm, xv = x.mean(axis=(0, 1)), x.var(axis=(0, 1))
    d = xm - m
    return t, m + d / t, (v * c + xv + d**2 * c / t) / t


def ema(m, v, x):
    return 0.99 * m + 0.01 * x.mean(0), 0.99 * v + 0.01 * x.var(0)


def rate(k, m, x):
    lr = 1.0 / (k + 10.0)
    return k + 1, m + lr * (x.mean(0) - m)


def averages(c, m, total, best, x):
    n = x.shape[0]
    return c + n, (c * m + x.sum(0)) / (c + n), total + x.sum(), jnp.maximum(best, x.max()), total * x.sum()


def with_valid(c, m, s, x, k):
    t = c + k
    xm = x.mean(0)
    d = xm - m
    return t, m + d * k / t, s + x.var(0) * k + d**2 * c * k / t


def by_number(c, m, s, x):
    d = x - m
    mean = m + jnp.sum(d, axis=0) / (c + 32)
    return c + 32, mean, s + jnp.sum(d * (x - mean), axis=0)


def of_known_size(c, m, s, key):
    x = jax.random.normal(key, (32, 3))
    d = x - m
    mean = m + jnp.sum(d, axis=0) / (c + 32)
    return c + 32, mean, s + jnp.sum(d * (x - mean), axis=0)


def pooled(c, m, v, n, xm, xv):
    t = c + n
    d = xm - m
    return t, m + d * n / t, (v * c + xv * n + d * d * c * n / t) / t
"""


OF_OTHER_SIZE = """
def update(c, m, key):
    x = jax.random.normal(key, (32, 3))
    mean = m + jnp.sum(x - m, axis=0) / (c + 16)  #! variance-merged-without-means
    return c + 16, mean


def by_number(c, m, x):
    return c + 16, m + jnp.sum(x - m, axis=0) / (c + 16)
"""


@pytest.mark.parametrize("program", [WRONG, RIGHT, OF_OTHER_SIZE], ids=["wrong", "right", "of other size"])
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
