"""Code of users whose repositories nobody had looked at; lines that end in `#!` give an error, no others do."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import distrax
import functools
import flax
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from typing import NamedTuple
"""

PROGRAMS = {
    "distributions and tables have a mean as well": """
        def reward(heads, states):
            return heads["reward"](states).mean()[1:]

        def overview(output):
            return output.mean()[:, 0]

        def counted(mask):
            return mask.sum(dim=1).sum(dim=0)[0]

        def difference(a, b):
            return ((a - b) ** 2).mean()[0]  #!

        def squashed(x):
            return jnp.tanh(x).sum()[0]  #!
        """,
    "an option of a normalisation is not its data": """
        class Net(nn.Module):
            raw: bool

            @nn.compact
            def __call__(self, x, train: bool):
                if self.raw:
                    dummy = nn.BatchNorm(use_running_average=not train)(x)
                    x = x / 255.0
                else:
                    x = nn.BatchNorm(use_running_average=not train)(x)
                return Head()(x, train)

        class Head(nn.Module):
            @nn.compact
            def __call__(self, x, train: bool):
                return nn.Dense(3)(nn.BatchNorm(use_running_average=not train)(x))

        class Careless(nn.Module):
            @nn.compact
            def __call__(self, x):
                y = nn.LayerNorm()(x)
                return nn.Dense(3)(x)  #!
        """,
    "a part of what was normalised before": """
        class Body(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.LayerNorm()(nn.Dense(8)(x))

        class Decoder(nn.Module):
            def setup(self):
                self.body = Body()
                self.out = nn.Dense(3)

            def __call__(self, x):
                x = self.body(x)
                first = x[:, :1, :]
                return self.out(x[:, 1:, :])
        """,
    "NumPy where no key is given": """
        def bind(rng, to):
            if to is None:
                return rng
            return jax.random.fold_in(rng, jax.lax.axis_index("batch"))

        def mix(x, rng=None):
            weight = np.random.beta(1.0, 1.0) if rng is None else jax.random.beta(rng, 1.0, 1.0)
            return x * weight

        def mix_always(x, rng=None):
            if rng is not None:
                x = x * jax.random.beta(rng, 1.0, 1.0)
            return x * np.random.beta(1.0, 1.0)  #!

        def step(rng, x, config):
            rng, mix_rng = jax.random.split(rng)
            return mix(x, rng=bind(mix_rng, config.get("to"))) + mix_always(x, rng=rng)

        def main(config, rngs, x):
            return jax.pmap(functools.partial(step, config=config), axis_name="batch")(rngs, x)
        """,
    "a longer tuple is no array": """
        def patches(x, size):
            window = (1,) + size + (1,)
            if window[0] != 1 or window[3] != 1:
                raise ValueError(window)
            return x

        def step(x, config):
            return patches(x, config.size)

        def main(x, config):
            return jax.pmap(functools.partial(step, config=config))(x)
        """,
    "lists of rows, on one path or the other": """
        def weights(batch, rng, each):
            if each:
                found = list(jax.random.beta(rng, 1.0, 1.0, shape=[len(batch)]))
            else:
                found = [jax.random.beta(rng, 1.0, 1.0)] * len(batch)
            for i in range(len(batch)):
                found[i] *= jnp.ones((3, 1))
            return found

        def rows(batch, rng):
            found = jax.random.beta(rng, 1.0, 1.0, shape=[len(batch)])
            for i in range(len(batch)):
                found[i] *= 2.0  #!
            return found
        """,
    "a tuple of rows indexes an axis with each": """
        def scatter(indices, updates, shape):
            return jnp.zeros(shape).at[tuple(jnp.moveaxis(indices, -1, 0))].add(updates)

        def together(indices, updates, shape):
            return jnp.zeros(shape).at[jnp.moveaxis(indices, -1, 0)].add(updates)  #!

        def main():
            indices = jnp.array([[0, 0], [1, 1], [2, 0]])
            updates = jnp.array([1.0, 2.0, 3.0])
            return scatter(indices, updates, (3, 2)), together(indices, updates, (3, 2))
        """,
    "a flag says which rank there is": """
        @jax.jit
        def rotate(k):
            if len(k.shape) == 3:
                k = jnp.expand_dims(k, 2)
                expanded = True
            else:
                expanded = False
            k = k * 2
            if expanded:
                k = jnp.squeeze(k, 2)
            return k

        def main():
            return rotate(jnp.ones((2, 6, 7, 10)))
        """,
    "a shift of rows by two reshapes": """
        def shifted(x):
            b, h, q, k = x.shape
            x = jnp.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]])
            x = jnp.reshape(x, [b, h, k + 1, q])[:, :, 1:, :]
            return jnp.reshape(x, [b, h, q, k])

        def mixed(x):
            b, h, q, k = x.shape
            return jnp.reshape(x, [b, h, k, q])  #!
        """,
    "a key that is spent on one path only": """
        class Agent:
            def __init__(self, key):
                self.key = key

            def act(self, seen):
                if seen is None:
                    action = 1.0
                else:
                    self.key, sub = jax.random.split(self.key)
                    action = jax.random.normal(sub)
                if seen.few:
                    return action
                if seen.late:
                    self.key, sub = jax.random.split(self.key)
                    print(jax.random.normal(sub))
                return action

            def guess(self, seen):
                if seen is None:
                    return 1.0
                return jax.random.normal(self.key)

        def main(seen):
            agent = Agent(jax.random.PRNGKey(0))
            return agent.act(seen[0]), agent.act(seen[1])

        def forgetful(seen):
            agent = Agent(jax.random.PRNGKey(0))
            return agent.guess(seen[0]), agent.guess(seen[1])  #!
        """,
    "an empty array stands in for data": """
        class Tree:
            def __init__(self):
                self.storage = np.zeros(0)

            def root(self, size):
                return self.storage[1] if size > 0 else np.nan

        def main(size):
            return Tree().root(size)

        def beyond():
            return jnp.ones(3)[3]  #!
        """,
    "state that is taken in and handed out again": """
        class Optimizer:
            def __init__(self):
                self.count = 0
                self.velocity = None
                self.loss = None
                self._step = jax.jit(self._one)

            def set_state(self, state):
                for name in ("count", "velocity"):
                    assert getattr(self, name) is None
                    setattr(self, name, state[name])

            def pop_state(self, names):
                state = {}
                for name in names:
                    state[name] = getattr(self, name)
                    setattr(self, name, None)
                return state

            def _one(self, params, state):
                self.count = state["count"]
                self.velocity = state["velocity"] * self.count
                self.loss = params**2  #!
                params = params + self.velocity
                state = {"count": self.count + 1, "velocity": self.velocity}
                self.count = None
                self.velocity = None
                return params, state

        def main(params, state):
            optimizer = Optimizer()
            for _ in range(10):
                params, state = optimizer._step(params, state)
            return params, optimizer.loss
        """,
    "attributes that are set by names": """
        class Stateful:
            def __init__(self, names):
                self.names = names

            def set_state(self, state):
                for name in self.names:
                    setattr(self, name, state[name])

            def pop_state(self):
                state = {}
                for name in self.names:
                    state[name] = getattr(self, name)
                    setattr(self, name, None)
                return state

        class Optimizer(Stateful):
            def __init__(self, names):
                super().__init__(names)
                self.count = 0
                self._step = jax.jit(self._one)

            def _one(self, params, state):
                self.set_state(state)
                params = params * self.count
                self.count = self.count + 1
                return params, self.pop_state()

        def main(names, params, state):
            optimizer = Optimizer(names)
            for _ in range(10):
                params, state = optimizer._step(params, state)
            return params
        """,
    "one network under several methods, or at several points": """
        def encoded(variables, batch, model: nn.Module, rng):
            video = model.apply(variables, batch, rngs={"dropout": rng}, method=model.encode_video)
            text = model.apply(variables, batch, rngs={"dropout": rng}, method=model.encode_text)
            return video, text

        def named(variables, batch, model: nn.Module, rng):
            video = model.apply(variables, {"video": batch[0]}, rngs={"dropout": rng})
            text = model.apply(variables, {"text": batch[1]}, rngs={"dropout": rng})
            return video, text

        def sharpened(params, batch, model: nn.Module, rng):
            def loss(params):
                return (model.apply(params, batch, rngs={"dropout": rng}) ** 2).mean()

            ascent = jax.grad(loss)(params)
            higher = jax.tree_util.tree_map(lambda a, b: a + 0.1 * b, params, ascent)
            return jax.grad(loss)(higher)

        def twice(variables, batch, model: nn.Module, rng):
            one = model.apply(variables, batch[0], rngs={"dropout": rng})
            other = model.apply(variables, batch[1], rngs={"dropout": rng})  #!
            return one, other

        def noisy(key, one, other):
            def add(x):
                return x + jax.random.normal(key, x.shape)  #!

            return add(one), add(other)
        """,
    "parameters that start alike": """
        class Experiment:
            def __init__(self, forward):
                self.net = hk.transform_with_state(forward)
                self.key = jax.random.PRNGKey(0)

            def start(self, inputs):
                init = jax.pmap(lambda *args: self.net.init(*args), axis_name="i")
                keys = jnp.broadcast_to(self.key, (8,) + self.key.shape)
                params, state = init(keys, inputs)
                average, _ = init(keys, inputs)
                return params, average, state

            def drop(self, params, state, inputs):
                apply = jax.pmap(lambda *args: self.net.apply(*args), axis_name="i")
                keys = jnp.broadcast_to(self.key, (8,) + self.key.shape)
                return apply(params, state, keys, inputs)  #!

        def main(forward, inputs):
            experiment = Experiment(forward)
            params, average, state = experiment.start(inputs)
            return average, experiment.drop(params, state, inputs)  #!
        """,
}


def expected_and_found(program: str) -> tuple[set[int], set[int]]:
    """Return the lines that are marked, and those that give an error."""
    text = PREFIX + textwrap.dedent(program)
    report = audit([SourceFile("app.py", text)], Config()).report
    marked = {line for line, code in enumerate(text.splitlines(), 1) if code.endswith("#!")}
    return marked, {one.line for one in report.issues if one.severity == "error"}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_errors_stand_where_they_are_marked(program: str) -> None:
    marked, found = expected_and_found(program)
    assert found == marked
