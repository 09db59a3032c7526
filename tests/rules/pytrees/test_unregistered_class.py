"""What `unregistered-class` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "names of static arguments behind a wrapper": """
        class Step:
            def __init__(self, rate):
                self.rate = rate

        def summarised(function, numbers=()):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs), {}

            return wrapper

        @functools.partial(jax.jit, static_argnames=("step",))
        @functools.partial(summarised, numbers=(0,))
        def unroll(step, theta):
            return theta * step.rate

        @jax.jit
        def plain(step, theta):
            return theta * step.rate

        def main(theta):
            return unroll(Step(0.1), theta)

        def refused(theta):
            return plain(Step(0.1), theta)  #! unregistered-class
        """,
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
            return go(Net(jnp.ones(()), Plain(x)), x)  #! unregistered-class
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
            return go(Base(a), x), go(Child(a), x)  #! unregistered-class
        """,
    "unmapped objects may be anything": """
        class Config:
            def __init__(self, n):
                self.n = n

        def f(xs):
            return jax.vmap(lambda c, x: x * c.n, in_axes=(None, 0))(Config(2), xs)

        def g(x):
            return jax.grad(lambda x, c: x * c.n)(x, Config(2))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


CROSSING = """
{decorator}
class State{bases}:
    x: float

{register}

def f(x):
    return jax.jit(lambda s: s.x)(State(x)){mark}
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
    assert said(CROSSING.format(decorator=decorator, bases=bases, register=register, mark="")) == []


def test_not_registered():
    program = CROSSING.format(decorator="@dataclass", bases="", register="", mark="  #! unregistered-class")
    assert said(program) == marked(program)
