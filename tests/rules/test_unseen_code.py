"""Code of packages that nobody had looked at; lines that end in `#!` give an error, no others do."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import functools
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
"""

PROGRAMS = {
    "lists of what zip gives, and of rows": """
        def intervals(low, high, error):
            left = jnp.quantile(low, q=error, axis=0)
            right = jnp.quantile(high, q=1 - error, axis=0)
            return jnp.array(list(zip(left, right)))

        def grid(low, high, count, last):
            return list(jnp.linspace(low, high, count)) + [jnp.array(last)]

        def lazy(low, high):
            return jnp.array(zip(low, high))  #!
        """,
    "a helper that splits a key if there is one": """
        def take(rng):
            if rng is None:
                key = None
            else:
                key, rng = jax.random.split(rng)
            return key, rng

        def model(rng, x):
            key, rng = take(rng)
            x = x + jax.random.normal(key, x.shape)
            key, rng = take(rng)
            return x * jax.random.uniform(key, x.shape)

        def forgetful(rng, x):
            key, _ = take(rng)
            x = x + jax.random.normal(key, x.shape)
            key, _ = take(rng)  #!
            return x * jax.random.uniform(key, x.shape)
        """,
    "a key that may be None stays one key": """
        def noisy(rng, x):
            if rng is not None:
                x = x + jax.random.normal(rng, x.shape)
            return x * jax.random.uniform(rng, x.shape)  #!
        """,
    "entries with names": """
        def finish(metrics, x):
            metrics = jax.jit(lambda x: x * 2)(x)
            metrics["rate"] = 1.0
            metrics[0] = 1.0  #!
            return metrics
        """,
    "a list of ones that is written to": """
        def shifted(ids):
            shape = [1] * ids.ndim
            shape[0] = ids.shape[0]
            left = jnp.full(shape, -1, dtype=ids.dtype)
            return jnp.concatenate([left, ids[:, :-1]], axis=1)

        print(shifted(jnp.ones((3, 20), dtype=jnp.int32)))
        """,
    "an entry that is deleted": """
        def restored(tree, valid):
            if "backup" in tree:
                backups = tree["backup"]
                del tree["backup"]
                tree = jax.tree.map(lambda x, y: jnp.where(valid, x, y), tree, backups)
            return tree

        def mixed(tree, valid):
            backups = tree["backup"]
            return jax.tree.map(lambda x, y: jnp.where(valid, x, y), tree, backups)  #!
        """,
    "a shift by two reshapes": """
        def shift(x, k):
            b, n = x.shape[0], x.shape[1]
            q, m = x.shape[2], (x.shape[3] + 1) // 2
            x = jnp.concatenate([jnp.zeros((b, n, q, k)), x], axis=3)
            x = x.reshape(b, n, 2 * m - 1 + k, q)
            x = x[:, :, k:, :]
            return x.reshape(b, n, q, m * 2 - 1)
        """,
    "ranks of the way that is taken": """
        def attend(one_step, probs, values):
            def after(p, v):
                if one_step:
                    return jnp.einsum("BNS,BSNH->BNH", p, v)
                return jnp.einsum("BNTS,BSNH->BTNH", p, v)
            return after(probs, values)
        """,
    "keys split alike, with the step folded in": """
        def decode(key, n, x):
            def body(i, x):
                keys = jax.vmap(lambda k: jax.random.split(k, n))(key)
                keys = jnp.reshape(keys, (-1, *key.shape[1:]))
                keys = jax.vmap(lambda k: jax.random.fold_in(k, i))(keys)
                return x + jax.vmap(lambda k: jax.random.normal(k))(keys)
            return jax.lax.fori_loop(0, 10, body, x)

        def repeated(key, x):
            def body(i, x):
                first, second = jax.random.split(key)  #!
                return x + jax.random.normal(first) + jax.random.uniform(second)  #!
            return jax.lax.fori_loop(0, 10, body, x)
        """,
    "a condition keeps one of two draws": """
        def pick(rng, near, far):
            here = near.any()
            one = jax.random.choice(rng, jnp.arange(9), (), p=near)
            return jax.lax.select(here, one, jax.random.choice(rng, jnp.arange(9), (), p=far))

        def retry(rng, x):
            one = jax.random.normal(rng, x.shape)
            return jnp.where(one > 0, one, jax.random.normal(rng, x.shape))  #!
        """,
    "pixels and depths cropped alike": """
        def crop(key, image):
            at = jax.random.randint(key, (2,), 0, 9)
            return jax.lax.dynamic_slice(image, at, (8, 8))

        def crops(key, images):
            return jax.vmap(crop)(jax.random.split(key, images.shape[0]), images)

        def augment(key, pixels, depths):
            return crops(key, pixels), crops(key, depths)
        """,
    "keys that are replaced before anybody reads them": """
        def main(key, n, steps):
            keys = jax.random.split(key, n)
            out = []
            for _ in range(steps):
                key, *keys = jax.random.split(key, n + 1)
                out.append(jax.vmap(lambda k: jax.random.normal(k))(jnp.stack(keys)))
            return out

        def used(key, n, steps):
            keys = jax.random.split(key, n)
            out = [jax.random.normal(keys[1])]
            key, *keys = jax.random.split(key, n + 1)  #!
            return out, jax.random.normal(keys[0])
        """,
    "predictions for one batch after the other": """
        def predict(loader, n, rng):
            def one(x):
                keys = jax.random.split(rng, n)
                return jax.vmap(lambda k: x + jax.random.normal(k, x.shape))(keys)
            one = jax.jit(one)
            return jnp.concatenate([one(x) for x in loader], 0)

        def train(loader, w, rng):
            @jax.jit
            def step(w, x):
                return w + (x * jax.random.normal(rng, x.shape)).sum()
            for x in loader:
                w = step(w, x)  #!
            return w
        """,
    "an object that hands out keys": """
        class Keys:
            def __init__(self, key):
                self.key = key

            def take(self):
                self.key, one = jax.random.split(self.key)
                return one

        def renewed(params, seed):
            keys = Keys(jax.random.PRNGKey(seed))
            return jax.tree.map(lambda p: jax.random.normal(keys.take(), p.shape), params)
        """,
    "an example for the shapes of a network": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(3)(x)

        def example(rng):
            return jax.random.normal(rng, (4,))

        def create(rng, n):
            shown = jax.tree.map(lambda x: x[None].repeat(n, axis=0), example(rng))
            return Net().init(rng, shown)

        def trained(rng, n):
            data = example(rng)
            params = Net().init(rng, data)
            return Net().apply(params, data)
        """,
    "an attribute of an attribute is renewed": """
        class Runner:
            def __init__(self, agent):
                self.agent = agent

            def start(self, envs):
                out = []
                for env in envs:
                    self.agent.rng, key = jax.random.split(self.agent.rng)
                    out.append(env.reset() + jax.random.randint(key, (), 0, 3))
                return out

            def repeat(self, envs, key):
                out = []
                for env in envs:
                    self.agent.rng, _ = jax.random.split(self.agent.rng)
                    out.append(env.reset() + jax.random.randint(key, (), 0, 3))  #!
                return out
        """,
    "a network and its average on one mask": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dropout(0.1, deterministic=False)(nn.Dense(3)(x))

        def loss(params, average, key, x):
            one = Net().apply(params, x, rngs={"dropout": key})
            other = Net().apply(average, x, rngs={"dropout": key})
            return ((one - other) ** 2).mean()
        """,
    "all trees of a list": """
        def stacked(trees):
            return jax.tree.map(lambda *xs: jnp.stack(xs), *trees)

        def wrong(trees):
            return jax.tree.map(lambda *xs: jnp.stack(xs), trees)  #!

        print(stacked([{"a": jnp.ones(3)}]), wrong([{"a": jnp.ones(3)}]))
        """,
    "a loop without a turn": """
        def children(parents):
            count = np.zeros((len(parents),), int)
            order = [-1]
            for b in range(1, len(parents)):
                order.append(count[parents[b]])
            return order

        print(children(jnp.array([-1])))
        """,
    "a split folded inside a helper": """
        def decode(key, n, x):
            def inner(i, x):
                keys = jax.vmap(lambda k: jax.random.split(k, n))(key)
                keys = jax.vmap(lambda k: jax.random.fold_in(k, i))(keys)
                return x + jax.vmap(lambda k: jax.random.normal(k))(keys)
            def body(x, i):
                return inner(i, x), {}
            return jax.lax.scan(body, x, jnp.arange(10))
        """,
    "versions are compared as tuples": """
        def version(text):
            parts = tuple(int(part) for part in text.split("."))[:3]
            while len(parts) < 3:
                parts = parts + (0,)
            return parts

        @jax.jit
        def cast(x):
            if version(jax.__version__) < (0, 8, 2):
                return x * 2
            return x
        """,
    "arrays of NumPy are joined by NumPy": """
        @jax.jit
        def joined(parts):
            if isinstance(parts[0], np.ndarray):
                return np.concatenate(parts)
            return jnp.concatenate(parts)

        @jax.jit
        def wrong(parts):
            return np.concatenate(parts)  #!

        print(joined([jnp.ones(3), jnp.ones(2)]), wrong([jnp.ones(3) * 2, jnp.ones(2)]))
        """,
    "what a helper says of all items": """
        def is_pairs(value):
            return isinstance(value, (list, tuple)) and all(isinstance(one, tuple) for one in value)

        def visit(key, value):
            if is_pairs(value):
                for one in value:
                    visit(f"{key}[{one[0]}]", one[1])
            else:
                print(key, value)

        visit("a", jnp.arange(3))
        """,
    "a function that supplies keys": """
        def supply(f, rng):
            def wrapped(*args):
                nonlocal rng
                rng, key = jax.random.split(rng)
                return f(*args, key)
            return wrapped

        def evaluate(env, act, rng):
            act = supply(act, rng)
            seen, done = env.reset(), False
            while not done:
                seen, done = env.step(act(seen))
            return seen

        print(evaluate(None, lambda x, key: x + jax.random.normal(key), jax.random.PRNGKey(0)))
        """,
    "numbers from a seed that is written down": """
        @jax.jit
        def start(x):
            return x + np.random.RandomState(1729).uniform(-1.0, 1.0, 3) + np.random.default_rng(0).normal(size=3)

        @jax.jit
        def wrong(x):
            return x + np.random.uniform(-1.0, 1.0, 3)  #!
        """,
    "bits that are cleared": """
        def fixed(chance, never=False):
            free = never is None
            kept = (chance > 0.5) & ~free
            return kept, jnp.where(~free, chance, 0.0)  #!
        """,
    "infinities that a helper takes away": """
        def weights(helper, values):
            return (helper.xnp.nan_to_num(1 / (values[:, None] - values[None, :])) * values).sum()

        def spread(values):
            return (1 / (values[:, None] - values[None, :])).sum()  #!
        """,
    "a split whose result is dropped": """
        def noise(rng, x):
            y = x + jax.random.uniform(rng, (3,))
            jax.random.split(rng, 3)  #!
            return y
        """,
    "functions that are tests": """
        def test_mutations(step, jump):
            rng = jax.random.PRNGKey(0)
            return jax.random.normal(rng, (3,)) + jax.random.uniform(rng, (3,))

        def mutations(step, jump):
            rng = jax.random.PRNGKey(0)
            return jax.random.normal(rng, (3,)) + jax.random.uniform(rng, (3,))  #!
        """,
    "parameters that an interface asks for": """
        def grow(x, scale, chance, limit):
            return x * 2

        def shrink(x, scale, chance, limit):
            return x / 2

        def keep(x, scale, chance, limit):
            return x

        def run(x, scale, chance):
            scale, chance = jnp.exp(scale), jnp.exp(chance)
            return grow(x, scale, chance, chance) + shrink(x, scale, chance, chance) + keep(x, scale, chance, chance)
        """,
}


def lines(code: str, mark: str) -> set[int]:
    return {number for number, line in enumerate(code.splitlines(), 1) if line.endswith(mark)}


@pytest.mark.parametrize("title", PROGRAMS)
def test_unseen_code(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    found = audit([SourceFile("unseen.py", code)], Config())
    assert not found.faults
    assert {issue.line for issue in found.report.issues} == lines(code, "#!"), found.report.issues
