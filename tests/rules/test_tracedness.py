"""What is traced and what is not, in the shapes that real programs have: lines that end in `#!` must give an issue."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from flax import struct
from jax import lax
from typing import NamedTuple
"""

QUIET = {
    "static by number in a method": """
        class Agent:
            @partial(jax.jit, static_argnums=(0, 2))
            def act(self, x, greedy):
                if greedy:
                    return x * 2
                return x

        def main(x):
            return Agent().act(x, True)
        """,
    "bound by partial": """
        def forward(train, x):
            return x * 2 if train else x

        def main(x):
            return jax.jit(partial(forward, True))(x)
        """,
    "a default that nobody overrides": """
        @jax.jit
        def forward(x, mode="mean"):
            if mode == "mean":
                return x.mean()
            return x.sum()

        def main(x):
            return forward(x)
        """,
    "not mapped by vmap": """
        def forward(x, flag):
            return x * 2 if flag else x

        def main(x):
            return jax.vmap(forward, in_axes=(0, None))(jnp.abs(x), True)
        """,
    "without a spec for shard_map": """
        MESH = jax.make_mesh((1,), ("x",))

        @partial(jax.shard_map, mesh=MESH, in_specs=(jax.P("x"), None), out_specs=jax.P("x"))
        def forward(x, size):
            return x * 2 if size > 1 else x

        def main(x):
            return forward(x, 2)
        """,
    "grad leaves values at hand": """
        def loss(x):
            if x > 0:
                return x**2
            return x

        def main():
            return jax.grad(loss)(3.0)
        """,
    "flags that grad passes on": """
        def loss(w, x, train):
            return jnp.sum(w * x) if train else 0.0

        @jax.jit
        def step(w, x):
            return jax.grad(loss)(w, x, True)
        """,
    "config in a closure": """
        def make(config):
            config = {"layers": 3, "norm": True}

            @jax.jit
            def forward(x):
                for _ in range(config["layers"]):
                    x = x * 2
                return x / x.max() if config["norm"] else x

            return forward
        """,
    "computed at compile time": """
        @jax.jit
        def pad(x):
            with jax.ensure_compile_time_eval():
                n = int(jnp.ceil(jnp.sqrt(16.0)))
            return jnp.pad(x, (0, n))
        """,
    "tracers take another path": """
        def check(x):
            if isinstance(x, jax.core.Tracer):
                return
            if np.any(np.isnan(x)):
                raise ValueError

        @jax.jit
        def forward(x):
            y = x * 2
            check(y)
            return y
        """,
    "fields of a NamedTuple that are not traced": """
        class Config(NamedTuple):
            depth: int
            bias: bool

        @partial(jax.jit, static_argnames="config")
        def forward(x, config):
            for _ in range(config.depth):
                x = x + 1 if config.bias else x
            return x

        def main(x):
            return forward(x, config=Config(2, True))
        """,
    "containers have a length": """
        @jax.jit
        def forward(params, x):
            if params:
                for w in params:
                    x = x @ w
            if "bias" in {"bias": 1}:
                x = x + 1
            return x

        def main(x):
            return forward([x, x], x)
        """,
    "a callback runs at run time": """
        def show(x):
            if x > 0:
                print(float(x), np.sum(x))

        @jax.jit
        def forward(x):
            jax.debug.callback(show, x)
            return x
        """,
    "numpy under eager code": """
        def main(x):
            y = jnp.sin(x)
            if y.max() > 0:
                return float(y.sum()), np.asarray(y)
            return y[y > 0]
        """,
    "trace counters and static captures": """
        def run(f, x):
            shapes = None

            def body(x):
                nonlocal shapes
                y = f(x)
                shapes = y.shape
                return y

            return jax.jit(body)(x), shapes
        """,
    "state refreshed before each call": """
        class Agent:
            def __init__(self):
                self.lr = 0.1

            def fit(self, w, g):
                step = jax.jit(lambda w, g: w - self.lr * g)
                return step(w, g)

        def main(w, g):
            agent = Agent()
            w = agent.fit(w, g)
            agent.lr = 0.01
            return agent.fit(w, g)
        """,
}

LOUD = {
    "with a spec for shard_map": """
        MESH = jax.make_mesh((1,), ("x",))

        @partial(jax.shard_map, mesh=MESH, in_specs=(jax.P("x"), jax.P()), out_specs=jax.P("x"))
        def forward(x, size):
            return x * 2 if size > 1 else x  #!

        def main(x):
            return forward(x, x.sum())
        """,
    "through a helper and a container": """
        def clip(pair):
            x, limit = pair
            if x > limit:  #!
                return limit
            return x

        @jax.jit
        def forward(x):
            return clip((x * 2, 1.0))
        """,
    "in a method of an object": """
        class Model:
            def __init__(self, dim):
                self.dim = dim

            def forward(self, x):
                y = x * self.dim
                while y.sum() > 1:  #!
                    y = y / 2
                return y

        def main(x):
            model = Model(3)
            return jax.jit(model.forward)(x)
        """,
    "jit in the constructor": """
        class Model:
            def __init__(self, dim):
                self.dim = dim
                self.forward = jax.jit(self._forward)

            def _forward(self, x):
                y = x * self.dim
                return float(y.sum())  #!
        """,
    "mapped by vmap": """
        def step(x):
            y = x + 1
            return y if y > 0 else -y  #!

        def main(x):
            return jax.vmap(step)(jnp.abs(x))
        """,
    "a loop that becomes traced": """
        @jax.jit
        def solve(x):
            error = 1.0
            while error > 1e-3:  #!
                x = x / 2
                error = jnp.max(jnp.abs(x))
            return x
        """,
    "the counter of fori_loop": """
        def body(i, x):
            if i % 2 == 0:  #!
                return x * 2
            return x

        def main(x):
            return lax.fori_loop(0, 10, body, x)
        """,
    "max and chained comparisons": """
        @jax.jit
        def clip(x):
            total = x.sum()
            big = max(total, 0.0)  #!
            return big if 0 < total < 1 else total  #!
        """,
    "item and numpy inside scan": """
        def body(carry, x):
            y = np.exp(x * 2)  #!
            return carry + y.sum(), carry

        def main(xs):
            return lax.scan(body, jnp.zeros(()), jnp.abs(xs))
        """,
    "an attribute keeps a tracer": """
        class Model:
            def __init__(self):
                self.last = None

            def forward(self, x):
                y = x * 2
                self.last = y  #!
                return y

        def main(x):
            model = Model()
            out = jax.jit(model.forward)(x)
            return out, model.last
        """,
    "a list inside a scan body": """
        def main(xs):
            history = []

            def body(carry, x):
                carry = carry + x
                history.append(carry)  #!
                return carry, None

            return lax.scan(body, jnp.zeros(()), xs), history
        """,
    "an attribute that changes between calls": """
        class Agent:
            def __init__(self):
                self.lr = 0.1
                self.step = jax.jit(self._step)

            def _step(self, w, g):
                return w - self.lr * g  #!

        def main(w, g):
            agent = Agent()
            for _ in range(100):
                w = agent.step(w, g)
                agent.lr = agent.lr * 0.9
            return w
        """,
    "a static method argument that cannot be hashed": """
        class Net:
            @partial(jax.jit, static_argnums=(0, 2))
            def forward(self, x, sizes):
                return x

        def main(x):
            return Net().forward(x, [1, 2])  #!
        """,
    "boolean masks made of masks": """
        @jax.jit
        def pick(x, y):
            keep = (x > 0) & (y < 1)
            return x[keep].sum(), jnp.unique(y)  #!
        """,
    "sizes from values": """
        @jax.jit
        def grow(x):
            n = jnp.argmax(x)
            return jnp.zeros((n, 2)), x[: n + 1]  #!
        """,
    "fields of a struct dataclass": """
        @struct.dataclass
        class State:
            x: jax.Array
            t: int
            limit: int = struct.field(pytree_node=False)

        def step(state, action):
            if state.limit > 3:
                state = state.replace(x=state.x + action)
            if state.t >= state.limit:  #!
                state = state.replace(t=0)
            return state.replace(t=state.t + 1), state.x

        def main(actions):
            return lax.scan(step, State(jnp.zeros(()), 0, 10), actions)
        """,
    "an attribute of a namespace": """
        import types

        def main(w, g):
            cfg = types.SimpleNamespace(lr=0.1)

            @jax.jit
            def step(w, g):
                return w - cfg.lr * g  #!

            for _ in range(100):
                w = step(w, g)
                cfg.lr = cfg.lr * 0.9
            return w
        """,
    "an attribute behind a static self": """
        class Agent:
            def __init__(self):
                self.lr = 0.1

            @partial(jax.jit, static_argnums=0)
            def step(self, w, g):
                return w - self.lr * g  #!

        def main(w, g):
            agent = Agent()
            for _ in range(100):
                w = agent.step(w, g)
                agent.lr *= 0.9
            return w
        """,
    "a module-level dict": """
        CONFIG = {"lr": 0.1}

        @jax.jit
        def step(w, g):
            return w - CONFIG["lr"] * g  #!

        def main(w, g):
            for _ in range(100):
                w = step(w, g)
                CONFIG["lr"] *= 0.9
            return w
        """,
    "a variable that another function changes": """
        def main(w, g):
            lr = 0.1

            def decay():
                nonlocal lr
                lr = lr * 0.9

            @jax.jit
            def step(w, g):
                return w - lr * g  #!

            for _ in range(100):
                w = step(w, g)
                decay()
            return w
        """,
    "text inside a dict of settings": """
        @jax.jit
        def loss(x, settings):
            return x.sum() * settings["scale"]

        def main(x):
            return loss(x, {"scale": 2.0, "kind": "mse"})  #!
        """,
    "old ways of formatting": """
        @jax.jit
        def step(x):
            loss = jnp.mean(x**2)
            print("loss %.3f" % loss)  #!
            print("loss {:.3f}".format(loss))  #!
            return loss
        """,
    "a static argument that decays": """
        @partial(jax.jit, static_argnames="lr")
        def step(w, lr):
            return w - lr

        def main(w):
            lr = 0.1
            for _ in range(1000):
                w = step(w, lr)  #!
                lr = lr * 0.99
            return w
        """,
    "as many rows as there are": """
        @jax.jit
        def total(x):
            return x.sum()

        def main(batches):
            for batch in batches:
                keep = np.asarray(batch) > 0
                n = int(keep.sum())
                print(total(jnp.zeros(n)))  #!
        """,
    "documents of random length": """
        @jax.jit
        def total(x):
            return x.sum()

        def main():
            rng = np.random.default_rng(0)
            docs = [rng.integers(0, 9, size=rng.integers(5, 40)) for _ in range(100)]
            for doc in docs:
                print(total(jnp.asarray(doc)))  #!
        """,
    "a new partial in every turn": """
        def loss(scale, x):
            return x.sum() * scale

        def main(x):
            for i in range(100):
                x = x - jax.jit(partial(loss, 2.0))(x)  #!
            return x
        """,
    "made anew by the function that the loop calls": """
        def update(x):
            @jax.jit
            def step(x):
                return x * 2

            return step(x)  #!

        def main(x):
            for _ in range(100):
                x = update(x)
            return x
        """,
    "counting in a dict": """
        def main(xs):
            stats = {"steps": 0}

            def body(carry, x):
                stats["steps"] += 1  #!
                return carry + x, None

            return lax.scan(body, jnp.zeros(()), xs), stats
        """,
    "a cache of its own": """
        _TABLES = {}

        def table(n):
            if n not in _TABLES:
                _TABLES[n] = jnp.arange(n) / n  #!
            return _TABLES[n]

        @jax.jit
        def forward(x):
            return x * table(x.shape[0])
        """,
    "rows of a list by a traced number": """
        @jax.jit
        def pick(x, i):
            tables = [x, x * 2]
            return tables[i + 1]  #!

        def main(x):
            return pick(x, 0)
        """,
}


def lines(code: str) -> list[int]:
    report = audit([SourceFile("program.py", PREFIX + textwrap.dedent(code))], Config(select=("jit", "scan"))).report
    return sorted({one.line for one in report.issues})


@pytest.mark.parametrize("code", QUIET.values(), ids=QUIET)
def test_what_python_knows_is_no_issue(code: str) -> None:
    assert lines(code) == []


@pytest.mark.parametrize("code", LOUD.values(), ids=LOUD)
def test_what_is_traced_is_found_on_the_marked_lines(code: str) -> None:
    text = PREFIX + textwrap.dedent(code)
    assert lines(code) == [at for at, line in enumerate(text.split("\n"), 1) if line.endswith("#!")]
