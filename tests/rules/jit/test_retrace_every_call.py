"""What `retrace-every-call` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "padded to the longest of each batch": """
        class Data:
            def __init__(self, docs):
                self.docs = docs

            def batches(self):
                for start in range(0, len(self.docs), 4):
                    docs = self.docs[start : start + 4]
                    width = max(len(one) for one in docs)
                    yield jnp.asarray(np.zeros((4, width), np.int32))

        @jax.jit
        def total(x):
            return x.sum()

        def main(docs):
            for tokens in Data(docs).batches():
                total(tokens)  #! retrace-every-call
        """,
    "an object for every turn": """
        class Env:
            def __init__(self, scale):
                self.scale = scale

            @partial(jax.jit, static_argnums=0)
            def step(self, x):
                return x * self.scale

        def run(xs):
            return [Env(2.0).step(x) for x in xs]
        """,
    "a model of its own in every turn": """
        def make_init(model):
            @jax.jit
            def init(key):
                return model.init(key, jnp.zeros((1, 8)))
            return init

        def main(models, keys):
            return {name: make_init(models[name])(key) for name, key in zip(models, keys)}
        """,
    "a function without a model in every turn": """
        def make_double():
            @jax.jit
            def double(x):
                return x * 2
            return double

        def main(xs):
            return [make_double()(x) for x in xs]  #! retrace-every-call
        """,
    "slices of something unknown that grow": """
        @jax.jit
        def total(x):
            return x.sum()
        def prefix(xs):
            out = []
            for t in range(1, 200):
                out.append(total(xs[:t]))  #! retrace-every-call
            return out
        """,
    "batches as wide as their longest row, inside a gradient": """
        @jax.jit
        def loss(p, x):
            return (p * x).sum()
        def run(p, data):
            for docs in data:
                n = max(map(len, docs))
                x = np.zeros((len(docs), n))
                for i, d in enumerate(docs):
                    x[i, : len(d)] = d
                p = p - jax.grad(loss)(p, x)  #! retrace-every-call
            return p
        """,
    "structure that passes through a loop": """
        @struct.dataclass
        class Env:
            x: jax.Array
            n: int = struct.field(pytree_node=False)
        @jax.jit
        def step(e):
            return e.replace(x=e.x * e.n)
        def main(x):
            e = Env(x, 2)
            for i in range(100):
                e = step(e)
            f = step(e.replace(n=3))
            return e, f
        """,
    "a static argument that decays": """
        @partial(jax.jit, static_argnames="lr")
        def step(w, lr):
            return w - lr

        def main(w):
            lr = 0.1
            for _ in range(1000):
                w = step(w, lr)  #! retrace-every-call
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
                print(total(jnp.zeros(n)))  #! retrace-every-call
        """,
    "documents of random length": """
        @jax.jit
        def total(x):
            return x.sum()

        def main():
            rng = np.random.default_rng(0)
            docs = [rng.integers(0, 9, size=rng.integers(5, 40)) for _ in range(100)]
            for doc in docs:
                print(total(jnp.asarray(doc)))  #! retrace-every-call
        """,
    "a size that two loops hand on as it is": """
        import numpy as np

        class Env:
            def __init__(self, count):
                self.count, self.pos = count, np.zeros(count)

            def observe(self):
                return np.zeros((self.count, 2))

            def step(self, action):
                self.pos = self.pos + action
                return self.observe()

        @jax.jit
        def act(obs):
            return obs.sum(-1)

        def main():
            env = Env(6)
            obs = env.observe()
            for epoch in range(10):
                for t in range(20):
                    obs = env.step(np.asarray(act(obs)))
        """,
    "a new partial in every turn": """
        def loss(scale, x):
            return x.sum() * scale

        def main(x):
            for i in range(100):
                x = x - jax.jit(partial(loss, 2.0))(x)  #! retrace-every-call
            return x
        """,
    "made anew by the function that the loop calls": """
        def update(x):
            @jax.jit
            def step(x):
                return x * 2

            return step(x)  #! retrace-every-call

        def main(x):
            for _ in range(100):
                x = update(x)
            return x
        """,
    "mappings, tuples and records that get an entry in every turn": """
        import dataclasses

        @dataclasses.dataclass
        class Archive:
            elites: dict = dataclasses.field(default_factory=dict)

            def insert(self, x, score):
                if score > 0.5:
                    self.elites[f"{int(x[0])}_{int(x[1])}"] = x

        @jax.jit
        def novelty(x, known):
            return sum(jnp.vdot(x, one) for one in jax.tree.leaves(known))

        def by_number(xs):
            bank = {}
            for i, x in enumerate(xs):
                bank[i] = x * novelty(x, bank)  #! retrace-every-call

        def by_spreading(xs):
            bank = {}
            for i, x in enumerate(xs):
                novelty(x, bank)  #! retrace-every-call
                bank = {**bank, f"n{i}": x}

        def by_adding(xs):
            bank = ()
            for x in xs:
                novelty(x, bank)  #! retrace-every-call
                bank = bank + (x,)

        def by_data(xs):
            archive = Archive()
            for x in xs:
                score = novelty(x, archive.elites)  #! retrace-every-call
                archive.insert(x, float(score))

        def main():
            xs = jnp.ones((100, 3))
            by_number(xs), by_spreading(xs), by_adding(xs), by_data(xs)
        """,
    "containers that keep their keys and lengths": """
        @jax.jit
        def fit(x, known):
            return sum(jnp.sum(one) for one in jax.tree.leaves(known)) + x.sum()

        def bounded(xs):
            recent = []
            for x in xs:
                if len(recent) < 5:
                    recent.append(x)
                fit(x, recent)

        def rolling(xs):
            recent = [xs[0]] * 5
            for x in xs:
                recent = recent[1:] + [x]
                fit(x, recent)

        def logged(xs):
            log, state = {}, {"a": xs[0]}
            for i, x in enumerate(xs):
                state = {**state, "a": x}
                log[f"step{i}"] = float(fit(x, state))
            return log

        def named(xs, layers):
            params = {name: jnp.zeros(3) for name in layers}
            for x in xs:
                for name in layers:
                    params[name] = params[name] - x
                fit(x, params)

        def main():
            xs = jnp.ones((100, 3))
            return bounded(xs), rolling(xs), logged(xs), named(xs, ["a", "b"])
        """,
    "as many elements as data say": """
        @jax.jit
        def step(x, idx):
            return x.at[idx].add(1.0)

        @jax.jit
        def loss(w, x):
            return jnp.mean((x @ w) ** 2)

        def evolve(x, n):
            for _ in range(n):
                hot = jnp.nonzero(x > 1.0)[0]
                x = step(x, hot)  #! retrace-every-call
            return x

        def places(x, n):
            for _ in range(n):
                x = step(x, np.where(np.asarray(x) > 1.0)[0])  #! retrace-every-call
            return x

        def dropped(w, data, n):
            rng = np.random.default_rng(0)
            for _ in range(n):
                keep = rng.random(100) < 0.5
                print(loss(w, data[keep]))  #! retrace-every-call
            return w

        def tokens(x, batches):
            for batch in batches:
                ids = jnp.asarray(np.unique(np.asarray(batch)).astype(np.int32))
                x = step(x, ids)  #! retrace-every-call
            return x

        def folds(w):
            data, fold = np.ones((100, 3)), np.arange(100) % 10
            return [loss(w, data[fold != k]) for k in range(10)]  #? retrace-every-call
        """,
    "a size that is fixed again": """
        @jax.jit
        def step(x, idx):
            return x + idx.sum()

        def filled(x, n):
            for _ in range(n):
                hot = np.flatnonzero(np.asarray(x) > 1.0)
                full = np.full(64, 63)
                full[: len(hot)] = hot
                x = step(x, full)
            return x

        def given(x, n):
            for _ in range(n):
                x = step(x, jnp.nonzero(x > 1.0, size=16, fill_value=0)[0])
            return x

        def before(x, mask, n):
            rows = np.flatnonzero(mask)
            for _ in range(n):
                x = step(x, rows)
            return x

        def padded(x, n):
            for _ in range(n):
                hot = np.flatnonzero(np.asarray(x) > 1.0)
                x = step(x, np.pad(hot, (0, 64 - len(hot))))
                x = step(x, np.concatenate([hot, np.zeros(64 - hot.shape[0], int)]))
                x = step(x, hot[:4])
                x = step(x, np.bincount(hot, minlength=64))
            return x

        def reduced(x, n):
            for _ in range(n):
                rows = np.asarray(x)[np.asarray(x)[:, 0] > 1.0]
                x = step(x, np.mean(rows, axis=0))
                x = step(x, rows.mean(axis=0))
                x = step(x, rows.T @ rows)
                x = step(x, rows[0])
                x = step(x, np.isin(np.arange(10), rows))
            return x
        """,
    "a property that is computed once": """
        from functools import cached_property

        class Codec:
            def __init__(self, params):
                self.params = params

            def wrapped(self, f):
                return jax.jit(f)

            @cached_property
            def encoder(self):
                def encode(x, params):
                    return x * params

                return partial(self.wrapped(encode), params=self.params)

            @property
            def decoder(self):
                def decode(x, params):
                    return x / params

                return partial(self.wrapped(decode), params=self.params)

        def encode(params, xs):
            codec = Codec(params)
            return [codec.encoder(x) for x in xs]

        def decode(params, xs):
            codec = Codec(params)
            return [codec.decoder(x) for x in xs]  #! retrace-every-call
        """,
    "an axis with a name of its own in every turn": """
        def most(values, name):
            mapped = partial(jax.pmap, axis_name=name)

            @mapped
            def largest(value):
                return lax.pmax(value, name)

            return largest(values)

        def run(values, kinds, name):
            found = {}
            for kind in kinds:
                found[kind] = most(values, f"axis {kind}")
                found[kind] += jax.pmap(lambda value: value * 2, axis_name=f"to {kind}")(values)
                found[kind] += jax.pmap(lambda value: value * 3, axis_name=f"to {name}")(values)  #! retrace-every-call
            return found
        """,
    "a size that only changes where something is raised": """
        @jax.jit
        def smooth(rows):
            return rows - rows.mean()

        def run(data, size):
            at, total, size = 0, 0.0, int(size)
            while at < len(data):
                here = min(size, len(data) - at)
                try:
                    rows = jnp.zeros((size * 2, 3)).at[:here].set(data[at : at + here])
                    total, at = total + smooth(rows).sum(), at + here
                except RuntimeError:
                    size = max(1, size // 2)
            return total

        def halved(data, size):
            total, size = 0.0, int(size)
            while size > 1:
                total = total + smooth(data[:size]).sum()  #! retrace-every-call
                size = size // 2
            return total
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
