"""Registered classes: fields that are structure stay Python values, and a branch on a field that is data is found."""

import textwrap

import pytest
from rules.programs import marked, said

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


@pytest.mark.parametrize("registration", REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_structure_is_not_traced(registration: str) -> None:
    assert said(textwrap.dedent(registration).replace("    ...METHODS\n", METHODS) + MAIN) == []


@pytest.mark.parametrize("registration", REGISTRATIONS.values(), ids=REGISTRATIONS)
def test_data_is_traced(registration: str) -> None:
    methods = METHODS.replace("self.n > 2:", "self.w > 2:  #! python-branch-on-traced")
    program = textwrap.dedent(registration).replace("    ...METHODS\n", methods)
    program += "\ndef main(x):\n    return jax.jit(lambda net, x: net.grow(x))(Net(jnp.ones(()), 3), x)\n"
    assert said(program) == marked(program)


def test_numbers_in_a_training_state_are_data() -> None:
    program = """
        class Counted(TrainState):
            steps: int

        def train(params):
            state = Counted.create(apply_fn=None, params=params, tx=optax.adam(1e-3), steps=0)

            def body(state, _):
                if state.apply_fn is None:
                    state = state.replace(steps=state.steps + 4)
                if state.steps > 2:  #! python-branch-on-traced
                    return state, 1.0
                return state, 0.0

            return jax.lax.scan(body, state, None, 9)
        """
    assert said(program) == marked(program)
