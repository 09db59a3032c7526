"""Registered classes: fields that are structure stay Python values, fields that are data are traced.

Lines that end in `#!` give an error, no others do.
"""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PREFIX = """
import jax
import jax.numpy as jnp
import numpy as np
import equinox as eqx
from flax import struct
from functools import partial
from dataclasses import dataclass, field
from jax import tree_util
from jax.tree_util import register_pytree_node_class, register_pytree_node
"""

METHODS = """
    def grow(self, x):
        if self.n > 2:
            x = x * 2
        for i in range(self.n):
            x = x + self.w
        return x.reshape(self.n, -1)
"""

MAIN = """
@jax.jit
def run(net, x):
    again = jax.jit(lambda net: Net(net.w * 2, net.n))(net)
    again = jax.tree.map(jnp.negative, again)
    again = jax.lax.fori_loop(0, 3, lambda i, net: Net(net.w + 1, net.n), again)
    return net.grow(x) + again.grow(x)

def main(x, w):
    net = Net(w, np.prod(np.asarray(x).shape))
    jax.vmap(lambda net, x: net.grow(x))(net, x)
    jax.grad(lambda net: net.grow(x).sum())(net)
    jax.lax.scan(lambda net, x: (net, net.grow(x)), net, x)
    return run(net, x)
"""

REGISTRATIONS = {
    "a pair of tuples": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            def tree_flatten(self):
                return (self.w,), (self.n,)

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)

            ...METHODS
        """,
    "a dict of structure": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            def tree_flatten(self):
                children = [self.w]
                aux = {"n": self.n}
                return children, aux

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, **aux)

            ...METHODS
        """,
    "parts that are built up": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            def tree_flatten(self):
                children = ()
                children = children + (self.w,)
                aux = []
                aux.append(self.n)
                return children, tuple(aux)

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)

            ...METHODS
        """,
    "all fields but some": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            def tree_flatten(self):
                return (self.w,), {k: v for k, v in self.__dict__.items() if k not in ("w",)}

            @classmethod
            def tree_unflatten(cls, aux, children):
                obj = object.__new__(cls)
                obj.__dict__.update(aux)
                obj.w = children[0]
                return obj

            ...METHODS
        """,
    "what is left of all fields": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            def tree_flatten(self):
                aux = vars(self).copy()
                w = aux.pop("w")
                return (w,), aux

            @classmethod
            def tree_unflatten(cls, aux, children):
                obj = object.__new__(cls)
                obj.__dict__.update(aux)
                obj.w = children[0]
                return obj

            ...METHODS
        """,
    "children with keys": """
        @tree_util.register_pytree_with_keys_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            def tree_flatten_with_keys(self):
                return ((tree_util.GetAttrKey("w"), self.w),), (self.n,)

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)

            ...METHODS
        """,
    "methods given to a call": """
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            def _flatten(self):
                return (self.w,), {"n": self.n}

            @classmethod
            def _unflatten(cls, aux, children):
                return cls(*children, **aux)

            ...METHODS

        tree_util.register_pytree_node(Net, Net._flatten, Net._unflatten)
        """,
    "lambdas given to a call": """
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            ...METHODS

        jax.tree_util.register_pytree_node(Net, lambda o: ((o.w,), o.n), lambda aux, c: Net(c[0], aux))
        """,
    "functions given to a call": """
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            ...METHODS

        def _flat(net):
            return (net.w,), net.n
        def _unflat(n, children):
            (w,) = children
            return Net(w, n)
        register_pytree_node(Net, _flat, _unflat)
        """,
    "lists of fields in a decorator": """
        @partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["n"])
        @dataclass
        class Net:
            w: jax.Array
            n: int

            ...METHODS
        """,
    "lists of fields in a call": """
        @dataclass
        class Net:
            w: jax.Array
            n: int

            ...METHODS

        jax.tree_util.register_dataclass(Net, ["w"], ["n"])
        """,
    "metadata of a field": """
        @jax.tree_util.register_dataclass
        @dataclass
        class Net:
            w: jax.Array
            n: int = field(metadata=dict(static=True))

            ...METHODS
        """,
    "a field of flax": """
        @struct.dataclass
        class Net:
            w: jax.Array
            n: int = struct.field(pytree_node=False)

            ...METHODS
        """,
    "a field of a PyTreeNode": """
        class Net(struct.PyTreeNode):
            w: jax.Array
            n: int = struct.field(pytree_node=False)

            ...METHODS
        """,
    "a field of Equinox": """
        class Net(eqx.Module):
            w: jax.Array
            n: int = eqx.field(static=True)

            ...METHODS
        """,
    "a base that flattens": """
        class Base:
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return (self.w,), (self.n,)
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)

        @register_pytree_node_class
        class Net(Base):

            ...METHODS
        """,
    "a base that is asked": """
        @register_pytree_node_class
        class Base:
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return (self.w,), (self.n,)
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)

        @register_pytree_node_class
        class Net(Base):
            def tree_flatten(self):
                children, aux = super().tree_flatten()
                return children + (), aux + (1,)
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, aux[0])

            ...METHODS
        """,
    "names that the class lists": """
        @register_pytree_node_class
        class Net:
            _data = ("w",)
            _meta = ("n",)
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return tuple(getattr(self, k) for k in self._data), tuple(getattr(self, k) for k in self._meta)

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)

            ...METHODS
        """,
    "a base that registers its heirs": """
        class Base:
            def __init_subclass__(cls, **kw):
                super().__init_subclass__(**kw)
                jax.tree_util.register_pytree_node(cls, cls._flatten, cls._unflatten)
            def _flatten(self):
                return (self.w,), (self.n,)
            @classmethod
            def _unflatten(cls, aux, c):
                return cls(*c, *aux)
        class Net(Base):
            def __init__(self, w, n):
                self.w = w
                self.n = n

            ...METHODS
        """,
}

PROGRAMS = {
    "a static receiver, its helpers and heirs": """
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            @partial(jax.jit, static_argnums=0)
            def go(self, x):
                return self.helper(x)
            def helper(self, x):
                if self.n > 2:
                    return x
                return x.reshape(self.n, 3)
        class Sub(Net):
            @partial(jax.jit, static_argnames="self")
            def more(self, x):
                y = self.helper(x)
                for i in range(self.n):
                    y = y + i
                return super().go(y)
        def main(x, n):
            return Net(1.0, n).go(x), Sub(2.0, n).more(x), Sub(2.0, n).go(x)
        """,
    "a child decides": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return (self.w,), (self.n,)

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)

            @jax.jit
            def go(self, x):
                if self.w > 2:  #!
                    return x
                return x.reshape(self.n, 3)
        def main(x, n):
            return Net(jnp.ones(()), n).go(x)
        """,
    "a number among the children": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return (self.w, self.n), None

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)

            @jax.jit
            def go(self, x):
                return x.reshape(self.n, 3)  #!
        def main(x):
            return Net(jnp.ones(()), 3).go(x)
        """,
    "an unregistered object among the children": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return (self.w, self.n), None
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)
        class Plain:
            def __init__(self, a):
                self.a = a
        @jax.jit
        def go(net, x):
            return x * net.w * net.n.a
        def main(x):
            return go(Net(jnp.ones(()), Plain(x)), x)  #!
        """,
    "an unregistered object in the structure": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return (self.w, ), self.n
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, aux)
        class Plain:
            def __init__(self, a):
                self.a = a
        @jax.jit
        def go(net, x):
            if net.n.a > 2:
                return x
            return x * net.w * net.n.a
        def main(x, a):
            return go(Net(jnp.ones(()), Plain(a)), x)
        """,
    "an heir of a registered class": """
        @register_pytree_node_class
        class Base:
            def __init__(self, w):
                self.w = w
            def tree_flatten(self):
                return (self.w, ), None
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)
        class Child(Base):
            pass
        @jax.jit
        def go(net, x):
            return x * net.w
        def main(x, a):
            return go(Base(a), x), go(Child(a), x)  #!
        """,
    "nothing but structure": """
        @jax.tree_util.register_static
        @dataclass(frozen=True)
        class Config:
            n: int
            lr: float
        @jax.jit
        def run(cfg, x):
            if cfg.n > 3:
                return x
            return x.reshape(cfg.n, -1) * cfg.lr
        def main(n, x):
            return run(Config(n, 0.1), x)
        """,
}


def errors(code: str) -> set[int]:
    outcome = audit([SourceFile("module.py", code)], Config())
    assert not outcome.faults
    return {issue.line for issue in outcome.report.issues}


def lines(code: str) -> set[int]:
    return {number for number, line in enumerate(code.splitlines(), 1) if line.endswith("#!")}


@pytest.mark.parametrize("title", REGISTRATIONS)
def test_structure_is_not_traced(title: str) -> None:
    assert errors(PREFIX + textwrap.dedent(REGISTRATIONS[title]).replace("    ...METHODS\n", METHODS) + MAIN) == set()


@pytest.mark.parametrize("title", REGISTRATIONS)
def test_data_is_traced(title: str) -> None:
    methods = METHODS.replace("self.n > 2:", "self.w > 2:  #!")
    code = PREFIX + textwrap.dedent(REGISTRATIONS[title]).replace("    ...METHODS\n", methods)
    code += "\ndef main(x):\n    return jax.jit(lambda net, x: net.grow(x))(Net(jnp.ones(()), 3), x)\n"
    assert errors(code) == lines(code) != set()


@pytest.mark.parametrize("title", PROGRAMS)
def test_registered_classes(title: str) -> None:
    code = PREFIX + textwrap.dedent(PROGRAMS[title])
    assert errors(code) == lines(code)
