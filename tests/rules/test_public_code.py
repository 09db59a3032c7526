"""Correct code as public projects write it, and mistakes that look like it: lines that end in `#!` give an error."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import functools
import chex
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import string
from functools import cached_property, partial
from jax import lax
from typing import TYPE_CHECKING, NamedTuple
"""

PROGRAMS = {
    "a dataclass for the type checker and one for the program": """
        if TYPE_CHECKING:
            from dataclasses import dataclass
        else:
            from chex import dataclass

        @dataclass
        class State:
            x: jax.Array

        def main(x):
            return jax.jit(lambda state: state.x)(State(x=x))
        """,
    "an inherited method that is compiled": """
        class Base:
            @partial(jax.jit, static_argnames=("self",))
            def init(self, key, x):
                return x * 2

        class Derived(Base):
            @partial(jax.jit, static_argnames=("self",))
            def init(self, key, x):
                return super().init(key, x) + 1

        def main(key, x):
            return Derived().init(key, x)
        """,
    "a state that every path renews before it returns": """
        class Keys:
            def __init__(self, key):
                self.key = key

            def __call__(self, names=None):
                if names is None:
                    self.key, sub = jax.random.split(self.key)
                    return sub
                else:
                    keys = jax.random.split(self.key, len(names) + 1)
                    self.key = keys[0]
                    return dict(zip(names, keys[1:]))

        def step(model, params, key, batch):
            keys = Keys(key)
            out = model.apply(params, batch, rngs=keys(("dropout", "noise")))
            return keys(), out
        """,
    "a state that no path renews": """
        class Keys:
            def __init__(self, key):
                self.key = key

            def __call__(self, shape):
                if shape is None:
                    return jax.random.normal(self.key)
                return jax.random.normal(self.key, shape)

        def step(key):
            keys = Keys(key)
            return keys((3,)), keys((3,))  #!
        """,
    "a state that is renewed before the turn ends early": """
        class Source:
            def __init__(self, key):
                self.key = key

        def run(key, flags):
            source = Source(key)
            out = []
            for flag in flags:
                if flag:
                    source.key, sub = jax.random.split(source.key)
                    out.append(jax.random.normal(sub))
                    continue
                source.key, sub = jax.random.split(source.key)
                out.append(jax.random.uniform(sub))
            return out
        """,
    "a variable of another function that a loop renews": """
        def make(key):
            def draw(n):
                nonlocal key
                total = 0.0
                for _ in range(n):
                    key, sub = jax.random.split(key)
                    total += jax.random.normal(sub)
                return total
            return draw(3)
        """,
    "values for tracers and for arrays": """
        def has_tracers(tree):
            return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(tree))

        def check(x):
            if has_tracers(x):
                return jnp.isfinite(x).all()
            else:
                return bool(np.isfinite(x).all())

        @jax.jit
        def step(x):
            return check(x) * x
        """,
    "a question that is asked with an exception": """
        @jax.jit
        def step(x):
            try:
                shown = float(x)
            except jax.errors.ConcretizationTypeError:
                shown = None
            return x * 2
        """,
    "an exception that nobody catches": """
        @jax.jit
        def step(x):
            try:
                scale = float(x)  #!
            except KeyError:
                scale = 1.0
            return x * scale
        """,
    "code that a test expects to fail": """
        def test_shapes():
            x = jnp.ones((3, 5))
            with pytest.raises(ValueError):
                jnp.broadcast_to(jnp.ones(4), (3, 5)) + jnp.ones((2, 2))
            with pytest.raises(TypeError):
                x[0] = 1.0
        """,
    "a function that a test expects to fail": """
        def test_branch():
            @jax.jit
            def clip(x):
                if x > 0:
                    return x
                return -x

            with pytest.raises(jax.errors.TracerBoolConversionError):
                clip(1.0)
        """,
    "lists of arrays that are joined": """
        RED = jnp.ones(3)

        def colours(n, m):
            return [RED] * n + [RED] * m + list(jnp.zeros((2, 4)))
        """,
    "letters for einsum": """
        LETTERS = string.ascii_lowercase + string.ascii_uppercase

        def names(n):
            return LETTERS[0] + LETTERS[n]
        """,
    "a depth that is counted up and down": """
        class Depth:
            def __init__(self):
                self.level = 0

        DEPTH = Depth()

        @jax.jit
        def step(x):
            if DEPTH.level:
                return x * 2
            return x

        def run(x):
            for _ in range(10):
                DEPTH.level += 1
                x = step(x)
                DEPTH.level -= 1
            return x
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
    "a generator of keys changed inside a gradient": """
        class Keys:
            def __init__(self, key):
                self.key = key

            def __call__(self):
                self.key, sub = jax.random.split(self.key)
                return sub

        @jax.jit
        def step(params, key, x):
            keys = Keys(key)

            def loss(params):
                noise = jax.random.normal(keys(), x.shape)
                return ((params * x + noise) ** 2).sum()

            return jax.grad(loss)(params), keys()
        """,
    "a tree under a collective": """
        def update(params, batch):
            def loss(params):
                value = (params * batch).sum()
                return value, {"value": value}

            (value, extras), grads = jax.value_and_grad(loss, has_aux=True)(params)
            value, extras, grads = lax.pmean((value, extras, grads), axis_name="i")
            extras["norm"] = jnp.sqrt(jnp.vdot(grads, grads))
            return extras

        def main(params, batch):
            return jax.pmap(update, axis_name="i")(params, batch)
        """,
    "an argument that pmap leaves alone": """
        def batches(x, n):
            return jnp.stack([x + i for i in range(n)])

        def main(x, n):
            return jax.pmap(batches, static_broadcasted_argnums=1)(x, n)
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
            return [make_double()(x) for x in xs]  #!
        """,
    "NumPy hands over to the method": """
        @jax.jit
        def bounds(x):
            return np.min(x, axis=0) + np.sum(x, axis=0)
        """,
    "a value kept by a cached property": """
        class Env:
            @cached_property
            def size(self):
                limit = jnp.asarray(4.0)
                if jnp.any(limit > 3):
                    raise ValueError
                return 4

            @partial(jax.jit, static_argnums=0)
            def step(self, x):
                return x * self.size

        def main(x):
            env = Env()
            env.size
            return env.step(x)
        """,
    "Python values that eval_shape of Equinox leaves alone": """
        def init(key, wide):
            return jax.random.normal(key, (8,)) if wide else jax.random.normal(key, (4,))

        def main(key):
            return eqx.filter_eval_shape(init, key, False)
        """,
    "sizes of zero": """
        def residual(weights, x, n):
            inputs = jnp.zeros((n, 0))
            return x - weights[:, : weights.shape[1]] @ inputs[0]
        """,
    "counting distinct values under jit": """
        @jax.jit
        def f(labels):
            return jnp.unique(labels).shape[0]  #!
        """,
    "an array of a map": """
        def f(xs, ys):
            pairs = map(lambda a, b: a + b, xs, ys)
            return jnp.array(pairs)  #!
        """,
    "a value of a gradient kept in an attribute": """
        class M:
            def __init__(self):
                self.last = None
            def loss(self, p, x):
                self.last = p * x  #!
                return self.last.sum()
        def run(p, x):
            m = M()
            g = jax.grad(m.loss)(p, x)
            return g, m.last
        """,
    "updates for parameters that do not exist": """
        def main(g):
            params = {"w": jnp.ones(3)}
            grads = {"w": jnp.ones(3), "b": jnp.ones(1)}
            return optax.apply_updates(params, grads)  #!
        """,
    "slices of something unknown that grow": """
        @jax.jit
        def total(x):
            return x.sum()
        def prefix(xs):
            out = []
            for t in range(1, 200):
                out.append(total(xs[:t]))  #!
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
                p = p - jax.grad(loss)(p, x)  #!
            return p
        """,
}


def lines(code: str, mark: str) -> set[int]:
    return {number for number, line in enumerate(code.splitlines(), 1) if line.endswith(mark)}


@pytest.mark.parametrize("title", PROGRAMS)
def test_public_code(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    report = audit([SourceFile("module.py", code)], Config()).report
    assert {issue.line for issue in report.issues} == lines(code, "#!"), report.issues
