"""Correct programs around registration that look like mistakes; lines that end in `#!` give an error, no others do."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import jax
import jax.numpy as jnp
from flax import struct
from functools import partial
from dataclasses import dataclass, field
from jax.tree_util import register_pytree_node_class
"""

PROGRAMS = {
    "objects that are hashed by identity": """
        class Agent:
            def __init__(self, n):
                self.n = n
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        def main(x):
            return Agent(3).act(x)
        """,
    "a base that says how to hash": """
        class Base:
            def __eq__(self, other):
                return True
            def __hash__(self):
                return 1
        class Agent(Base):
            def __init__(self, n):
                self.n = n
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        def main(x):
            return Agent(3).act(x)
        """,
    "dataclasses that keep a hash": """
        @dataclass
        class Base:
            n: int
        @dataclass(eq=False)
        class Agent(Base):
            m: int
            __hash__ = object.__hash__
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        @dataclass(unsafe_hash=True)
        class Other:
            n: int
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        @dataclass(eq=False)
        class Third:
            n: int
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        def main(x):
            return Agent(3, 4).act(x), Other(2).act(x), Third(2).act(x)
        """,
    "a dataclass that lost its hash": """
        @dataclass
        class Agent:
            n: int
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        def main(x):
            return Agent(3).act(x)  #!
        """,
    "an attribute that is filled later": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w):
                self.w = w
                self._cache = None
            def tree_flatten(self):
                return (self.w,), None
            @classmethod
            def tree_unflatten(cls, aux, children):
                new = object.__new__(cls)
                new.w = children[0]
                new._cache = None
                return new
            @property
            def total(self):
                if self._cache is None:
                    self._cache = self.w.sum()
                return self._cache
        def main(w):
            return jax.jit(lambda n: n.w)(Net(w))
        """,
    "a method that sets the fields": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self._set(w, n)
            def _set(self, w, n):
                self.w, self.n = w, n
            def tree_flatten(self):
                return (self.w,), (self.n,)
            @classmethod
            def tree_unflatten(cls, aux, children):
                obj = cls.__new__(cls)
                obj._set(children[0], aux[0])
                return obj
            def go(self):
                return self.w * self.n
        def main(w):
            return jax.jit(lambda n: n.go())(Net(w, 3))
        """,
    "a child that may be missing": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, b=None):
                self.w, self.b = w, b
            def tree_flatten(self):
                if self.b is None:
                    return (self.w,), False
                return (self.w, self.b), True
            @classmethod
            def tree_unflatten(cls, has, children):
                if has:
                    w, b = children
                    return cls(w, b)
                (w,) = children
                return cls(w)
        def main(w):
            return jax.jit(lambda n: n.w)(Net(w)), jax.jit(lambda n: n.w)(Net(w, w))
        """,
    "a check of numbers alone": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, rate):
                if not isinstance(rate, jax.core.Tracer) and rate <= 0:
                    raise ValueError
                self.w, self.rate = w, rate
            def tree_flatten(self):
                return (self.w, self.rate), None
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)
        def main(w):
            return jax.jit(lambda n: n.w)(Net(w, 0.1))
        """,
    "a check of the structure": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                if n <= 0:
                    raise ValueError
                self.w, self.n = w, int(n)
            def tree_flatten(self):
                return (self.w,), (self.n,)
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)
        def main(w):
            return jax.jit(lambda n: n.w)(Net(w, 2))
        """,
    "structure that stays the same": """
        @struct.dataclass
        class Env:
            x: jax.Array
            n: int = struct.field(pytree_node=False, default=3)
        def main(x):
            a, _ = jax.lax.scan(lambda e, _: (e.replace(x=e.x + 1), None), Env(x, 4), None, length=3)
            b = jax.lax.cond(x.sum() > 0, lambda e: e, lambda e: Env(e.x * 2, e.n), Env(x, 5))
            c = jax.tree.map(lambda p, q: p + q, Env(x), Env(x * 2))
            return a, b, c
        """,
    "None on both sides": """
        @struct.dataclass
        class Layer:
            kernel: jax.Array
            bias: jax.Array | None
        def main(x):
            a, b = Layer(x, None), Layer(x + 1, None)
            c = Layer(x, jnp.ones(3))
            d = jax.tree.map(lambda p, q: p if q is None else p + q, c, a)
            e = jax.tree.map(lambda p, q: p if q is None else p + q, c, b, is_leaf=lambda x: x is None)
            return jax.tree.map(lambda p, q: p + q, a, b), d, e
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
    "functions that heirs fill": """
        import abc
        class Base(abc.ABC):
            @abc.abstractmethod
            def tree_flatten(self):
                return (), None
            @classmethod
            @abc.abstractmethod
            def tree_unflatten(cls, aux, children):
                'Rebuild.'
        class Raises:
            def tree_flatten(self):
                return (), None
            @classmethod
            def tree_unflatten(cls, aux, children):
                raise NotImplementedError
        """,
    "a dataclass that flattens itself": """
        @register_pytree_node_class
        @dataclass
        class Net:
            w: jax.Array
            b: jax.Array
            n: int = 3
            def tree_flatten(self):
                return (self.w, self.b), {"n": self.n}
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, **aux)
        def main(w):
            return jax.jit(lambda n: n.w)(Net(w, w, 4))
        """,
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_registration(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    outcome = audit([SourceFile("module.py", code)], Config())
    assert not outcome.faults
    marked = {number for number, line in enumerate(code.splitlines(), 1) if line.endswith("#!")}
    assert {issue.line for issue in outcome.report.issues} == marked, outcome.report.issues
