"""The rule `unregistered-class`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.domain import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.trees import Border, Tree
from jaxaudit.rules.base import Example, Obligation, Rule, Step, Verdict
from jaxaudit.rules.merge import strongest
from jaxaudit.rules.pytrees.words import border_of, nodes, proved, traced, unknown

_CHECKS_ALL = frozenset(("jax.jit", "jax.checkpoint"))
_LOOPS = frozenset(("scan", "fori", "while"))


class UnregisteredClass(Rule):
    """An object that JAX cannot take apart crosses into a transformation.

    ## What it does

    Looks at everything that enters `jax.jit`, `jax.vmap`, `jax.grad` or the carry of a loop, through containers, and
    finds instances of classes that are not registered as pytrees: plain classes and plain dataclasses.

    ## Why is this bad?

    JAX only knows tuples, lists, dicts, `None`, named tuples and registered classes. Anything else is a leaf, and a
    leaf must be an array: the call raises `TypeError`.

    ## Example

    ```python
    @dataclass
    class State:
        x: jax.Array


    jax.jit(step)(State(x))
    ```

    ## Use instead

    ```python
    @jax.tree_util.register_dataclass
    @dataclass
    class State:
        x: jax.Array
    ```

    ## When it cannot tell

    When a decorator or a base class of another library may do the registration, or when the object is `self` of a
    method that nobody visibly calls and may belong to a registered subclass.
    """

    name = "unregistered-class"
    family = "pytrees"
    summary = "An instance of a class that is no pytree crosses into a transformation."

    valid = (
        Example(
            "import jax\nfrom dataclasses import dataclass\n\n@jax.tree_util.register_dataclass\n@dataclass\n"
            "class State:\n    x: float\n\ndef f(x):\n    return jax.jit(lambda s: s.x * 2)(State(x))\n",
            "registered",
        ),
        Example(
            "import jax\nfrom functools import partial\n\nclass Agent:\n    def __init__(self, lr):\n"
            "        self.lr = lr\n\n    @partial(jax.jit, static_argnums=0)\n    def act(self, x):\n"
            "        return x * self.lr\n\ndef f(x):\n    return Agent(0.1).act(x)\n",
            "static",
        ),
    )
    invalid = (
        Example(
            "import jax\nfrom dataclasses import dataclass\n\n@dataclass\nclass State:\n    x: float\n\n"
            "def f(x):\n    return jax.jit(lambda s: s.x * 2)(State(x))  #!\n",
            "a dataclass",
        ),
        Example(
            "import jax\n\nclass Agent:\n    def __init__(self, lr):\n        self.lr = lr\n\n    @jax.jit\n"
            "    def act(self, x):\n        return x * self.lr\n\ndef f(x):\n    return Agent(0.1).act(x)  #!\n",
            "a method",
        ),
        Example(
            "import jax\n\nclass Stats:\n    def __init__(self, n):\n        self.n = n\n\ndef f(xs):\n"
            "    return jax.lax.scan(lambda c, x: (c, x), (Stats(0), 1.0), xs)  #!\n",
            "in a carry",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every object that crosses a border."""
        yield from strongest(one for op in program.walk() for one in _judge(op))


def _judge(op: Op) -> Iterator[Obligation]:
    border = border_of(op)
    if border is None:
        return
    for name, tree in _crossing(op, border):
        for node in nodes(tree):
            if node.kind in ("object", "outside"):
                yield _verdict(op, name, node)


def _crossing(op: Op, border: Border) -> Iterator[tuple[str, Tree]]:
    """Give what must consist of arrays: all that is traced, mapped, differentiated or carried."""
    if op.name in _LOOPS:
        yield from (("the carry", tree) for tree in border.trees[:1])
        yield from (("the scanned values", tree) for tree in border.trees[1:2])
    elif op.text("spelling") in _CHECKS_ALL:
        yield from traced(op, border)
    elif op.text("spelling") in ("jax.vmap", "jax.pmap", "jax.grad", "jax.value_and_grad"):
        wanted = _positions(op)
        yield from (
            (border.name(at), tree) for at, tree in enumerate(border.positional) if wanted is None or at in wanted
        )


def _positions(op: Op) -> set[int] | None:
    """Give the positions that are mapped or differentiated; None for all. Others may hold any object."""
    options = op.attrs.get("options")
    options = options if isinstance(options, Mapping) else {}
    if op.name == "grad":
        argnums = options.get("argnums", 0)
        return {one for one in (argnums if isinstance(argnums, tuple) else (argnums,)) if isinstance(one, int)}
    axes = options.get("in_axes", 0)
    if isinstance(axes, tuple):
        return {at for at, axis in enumerate(axes) if isinstance(axis, int)}
    return None if isinstance(axes, int) else set()


def _verdict(op: Op, name: str, node: Tree) -> Obligation:
    what = op.text("spelling") or op.name
    if node.registered == "yes":
        return proved(UnregisteredClass.name, op.span, f"`{node.name}` is registered as a pytree")
    if node.registered != "no":
        return unknown(UnregisteredClass.name, op.span, node.registered)
    if node.kind == "outside":
        reason = f"`{name}` may be of a registered subclass of `{node.name}`"
        return unknown(UnregisteredClass.name, op.span, reason)
    return Obligation(
        UnregisteredClass.name,
        op.span,
        Verdict.VIOLATED,
        message=f"`{node.name}` is no pytree, so it cannot cross into `{what}`",
        current=f"`{name}` holds an instance of `{node.name}`, which JAX takes for a leaf; that raises TypeError",
        expected=f"`{node.name}` is registered as a pytree, or the argument is static",
        steps=(Step(node.where, f"`{node.name}` is not registered here or anywhere else"),),
        suggestion=f"register `{node.name}` (`jax.tree_util.register_dataclass`), or make it a NamedTuple",
    )
