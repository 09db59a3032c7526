"""The rule `callback-arguments`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.ir import Op, Program
from jaxaudit.ir.ops import BRANCHES, DERIVATIVES, REPEATED
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, proved, unknown
from jaxaudit.rules.pytrees._shared.crossing import is_called

_CALLING = sorted((REPEATED | DERIVATIVES | BRANCHES | {"jit", "vmap", "pmap", "tree.map"}) - {"py.branch"})


class CallbackArguments(Rule):
    """A function that JAX calls does not take what it is given.

    ## What it does
    Looks at every function that is handed to `tree.map`, `scan`, `fori_loop`, `while_loop`, `cond`, `vmap`, `jit`,
    `grad` and their like, and counts: one leaf of each tree, a carry and an element, an index and a state, an argument
    for each operand.

    ## Why is this bad?
    The call raises TypeError as soon as it is traced. A tree that was left out of `tree.map`, or one too many, is
    seen at the function and not where the trees are.

    ## Example
        updates = jax.tree.map(lambda g, m: g * m, gradients)

    ## Use instead
        updates = jax.tree.map(lambda g, m: g * m, gradients, momenta)

    ## When it cannot tell
    When the function is not known, or arguments come by `*` or `**`.
    """

    summary = "A function that JAX calls takes more or fewer arguments than it is given."

    valid = """
    ## as many as there are, or any number
    def fit(a, b, xs):
        total = jax.tree.map(lambda x, y, scale=1.0: x + scale * y, a, b)
        first = jax.tree.map(lambda *leaves: leaves[0], a, b)
        last, _ = jax.lax.scan(lambda carry, x: (carry + x, None), 0.0, xs)
        return total, first, last, jax.lax.fori_loop(0, 3, lambda i, x: x + i, 0)

    ## an operand for each branch, and a function as a field
    import dataclasses
    from typing import Callable

    def add(x, y):
        return x + y

    @dataclasses.dataclass
    class Merge:
        join: Callable = add

        def __call__(self, a, b):
            return jax.tree.map(self.join, a, b)

    def pick(flag, a, b):
        return jax.lax.cond(flag, (a, b), lambda both: both[0], b, lambda one: one)

    ## one of several, chosen along with the arguments
    def run(pairwise, a, b):
        apply = jax.vmap(lambda x, y: x + y) if pairwise else jax.vmap(lambda x: x)
        return apply(a, b) if pairwise else apply(a)
    """
    invalid = """
    ## none of several takes it
    def run(flag, a):
        apply = jax.vmap(lambda x, y: x + y) if flag else jax.vmap(lambda x, y: x - y)
        return apply(a)  #!

    ## a tree is missing, and one is too many
    def fit(a, b, c):
        total = jax.tree.map(lambda x, y: x + y, a)  #!
        return total, jax.tree.map(lambda x, y: x + y, a, b, c)  #!

    ## the bodies of loops
    def run(xs):
        last, _ = jax.lax.scan(lambda carry: (carry, None), 0.0, xs)  #!
        return last, jax.lax.fori_loop(0, 3, lambda x: x + 1, 0)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function that JAX calls."""
        for op in program.named(*_CALLING):
            if not op.library and is_called(op):
                yield from _judge(op)


def _judge(op: Op) -> Iterator[Obligation]:
    misfits = [one for region in op.regions for one in region.ops if one.name == "py.misfit"]
    refused = [one for one in misfits if not one.is_open]
    if not misfits and op.regions:
        yield proved(op.span, "what it calls takes what it is given")
    elif not refused:
        reasons = dict.fromkeys(one.reason for one in misfits)
        yield from (unknown(op.span, reason) for reason in reasons)
    for one in refused:
        yield Obligation(
            op.span,
            message=f"`{one.qualified}` {one.reason}",
            current="the call raises TypeError when it is traced",
            raises=Raises.TRACING,
            expected="a function that takes what it is given",
            steps=(Step(one.span, "the function is defined here"),),
            suggestion="let the function take what it is given, or give what it takes",
        )
