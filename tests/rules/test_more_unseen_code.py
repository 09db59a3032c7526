"""More code of packages that nobody had looked at; lines that end in `#!` give an error, no others do."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import dataclasses
import jax
import jax.numpy as jnp
import numpy as np
from typing import Sequence
"""

PROGRAMS = {
    "a switch that is asked for": """
        def solver(f):
            assert jax.config.read("jax_enable_x64"), "double precision is needed"
            return f

        def roots(f):
            grid = jnp.linspace(0.0, 1.0, 5)
            return solver(f)(grid)
        """,
    "a field called size": """
        @dataclasses.dataclass
        class Info:
            size: Sequence[int]
            mode: object = None

        def shape_of(info):
            return (info.mode,) + tuple(info.size)

        def wrong(x):
            return (1, 2) + jnp.ones(3).size  #!
        """,
    "loops without compilation": """
        def cumsum(total, x):
            total = total + x
            print(total)
            return total, total

        def shown(xs):
            with jax.disable_jit():
                return jax.lax.scan(cumsum, 0, xs)

        def cumsum_traced(total, x):
            total = total + x
            print(total)  #!
            return total, total

        def wrong(xs):
            return jax.lax.scan(cumsum_traced, 0, xs)
        """,
    "functions that are made when they are missing": """
        class Analyzer:
            def __init__(self, scale):
                self.scale = scale
                self.results = {}
                self.held = None

            def function(self):
                if "f" not in self.results:
                    self.results["f"] = jax.jit(lambda x: x * self.scale)
                if self.held is None:
                    self.held = jax.jit(lambda x: x + self.scale)
                return lambda x: self.held(self.results["f"](x))

        def run(xs, n):
            analyzer = Analyzer(3.0)
            step = jax.jit(lambda x: analyzer.function()(x))
            for _ in range(n):
                y = analyzer.function()(step(xs))
            return y

        def wrong(xs, n):
            analyzer = Analyzer(3.0)
            analyzer.results["k"] = 1.0
            step = jax.jit(lambda x: x * analyzer.results["k"])  #!
            for _ in range(n):
                y = step(xs)
                analyzer.results["k"] = analyzer.results["k"] * 0.5
            return y
        """,
    "a seed that is drawn where none is given": """
        class Layer:
            def __init__(self, seed=None):
                self.seed = np.random.randint(0, 1000) if seed is None else seed

            def one(self, x):
                return apply(x, self.seed)

            def __call__(self, x):
                return jax.vmap(self.one)(x)

        def apply(x, seed):
            if seed is None:
                seed = np.random.randint(0, 1000)
            return x * seed

        @jax.jit
        def either(x, seed):
            return x * (seed or np.random.randint(0, 1000))

        @jax.jit
        def wrong(x, seed=None):
            return x * np.random.randint(0, 1000)  #!
        """,
    "two names for one value": """
        def locked(base, centre, kind):
            if kind == 0:
                frame = world = jnp.eye(4).at[0:3, 3].set(centre)
            else:
                frame = body = base.at[0:3, 3].set(centre)
            return jnp.linalg.inv(base) @ frame

        def wrong(base, centre):
            frame = body = base.at[0:3, 3].set(centre)  #!
            return jnp.linalg.inv(base)
        """,
    "read where it was just written": """
        def passes(s, m, n):
            def body(carry, i):
                d, m = carry
                d = d.at[i].set((s[i].T @ m[i]).squeeze())
                return (d, m.at[i].set(m[i] / d[i] @ m[i].T)), None
            return jax.lax.scan(body, (jnp.zeros((n, 1)), m), jnp.arange(n))

        def wrong(s, n):
            def body(d, i):
                share = s[i] / d  #!
                return d + 1.0, share @ share
            return jax.lax.scan(body, jnp.zeros(()), jnp.arange(n))
        """,
    "rows of a table": """
        def table(n):
            el = np.arange(n)
            out = np.zeros((2, n))
            out[0] = 2.0 / np.sqrt(2 * el)
            return out

        def wrong(x, n):
            return jnp.sum(x / jnp.arange(n))  #!
        """,
    "a cotangent that is made an array": """
        def lookup():
            @jax.custom_vjp
            def look(w, i):
                return w[i]

            def fwd(w, i):
                return w[i], (i, w.shape)

            def bwd(saved, g):
                i, shape = saved
                g = jnp.asarray(g)
                return jnp.zeros(shape).at[i].add(g), None

            look.defvjp(fwd, bwd)
            return look

        lookup()(jnp.ones((3, 4)), jnp.array([0, 1]))
        """,
    "a key that shows shapes": """
        def loop(step, y, key):
            dummy, _ = jax.random.split(key)
            shapes = jax.eval_shape(step, y, dummy)
            def body(c):
                y, k = c
                now, k = jax.random.split(k)
                return step(y, now), k
            return jax.lax.while_loop(lambda c: c[0] < 3, body, (y, key)), shapes

        def wrong(step, y, key):
            now, _ = jax.random.split(key)
            first = step(y, now) + jax.random.normal(now)
            def body(c):
                y, k = c
                now, k = jax.random.split(k)
                return step(y, now) + jax.random.normal(now), k
            return jax.lax.while_loop(lambda c: c[0] < 3, body, (y, key)), first  #!
        """,
    "a draw that is read on other paths": """
        def live(key, points, prior, n):
            if points is None:
                first, key = jax.random.split(key)
                unit = jax.vmap(jnp.tanh)(jax.random.uniform(first, (n, 3)))
            if prior is None:
                points = unit
            elif points is None:
                points = jax.vmap(prior)(jax.random.split(first, n))
            return points, key

        def wrong(key, prior, n):
            first, key = jax.random.split(key)
            unit = jax.random.uniform(first, (n, 3))
            if prior is None:
                points = unit
            else:
                points = unit + jax.vmap(prior)(jax.random.split(first, n))  #!
            return points, key
        """,
    "grids in brackets": """
        @jax.jit
        def solve(x, ts, p):
            return x + ts.sum() + p

        def run(x, p, n):
            ts = jnp.r_[: n * 3]
            return solve(x, ts, p) + np.c_[x, p].sum()
        """,
    "a call that only compiles": """
        def plan(model, mean, key):
            key, sub = jax.random.split(key)
            return model(mean + jax.random.normal(sub, mean.shape)) + jax.random.normal(key)

        def train(model, key, mean, n):
            step = jax.jit(lambda mean, key: plan(model, mean, key))
            step(mean, key)
            for _ in range(n):
                key, now = jax.random.split(key)
                mean = step(mean, now)
            return mean

        def wrong(model, key, mean, n):
            step = jax.jit(lambda mean, key: plan(model, mean, key))
            mean = step(mean, key)
            for _ in range(n):
                key, now = jax.random.split(key)  #!
                mean = step(mean, now)
            return mean
        """,
    "registers of one computation": """
        class Filter:
            def __init__(self):
                self.state = jnp.zeros(())

            def feed(self, xs):
                self.last, self.path = jax.lax.scan(lambda c, x: (c + x, c * x), 0.0, xs)
                return self

            def surprise(self):
                return self.path.sum() + self.last

            def step(self, x):
                self.state = self.state + x  #!
                return self.state * 2

        def run(xs):
            one = Filter()
            return jax.jit(lambda xs: one.feed(xs).surprise())(xs), jax.jit(one.step)(xs[0])
        """,
    "registers that are read afterwards": """
        class Filter:
            def feed(self, xs):
                self.last = xs.sum()  #!
                return self.last * 2

        def run(xs):
            one = Filter()
            return jax.jit(one.feed)(xs), one.last
        """,
    "functions that are given nothing but stars": """
        def all_of_them(xs, key):
            return (jnp.sum(*xs), np.sum(*xs), np.linalg.norm(*xs), jnp.var(*xs), np.concatenate(*xs), jnp.einsum(*xs),
                    jnp.take(*xs), np.cumsum(*xs), jnp.dot(*xs), jnp.where(*xs), jax.nn.softmax(*xs), jnp.stack(*xs),
                    jax.nn.one_hot(*xs), jnp.linspace(*xs), np.arange(*xs), jnp.reshape(*xs), jnp.quantile(*xs))
        """,
    "arrays that may be empty": """
        def newest(x, xs):
            x, xs = map(np.asarray, (x, xs))
            assert len(xs) == 0 or x.shape == xs[0].shape
            return xs

        def start(x):
            return newest(x, [])

        def wrong(x):
            return jnp.zeros(3)[3]  #!
        """,
    "numbers are checked, tracers are not": """
        def checked(mean):
            if isinstance(mean, (int, float)):
                if mean < 0:
                    raise ValueError("negative")
            return mean * 2

        @jax.jit
        def flux(mean):
            return checked(mean)

        @jax.jit
        def wrong(mean):
            if isinstance(mean, (int, jax.Array)):
                if jnp.sum(mean) < 0:  #!
                    raise ValueError("negative")
            return mean * 2
        """,
    "the bounds of a grid": """
        @jax.jit
        def grid(low, high, n):
            return jnp.logspace(jnp.log10(low), high, 20) + jnp.geomspace(low, high, 20) + jnp.linspace(low, high, 20)

        @jax.jit
        def wrong(low, high, n):
            return jnp.logspace(low, high, n)  #!
        """,
    "a check outside of compiled code": """
        import equinox

        def grown(n, most):
            if most is not None:
                equinox.error_if(jnp.array(n), jnp.array(n > most), "too many")
            return n
        """,
    "a rule for arguments with defaults": """
        @jax.custom_vjp
        def spike(x, alpha=80):
            return jnp.heaviside(x, 0.0)

        def fwd(x, alpha):
            return jnp.heaviside(x, 0.0), (x, alpha)

        def bwd(saved, g):
            x, alpha = saved
            return g / (alpha * jnp.abs(x) + 1.0) ** 2, None

        spike.defvjp(fwd, bwd)
        print(spike(jnp.ones(3)))
        """,
    "dtypes are no arrays": """
        def half(x):
            kind = jnp.dtype(f"uint{8 * x.dtype.itemsize}")
            return x // kind.type(2) + jnp.promote_types(x.dtype, jnp.float32).type(1)

        def wrong(x):
            return jnp.abs(x).type(jnp.int32)  #!
        """,
    "methods with keywords that arrays do not have": """
        def paths(trees, where):
            found = []

            def is_leaf(node):
                found.append(node)
                return True

            for level in where:
                trees.flatten(level, is_leaf=is_leaf)
            return found

        def wrong(x):
            jnp.abs(x).flatten(order="C")  #!
            return x
        """,
    "draws that are only plotted": """
        import matplotlib.pyplot as plt

        def predict(params, x, key):
            a, b = jax.random.split(key)
            y = x * params + jax.random.normal(a, (3,)) * jax.random.uniform(b, (3,))
            return y.mean(), y.std()

        def plots(params, x, z):
            key = jax.random.PRNGKey(0)
            fig, ax = plt.subplots(1, 1)
            mean, spread = predict(params, x, key)
            ax.fill_between(x, mean - spread, mean + spread)
            mean, spread = predict(params, z, key)
            ax.plot(z, mean)
            for one in (x, z):
                mean, spread = predict(params, one, key)
                ax.plot(one, mean + spread)
            return fig

        def wrong(params, x, z, key):
            mean, spread = predict(params, x, key)
            other, spread = predict(params, z, key)  #!
            plt.plot(mean)
            return mean + other + spread
        """,
    "losses that are only listed": """
        def loss(params, key):
            x = jax.random.normal(key, (3,))
            return (params * x).sum(), (x.sum(), [x.min()])

        def fit(params, key, n):
            trace = []
            for _ in range(n):
                key, sub = jax.random.split(key)
                params = params + jax.random.normal(sub)
                total, (first, rest) = loss(params, key)
                trace.append([float(x) for x in [total, first] + rest])
                print(f"{total:.3f}")
            return params, trace

        def wrong(params, key, n):
            for _ in range(n):
                key, sub = jax.random.split(key)
                params = params + jax.random.normal(sub)
                params = params - loss(params, key)[0]  #!
            return params
        """,
    "an order of axes that is not the one a branch asks for": """
        class Attention:
            def __init__(self, order=(0, 1, 2, 3)):
                self.order = order

            def product(self, query, key, mode):
                b, t, n, d = query.shape
                if mode == "train" or self.order == (0, 1, 2, 3):
                    return jnp.reshape(query, (b, t, n // 2, 2, d))
                if self.order == (0, 2, 1, 3):
                    query = jnp.transpose(query, axes=self.order)
                    return jnp.reshape(query, (b, n // 2, 2, t, d))
                return query

        def main(query, key, mode):
            return Attention().product(query, key, mode)

        def wrong(query):
            b, t, n, d = query.shape
            return jnp.reshape(query, (b, n // 2, 2, t, d))  #!
        """,
    "one key where there is one turn, and a list that is longer than it was": """
        def sample(key, n, size):
            def body(carry, i):
                k = key if n == 1 else jax.random.fold_in(key, i)
                return carry, jax.random.normal(k, (size,))
            return jax.lax.scan(body, None, jnp.arange(n))

        def wrong(key, n, size):
            def body(carry, i):
                return carry, i * jax.random.normal(key, (size,))  #!
            return jax.lax.scan(body, None, jnp.arange(n))

        class Cache:
            def register(self, lock):
                chain = len(self._finished)
                self._finished.append(lock)
                return self._finished[chain]

        def beyond(items):
            n = items.shape[0]
            return items[n]  #!
        """,
}


def lines(code: str, mark: str) -> set[int]:
    return {number for number, line in enumerate(code.splitlines(), 1) if line.endswith(mark)}


@pytest.mark.parametrize("title", PROGRAMS)
def test_more_unseen_code(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    found = audit([SourceFile("unseen.py", code)], Config())
    assert not found.faults
    assert {issue.line for issue in found.report.issues} == lines(code, "#!"), found.report.issues


def test_counting_traces_in_a_test_is_a_warning() -> None:
    code = """
import jax

def count(xs):
    traces = {"n": 0}
    def body(total, x):
        traces["n"] += 1
        return total + x, None
    return jax.lax.scan(body, 0.0, xs), traces["n"]
"""
    for path, issues in (("tests/test_count.py", 0), ("count.py", 1)):
        report = audit([SourceFile(path, code)], Config()).report
        assert [len(report.issues), len(report.warnings)] == [issues, 1 - issues]
