"""The rule `iterator-in-traced-code`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.domain import Facts
from jaxaudit.analyses.tracing import Visit
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Verdict
from jaxaudit.rules.jit.words import tracing, transform

_ITERATORS = frozenset("zip enumerate generator range map filter".split())


class IteratorInTracedCode(Rule):
    """A Python iterator is given to a transformation as if it were an array.

    ## What it does

    Looks at what `scan`, `jit`, `jnp.stack`, `jnp.array` and their kin are given: `zip`, `enumerate`, `range` (for
    `scan` and `jit`) and generators are no arrays.

    ## Why is this bad?

    JAX takes arrays and containers of arrays apart; an iterator is neither, and the call raises `TypeError`.

    ## Example

    ```python
    jax.lax.scan(step, init, zip(xs, ys))
    ```

    ## Use instead

    ```python
    jax.lax.scan(step, init, (xs, ys))
    ```

    ## When it cannot tell

    What a call gives whose code is not known is not judged.
    """

    name = "iterator-in-traced-code"
    family = "jit"
    summary = "A Python iterator is given to a transformation, which takes arrays."
    may_raise = True
    needs = ("tracing",)

    valid = (
        Example(
            """
import jax

def step(carry, pair):
    x, y = pair
    return carry + x * y, None

def run(xs, ys):
    for x, y in zip(xs, ys):
        print(x, y)
    return jax.lax.scan(step, 0.0, (xs, ys))
""",
            "a tuple of arrays",
        ),
    )
    invalid = (
        Example(
            """
import jax

def step(carry, pair):
    x, y = pair
    return carry + x * y, None

def run(xs, ys):
    pairs = zip(xs, ys)
    return jax.lax.scan(step, 0.0, pairs)  #!
""",
            "a zip",
        ),
        Example(
            """
import jax

@jax.jit
def total(values):
    return sum(values)

def run(xs):
    return total(x * 2 for x in xs)  #!
""",
            "a generator",
        ),
        Example(
            """
import jax.numpy as jnp

def run(xs):
    return jnp.stack(x * 2 for x in xs)  #!
""",
            "a generator that is stacked",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List what every scan goes over and what every compiled function is given."""
        names = ("scan", "jit", "pmap", "array.join", "array.create", "array.reduce")
        yield from (one for visit in tracing(facts).of(*names) for one in _judge(visit))


def _judge(visit: Visit) -> Iterator[Obligation]:
    op = visit.op
    for kind in _kinds(op):
        if kind in _ITERATORS:
            yield _violation(op, kind)
        elif kind in ("tuple", "dict", "list", "NoneType"):
            yield Obligation(
                IteratorInTracedCode.name,
                op.span,
                Verdict.PROVED,
                f"it is given {'None' if kind == 'NoneType' else f'a {kind}'}, which JAX takes",
            )


def _kinds(op: Op) -> list[str]:
    if op.name == "scan":
        return [op.text("xs")]
    if op.name.startswith("array."):
        iterator = op.text("first") in _ITERATORS - {"range"} and op.text("function").startswith("jax.")
        return [op.text("first")] if iterator else []
    given = op.attrs.get("given")
    return [kind for _, kind, static in given if static is False] if isinstance(given, tuple) else []


def _taker(op: Op) -> str:
    return f"`{op.text('function').replace('jax.numpy', 'jnp')}`" if op.name.startswith("array.") else transform(op)


def _violation(op: Op, kind: str) -> Obligation:
    article = "an" if kind[0] in "ae" else "a"
    return Obligation(
        IteratorInTracedCode.name,
        op.span,
        Verdict.VIOLATED,
        message=f"{_taker(op)} is given {article} `{kind}`, but it takes arrays and containers of arrays",
        current="a Python iterator is no pytree, so the call raises `TypeError`",
        raises=Raises.TRACING,
        expected="a tuple or a stacked array",
        suggestion={
            "zip": "give a tuple of the arrays: `(xs, ys)`",
            "enumerate": "give `(jnp.arange(n), xs)`",
            "range": "give `jnp.arange(n)`",
        }.get(kind, "make an array of it first: `jnp.stack(list(...))`"),
    )
