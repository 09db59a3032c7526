"""The rule `unregistered-class`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.trees import Tree
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Step, proved, unknown, wrapping
from jaxaudit.rules.pytrees._shared.crossing import crossing
from jaxaudit.rules.trees import nodes


class UnregisteredClass(Rule):
    """An object that JAX cannot take apart crosses into a transformation.

    ## What it does
    Looks at everything that enters `jax.jit`, `jax.vmap`, `jax.grad` or the carry of a loop, through containers, and
    finds instances of classes that are not registered as pytrees: plain classes and plain dataclasses.

    ## Why is this bad?
    JAX only knows tuples, lists, dicts, `None`, named tuples and registered classes. Anything else is a leaf, and a
    leaf must be an array: the call raises `TypeError`.

    ## Example
        @dataclass
        class State:
            x: jax.Array


        jax.jit(step)(State(x))

    ## Use instead
        @jax.tree_util.register_dataclass
        @dataclass
        class State:
            x: jax.Array

    ## When it cannot tell
    When a decorator or a base class of another library may do the registration, or when the object is only annotated.
    The `self` of a compiled method that nobody visibly calls is a warning: it may belong to a registered subclass.
    """

    summary = "An instance of a class that is no pytree crosses into a transformation."

    valid = (
        Example(
            "from dataclasses import dataclass\n\n@jax.tree_util.register_dataclass\n@dataclass\n"
            "class State:\n    x: float\n\ndef f(x):\n    return jax.jit(lambda s: s.x * 2)(State(x))\n",
            "registered",
        ),
        Example(
            "from functools import partial\n\nclass Agent:\n    def __init__(self, lr):\n"
            "        self.lr = lr\n\n    @partial(jax.jit, static_argnums=0)\n    def act(self, x):\n"
            "        return x * self.lr\n\ndef f(x):\n    return Agent(0.1).act(x)\n",
            "static",
        ),
        Example(
            "class Scale:\n    def __init__(self, n):\n        self.n = n\n\ndef f(x, known):\n"
            "    step = jax.pmap(lambda x, s: x * s.n, static_broadcasted_argnums=1)\n"
            "    other = jax.pmap(lambda x, s: x * s.n, static_broadcasted_argnums=known)\n"
            "    return step(x, Scale(2)), other(x, Scale(2))\n",
            "static under pmap, or perhaps static",
        ),
    )
    invalid = (
        Example(
            "from dataclasses import dataclass\n\n@dataclass\nclass State:\n    x: float\n\n"
            "def f(x):\n    return jax.jit(lambda s: s.x * 2)(State(x))  #!\n",
            "a dataclass",
        ),
        Example(
            "class Agent:\n    def __init__(self, lr):\n        self.lr = lr\n\n    @jax.jit\n"
            "    def act(self, x):\n        return x * self.lr\n\ndef f(x):\n    return Agent(0.1).act(x)  #!\n",
            "a method",
        ),
        Example(
            "class Stats:\n    def __init__(self, n):\n        self.n = n\n\ndef f(xs):\n"
            "    return jax.lax.scan(lambda c, x: (c, x), (Stats(0), 1.0), xs)  #!\n",
            "in a carry",
        ),
        Example(
            "class Belief:\n    def __init__(self, mean):\n        self.mean = mean\n\n@jax.jit\n"
            "def predict(x):\n    return Belief(x * 2)\n\ndef f(x):\n    return predict(x).mean  #!\n",
            "given back",
        ),
        Example(
            "class Model:\n    @jax.jit\n    def loss(self, x):  #?\n        return self.scale * x\n",
            "a compiled method",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every object that crosses a border."""
        yield from (one for op in program.having(Op.border) for one in _judge(op))
        for op in program.named("py.given_back"):
            if op.tree is not None and op.tree.kind == "object" and op.tree.registered == "no":
                yield _given_back(op, op.tree)


def _given_back(op: Op, tree: Tree) -> Obligation:
    return _no_pytree(
        op,
        tree,
        "a compiled function cannot give it back",
        f"JAX takes the instance of `{tree.name}` for a leaf; that raises TypeError",
        "the function gives back arrays",
    )


def _judge(op: Op) -> Iterator[Obligation]:
    objects = (
        (name, node) for name, tree in crossing(op) for node in nodes(tree) if node.kind in ("object", "outside")
    )
    yield from (_crossed(op, name, node) for name, node in objects)


def _crossed(op: Op, name: str, node: Tree) -> Obligation:
    if node.registered == "yes":
        return proved(op.span, f"`{node.name}` is registered as a pytree")
    if node.registered != "no":
        return unknown(op.span, node.registered)
    own = op.regions and node.where.covers(op.regions[0].span)
    if node.kind == "outside" and not own:
        return unknown(op.span, f"{name} may be of a registered subclass of `{node.name}`")
    found = _no_pytree(
        op,
        node,
        f"it cannot cross into `{op.spelling or op.name}`",
        f"{name} holds an instance of `{node.name}`, which JAX takes for a leaf; that raises TypeError",
        "the argument is static",
    )
    if node.kind == "outside":
        # The `self` of a compiled method, which may be of a subclass that is registered where nobody sees it.
        found.severity = Severity.WARNING
    return found


def _no_pytree(op: Op, node: Tree, consequence: str, current: str, otherwise: str) -> Obligation:
    return Obligation(
        op.span,
        message=f"`{node.name}` is no pytree, so {consequence}",
        current=current,
        raises=Raises.TRACING,
        expected=f"`{node.name}` is registered as a pytree, or {otherwise}",
        steps=(Step(node.where, f"`{node.name}` is not registered here or anywhere else"), *wrapping(op)),
        suggestion=f"register `{node.name}` (`jax.tree_util.register_dataclass`), or make it a NamedTuple",
    )
