"""What `flatten-loses-field` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
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
    "a label may be lost": """
        @jax.tree_util.register_pytree_node_class
        class Layer:
            def __init__(self, w, label="layer"):
                self.w, self.label = w, label

            def __repr__(self):
                return self.label

            def tree_flatten(self):
                return (self.w,), None  #? flatten-loses-field

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)

        def f(x):
            return jax.jit(lambda layer: layer.w)(Layer(x, "first"))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
