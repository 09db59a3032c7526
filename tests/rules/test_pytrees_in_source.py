"""Verdicts of the rules about trees on small programs, read by the source front end."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

HEADER = "import jax\nimport jax.numpy as jnp\nfrom dataclasses import dataclass\nfrom functools import partial\n"


def rules(code: str) -> list[str]:
    report = audit([SourceFile("program.py", HEADER + textwrap.dedent(code))], Config(select=("pytrees",))).report
    return [f"{one.severity} {one.rule}" for one in (*report.issues, *report.warnings)]


CROSSING = """
{decorator}
class State{bases}:
    x: float

{register}

def f(x):
    return jax.jit(lambda s: s.x)(State(x))
"""


@pytest.mark.parametrize(
    ("decorator", "bases", "register"),
    [
        ("@jax.tree_util.register_dataclass\n@dataclass", "", ""),
        ("@partial(jax.tree_util.register_dataclass, data_fields=['x'], meta_fields=[])\n@dataclass", "", ""),
        ("@dataclass", "", "jax.tree_util.register_dataclass(State, data_fields=['x'], meta_fields=[])"),
        ("@dataclass", "", "for cls in (State,):\n    jax.tree_util.register_dataclass(cls)"),
        ("import flax\n\n@flax.struct.dataclass", "", ""),
        ("import equinox as eqx\n", "(eqx.Module)", ""),
        ("from typing import NamedTuple\n", "(NamedTuple)", ""),
        ("import other\n\n@other.tree\n@dataclass", "", ""),
        ("import other\n\n@dataclass", "(other.Base)", ""),
    ],
)
def test_registered_or_perhaps_registered(decorator, bases, register):
    assert rules(CROSSING.format(decorator=decorator, bases=bases, register=register)) == []


def test_not_registered():
    assert rules(CROSSING.format(decorator="@dataclass", bases="", register="")) == ["error unregistered-class"]


def test_unmapped_objects_may_be_anything():
    code = """
    class Config:
        def __init__(self, n):
            self.n = n

    def f(xs):
        return jax.vmap(lambda c, x: x * c.n, in_axes=(None, 0))(Config(2), xs)

    def g(x):
        return jax.grad(lambda x, c: x * c.n)(x, Config(2))
    """
    assert rules(code) == []


def test_the_same_function_for_good_and_bad_trees():
    code = """
    def mix(target, online):
        return jax.tree.map(lambda t, o: t + o, target, online)

    def f(net, key, x):
        variables = net.init(key, x)
        return mix(variables["params"], variables["params"])

    def g(net, key, x):
        variables = net.init(key, x)
        return mix(variables, variables["params"])
    """
    assert rules(code) == ["error tree-structure-mismatch"]


@pytest.mark.parametrize("second", ["{'a': 1}", "{'a': x}", "x", "dict(a=2)", "{'a': (1, 2)}"])
def test_trees_that_may_fit(second):
    assert rules(f"def f(x):\n    return jax.tree.map(lambda a, b: a, {{'a': x}}, {second})\n") == []


@pytest.mark.parametrize("second", ["{'b': 1}", "(1,)", "[x]", "{'a': 1, 'b': 2}", "jnp.ones(3)", "2.0"])
def test_trees_that_cannot_fit(second):
    code = f"def f(x):\n    return jax.tree.map(lambda a, b: a, {{'a': x}}, {second})\n"
    assert rules(code) == ["error tree-structure-mismatch"]


def test_a_wrapper_may_make_an_array_hashable():
    code = """
    import equinox as eqx

    class Hashed:
        def __init__(self, x):
            self.x = x

    class Net(eqx.Module):
        table: Hashed = eqx.field(static=True)

    def f():
        return Net(Hashed(jnp.ones(3)))
    """
    assert rules(code) == []


def test_a_label_may_be_lost():
    code = """
    @jax.tree_util.register_pytree_node_class
    class Layer:
        def __init__(self, w, label="layer"):
            self.w, self.label = w, label

        def __repr__(self):
            return self.label

        def tree_flatten(self):
            return (self.w,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    def f(x):
        return jax.jit(lambda layer: layer.w)(Layer(x, "first"))
    """
    assert rules(code) == ["warning flatten-loses-field"]


def verified(code: str) -> list[str]:
    report = audit([SourceFile("program.py", HEADER + textwrap.dedent(code))], Config(select=("pytrees",))).report
    return [one.reason for one in report.verified]


def test_gradients_have_the_structure_of_the_parameters():
    code = """
    def f(loss, params, x):
        grads = jax.grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - g, params, grads)
    """
    assert verified(code) == ["both trees have the structure of the same tree"]


def test_leaves_go_back_where_they_were():
    code = """
    def f(tree):
        leaves, treedef = jax.tree.flatten(tree)
        return jax.tree.unflatten(treedef, [2 * leaf for leaf in leaves])
    """
    assert verified(code) == ["the leaves are in the order in which they were flattened"]


def test_a_copy_of_the_whole_is_no_part():
    code = """
    def f(net, key, x):
        variables = net.init(key, x)
        target = jax.tree.map(jnp.copy, variables)
        return jax.tree.map(lambda t, o: t + o, target, variables["params"])
    """
    assert rules(code) == ["error tree-structure-mismatch"]


def test_a_module_that_is_not_differentiated_may_hold_functions():
    code = """
    import equinox as eqx

    def f(key, x):
        model = eqx.nn.MLP(2, 2, 8, 1, key=key)
        return jax.grad(lambda x, model: model(x).sum())(x, model)
    """
    assert rules(code) == []
