"""More code as public projects write it; lines that end in `#!` give an error, no others do."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import abc
import functools
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.train_state import TrainState
from functools import partial
"""

PROGRAMS = {
    "a tuple of unknown length is static": """
        @partial(jax.jit, static_argnums=0)
        def scale(degrees, x):
            return x * len(degrees)

        def main(parts, x):
            return scale(tuple(part.l for part in parts), x), scale([part.l for part in parts], x)  #!
        """,
    "abstract properties that subclasses fill": """
        class Loss(abc.ABC):
            @property
            @abc.abstractmethod
            def arrays(self) -> tuple[jax.Array, ...]:
                "What it depends on."

            @property
            def count(self) -> int:
                return len(self.arrays)

            def rest(self):
                return self.flat()[self.count:]

            def flat(self):
                return self.arrays + self.constants()

            def constants(self):
                raise NotImplementedError
        """,
    "features and labels shuffled alike": """
        def shuffled(key, arrays, tree):
            arrays = [jax.random.permutation(key, one) for one in arrays]
            return arrays

        def picked(key, tree, p):
            return jax.tree.map(lambda leaf: jax.random.choice(key, leaf, shape=(1,), p=p), tree)

        def noisy(key, arrays):
            return [jax.random.normal(key, one.shape) for one in arrays]  #!
        """,
    "one crop for all cameras": """
        def crop(key, image):
            corner = jax.random.randint(key, (3,), 0, 4)
            return jax.lax.dynamic_slice(image, corner, (8, 8, 3))

        def cropped(key, views):
            out = {}
            for name, image in views.items():
                out[name] = crop(key, image)
            return out
        """,
    "a floor at zero under a root, in one arm of a choice": """
        def damped(q, t):
            def over(t):
                f = jnp.sqrt(jnp.maximum(1 - 4 * jnp.square(q), 0))
                return jnp.sinh(f * t) / f
            return jax.lax.cond(q > 0.5, jnp.sin, over, t)

        def kernel(x):
            return jnp.where(x > 0.0, jnp.exp(-1.0 / jnp.where(x > 0.0, x, 1.0)), 0.0)

        def scaled(x, factor):
            return kernel(x) / kernel(factor)

        def certain(x):
            return 1.0 / jax.nn.relu(x)  #!
        """,
    "a list that grows in a loop": """
        @jax.jit
        def joined(x, parts):
            found = []
            for part in parts:
                if part.extra is not None:
                    found += [jnp.reshape(part.extra, (-1,))]
            return jnp.concatenate(found) if found else x
        """,
    "a NumPy scalar is static": """
        @partial(jax.jit, static_argnums=1)
        def scaled(x, n):
            return x * n

        def main(x, size):
            return scaled(x, np.ceil(size)), scaled(x, np.zeros(3))  #!
        """,
    "a division that the caller masks": """
        def safe_mask(mask, function, operand):
            return jnp.where(mask, function(jnp.where(mask, operand, 0.0)), 0.0)

        def lengths(x):
            squares = jnp.sum(x * x, axis=-1)
            return safe_mask(squares > 0.0, jnp.sqrt, squares)

        def unit(x):
            d = lengths(x)
            return safe_mask(d > 0.0, lambda y: y / d, x)
        """,
    "a property made without a decorator, and a question it answers": """
        class Named:
            def __init__(self, array):
                self.array = array

            ndim = property(lambda self: self.array.ndim)
            kind = functools.singledispatchmethod(lambda self: self.array.kind)

        def flat(one):
            if one.ndim > 0:
                return one.array
            return one.array.reshape((1,))

        def asked(one):
            if one.kind > 0:
                return one.array
            return one.array.reshape((1,))

        def main():
            one = Named(jnp.ones((2,)))
            return flat(one), asked(one), one.array.reshape((1,))  #!
        """,
    "a partial class that is lifted": """
        class Inner(nn.Module):
            width: int = 8

            @nn.compact
            def __call__(self, x):
                return x.transpose(1, 0, 2)

        class Outer(nn.Module):
            def setup(self):
                self.lifted = nn.vmap(
                    partial(Inner, width=4), variable_axes={"params": None}, split_rngs={"params": False}, in_axes=0
                )

            def __call__(self, x):
                return self.lifted()(x)

        def main(key):
            x = jnp.ones((2, 3, 4, 5))
            return Outer().init(key, x)
        """,
    "counts in small integers, of which only the type is known": """
        def moved(matrix, moves):
            hits = jnp.sum(matrix, axis=-1, dtype=jnp.int8) - 1
            return jnp.maximum(jnp.minimum(hits, 1) - ~moves.any(axis=-1), 0)
        """,
    "what a `try` leaves to arrays that have values": """
        def scattered(index, weights):
            try:
                places = np.asarray(index)
            except (TypeError, ValueError):
                return weights
            valid = places >= 0
            size = int(np.max(places[valid])) if np.any(valid) else -1
            return jnp.zeros(size) + np.asarray(weights)

        @jax.jit
        def main(x):
            return scattered(x * 2, x + 1)

        @jax.jit
        def bare(x):
            return np.asarray(x + 1)  #!
        """,
    "a copy of a dict that is traced": """
        @jax.jit
        def extended(collections, parameters):
            collections = collections.copy()
            collections["parameters"] = parameters
            return collections

        def main(x):
            return extended({"a": x}, x)
        """,
    "a state from outside whose key is replaced before a loop": """
        class State(TrainState):
            rng: jax.Array
            steps: jax.Array

        def collect(state: State):
            def step(rng, _):
                rng, key = jax.random.split(rng)
                return rng, jax.random.normal(key)
            rng, noise = jax.lax.scan(step, state.rng, None, 5)
            return state.replace(rng=rng).replace(steps=state.steps + 5), noise

        def update(state: State):
            state, noise = collect(state)
            for _ in range(3):
                rng, key = jax.random.split(state.rng)
                state = state.replace(rng=rng)
                noise = noise + jax.random.normal(key)
            return state, noise

        def stale(state: State):
            _, noise = collect(state)
            return noise + jax.random.normal(state.rng)  #!
        """,
    "a dict that each instance makes for itself": """
        from flax import struct

        class Step(struct.PyTreeNode):
            t: jax.Array
            info: dict = struct.field(default_factory=dict)

        def advanced(step, amount):
            new = Step(t=step.t + amount)
            new.info["return"] = step.t + amount
            return new

        def main(t, amount):
            step = Step(t=t)
            step.info["return"] = t
            return jax.lax.cond(amount > 0, lambda s: s, lambda s: advanced(s, amount), step)
        """,
    "flattening a tree to see how long it takes": """
        import time

        def timed(state):
            start = time.time()
            jax.tree.flatten(state)
            return time.time() - start
        """,
    "an object that the body of a scan gives another field": """
        class Learner:
            def __init__(self, x):
                self.x = x

            def run(self, xs):
                def body(carry, x):
                    self.last = x
                    return carry, x
                return jax.lax.scan(body, self, xs)[1]
        """,
    "the entropy of logits with the logarithm of their sum, and without": """
        def entropy(logits):
            probs = jax.nn.softmax(logits, axis=-1)
            return -(probs * logits).sum(axis=-1) + jax.scipy.special.logsumexp(logits, axis=-1)

        def wrong(logits):
            probs = jax.nn.softmax(logits, axis=-1)
            return -(probs * logits).sum(axis=-1)  #!

        def normalised(logits):
            logits = logits - jax.scipy.special.logsumexp(logits, axis=-1, keepdims=True)
            logits = logits.clip(min=jnp.finfo(logits.dtype).min)
            return -(logits * jax.nn.softmax(logits)).sum(-1)

        def main(x):
            return entropy(x), normalised(x), wrong(x)
        """,
    "how often an index is among the indices": """
        def shared(values, indices):
            counts = jnp.bincount(indices, length=8)
            return values / counts.at[indices].get(mode="drop", fill_value=1)
        """,
    "the time of a step is left from an earlier version": """
        @jax.jit
        def step(i, state):
            t = i * 0.1
            return state + 1.0

        def main(state):
            return jax.lax.fori_loop(0, 3, step, state)
        """,
    "an optimizer that needs no parameters": """
        import optax

        def main(params, x):
            clip = optax.clip_by_global_norm(1.0)
            grads = jax.grad(lambda p: (p["w"] * x).sum())({"w": params})
            return clip.update(grads, clip.init({"w": params}), None)[0]
        """,
    "a reshape that takes an axis of one away": """
        def without_heads(latent):
            b, l, _, width = latent.shape
            return latent.reshape(b, l, width)
        """,
    "one network is made from a key, the other from a part of it": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(4)(x)

        def main(rng):
            agent = Net().init(rng, jnp.zeros((1, 3)))
            rng, mixer_rng = jax.random.split(rng)
            return agent, Net().init(mixer_rng, jnp.zeros((1, 3)))
        """,
    "places of a grid, and one more index": """
        def main(x, index):
            grid = jnp.meshgrid(*[np.arange(d) for d in x.shape], indexing="ij")
            return x.at[tuple(grid) + (index,)].set(1.0)
        """,
    "an object that is part of the structure of another": """
        class Model:
            def __init__(self, width):
                self.width = width

        class Solver:
            def __init__(self, model):
                self.model = model

            def _flatten(self):
                return (), {"model": self.model}

            @classmethod
            def _unflatten(cls, aux, children):
                return cls(**aux)

            @jax.jit
            def solve(self, x):
                return x * self.model.width

        jax.tree_util.register_pytree_node(Solver, Solver._flatten, Solver._unflatten)

        def main(x):
            return Solver(Model(3)).solve(x)
        """,
    "sizes that NumPy is asked for": """
        @partial(jax.jit, static_argnums=1)
        def pool(image, factor):
            width, height = np.shape(image)
            if int(width / factor) == width / factor and np.ndim(image) == 2:
                return image.reshape([int(width / factor), factor, height]).mean(1)
            raise ValueError(f"{factor} does not divide {width}")

        @jax.jit
        def main(image):
            return pool(jnp.sin(image), 4)
        """,
    "numbers in a tree that is put on every device": """
        from flax import struct

        @struct.dataclass
        class State:
            params: jax.Array
            steps: jax.Array

        def main(n, keys):
            step = jax.pmap(lambda state, key: state.replace(params=state.params + jax.random.normal(key, (3,))))
            state = jax.device_put_replicated(State(jnp.zeros(3), 0), jax.local_devices()[:n])
            return step(jax.tree.map(jnp.asarray, state), keys)
        """,
}


def lines(code: str, mark: str) -> set[int]:
    return {number for number, line in enumerate(code.splitlines(), 1) if line.endswith(mark)}


@pytest.mark.parametrize("title", PROGRAMS)
def test_public_code(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    # What the body does to the object is another story than how it is read.
    ignored = ("tracer-leak", "impure-body", "unregistered-class") if "another field" in title else ()
    outcome = audit([SourceFile("module.py", code)], Config(ignore=ignored))
    assert not outcome.faults
    assert {issue.line for issue in outcome.report.issues} == lines(code, "#!"), outcome.report.issues
