"""The rule `rebuild-needs-values`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Step, proved
from jaxaudit.rules.pytrees._shared.crossing import crossing
from jaxaudit.rules.trees import nodes
from jaxaudit.spans import Span

_HEAD = "@jax.tree_util.register_pytree_node_class\nclass Gauss:\n"
_TAIL = (
    "\n    def tree_flatten(self):\n        return (self.mean, self.scale), None\n\n    @classmethod\n"
    "    def tree_unflatten(cls, aux, children):\n        return cls(*children)\n\n"
    "def f(x):\n    return jax.jit(lambda g: g.mean * g.scale)(Gauss(x, 2.0))\n"
)


class RebuildNeedsValues(Rule):
    """A constructor needs the values of arrays, but JAX calls it with tracers.

    ## What it does
    Looks at classes whose unflatten function calls the constructor. It finds parameters that get children and whose
    value the constructor needs on every path: `float(x)`, `np.linalg.inv(x)`, `x.item()`, `if x <= 0`.

    ## Why is this bad?
    Every transformation takes its arguments apart and builds them again around tracers, which have no value. The call
    raises an error that points into the constructor.

    ## Example
        def __init__(self, mean, scale):
            self.mean = mean
            self.scale = float(scale)


        def tree_unflatten(cls, aux, children):
            return cls(*children)

    ## Use instead
        def tree_unflatten(cls, aux, children):
            new = object.__new__(cls)
            new.mean, new.scale = children
            return new

    ## When it cannot tell
    A class that is seen to cross into no transformation that traces is a warning. Values that are asked for under a
    condition are left alone.
    """

    summary = "The constructor that rebuilds an object asks tracers for their value."

    valid = (
        Example(
            _HEAD + "    def __init__(self, mean, scale):\n        self.mean = jnp.asarray(mean)\n"
            "        self.scale = scale\n" + _TAIL,
            "arrays of JAX",
        ),
        Example(
            _HEAD + "    def __init__(self, mean, scale):\n        if isinstance(scale, float) and scale <= 0:\n"
            "            raise ValueError(scale)\n        self.mean, self.scale = mean, scale\n" + _TAIL,
            "a value that is asked for under a condition",
        ),
    )
    invalid = (
        Example(
            _HEAD + "    def __init__(self, mean, scale):\n        self.mean, self.scale = mean, scale\n"
            "        self.root = float(scale)  #!\n" + _TAIL.replace("jax.jit(", "jax.grad("),
            "a number that a gradient is taken by",
        ),
        Example(
            "import numpy as np\n\n"
            + _HEAD
            + "    def __init__(self, mean, scale):\n        self.mean = mean\n"
            + "        self.scale = scale\n        self.root = np.linalg.cholesky(scale)  #!\n"
            + _TAIL,
            "a function of NumPy",
        ),
        Example(
            _HEAD + "    def __init__(self, mean, scale):\n        self.mean = mean\n"
            "        self.scale = float(scale)  #!\n" + _TAIL,
            "a number",
        ),
        Example(
            _HEAD + "    def __init__(self, mean, scale):\n        if scale <= 0:  #!\n"
            "            raise ValueError(scale)\n        self.mean, self.scale = mean, scale\n" + _TAIL,
            "a check",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every class whose constructor rebuilds its instances."""
        noted = [op for op in program.named("tree.class") if op.asked is not None]
        asked = any(op.asked for op in noted)
        crossed, differentiated = (_crossed(program, grads) if asked else {} for grads in (False, True))
        yield from (one for op in noted for one in _judge(op, crossed, differentiated))


def _crossed(program: Program, grads: bool) -> dict[Span, Op]:
    """Return for each class, by its place, a transformation that traces an instance of it, or differentiates by one."""
    found: dict[Span, Op] = {}
    for op in program.having(Op.border):
        trees = crossing(op) if (op.name == "grad") is grads else ()
        for node in (node for _, tree in trees for node in nodes(tree)):
            if node.kind in ("object", "outside") and node.registered == "yes":
                found.setdefault(node.where, op)
    return found


def _judge(op: Op, crossed: dict[Span, Op], differentiated: dict[Span, Op]) -> Iterator[Obligation]:
    asked, name = op.asked, op.class_name
    if not asked:
        yield proved(op.span, f"the constructor of `{name}` asks for no value of what it is rebuilt from")
        return
    place = op.where or op.span
    for param, what, span in asked:
        # While it differentiates, JAX knows the truth of a comparison, and gives no number away.
        compared = what in ("if", "assert")
        met = crossed.get(place) or (None if compared else differentiated.get(place))
        yield Obligation(
            span,
            severity=Severity.WARNING if met is None else Severity.ERROR,
            message=f"`{what}` needs the value of `{param}`, but JAX rebuilds `{name}` around tracers",
            current="the unflatten function calls the constructor; with a tracer this raises an error",
            raises=Raises.TRACING,
            expected="what is called while an object is rebuilt takes tracers too",
            steps=() if met is None else (Step(met.span, f"a `{name}` is traced here"),),
            suggestion="rebuild with `object.__new__(cls)` and set the attributes, or convert before the constructor",
        )
