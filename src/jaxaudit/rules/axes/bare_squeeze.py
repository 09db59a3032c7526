"""The rule `bare-squeeze`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE, Dim, differ
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import readers
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.analyses.shapes.subscripts import shortest
from jaxaudit.ir import Op, Program
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.rules.base import Edit, Example, Obligation, Rule, Severity, proved, unknown
from jaxaudit.spans import Span


class BareSqueeze(Rule):
    """An array is squeezed without saying which axis.

    ## What it does
    Finds `squeeze()` without an axis where an axis that is meant to stay may have size 1. It is an error where a loop
    cuts an array into pieces, and the sizes say that the last one has a single row.

    ## Why is this bad?
    `squeeze()` drops every axis of size 1, also the batch axis of a batch that happens to hold one example, or the
    only environment of a small test. The result then has another rank, and what follows fails or silently broadcasts.

    ## Example
        values = jnp.squeeze(critic(obs))  # (batch, 1), and () for a batch of one

    ## Use instead
        values = jnp.squeeze(critic(obs), axis=-1)

    ## When it cannot tell
    When nothing is known of the array's shape.
    """

    summary = "`squeeze()` without an axis also drops a batch axis that happens to have size 1."
    needs = (Shapes,)

    valid = (
        Example("def f(x):\n    return jnp.squeeze(x, axis=-1)\n", "an axis is named"),
        Example("def f():\n    return jnp.ones((8, 1)).squeeze()\n", "all sizes are known"),
    )
    invalid = """
    ## the last of the batches has one row
    x, w = jnp.ones((33, 7)), jnp.ones((7, 1))
    parts = []
    for i in range(0, 33, 16):
        parts.append((x[i : i + 16] @ w).squeeze())  #!

    ## the batch may hold one example
    def f(x):
        batch, features = x.shape
        return (x @ jnp.ones((features, 1))).squeeze()  #?

    ## mapped row by row
    def sample(state, values):
        return jax.vmap(lambda v: state + v)(values.squeeze())  #?

    ## the output of a layer
    import flax.linen as nn

    class Critic(nn.Module):
        @nn.compact
        def __call__(self, obs):
            return jnp.squeeze(nn.Dense(1)(obs))  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `squeeze` without an axis."""
        shapes = facts.get(Shapes)
        bare = [op for op in program.named("array.squeeze") if _is_bare(op)]
        makers = program.makers
        given = [value for op in bare for value in op.operands]
        made = {value for value in given if value in makers and _is_layer(makers[value])}
        for op in bare:
            contexts = shapes.contexts(op) or (None,)
            what = "the output of a layer" if made.issuperset(op.operands) else _rows_of(op, facts.flow)
            yield from (_judge(op, context, what) for context in contexts)


def _rows_of(op: Op, flow: Flow) -> str:
    """Return what is squeezed where its result is then taken apart row by row; empty where nobody does so."""
    for reader in (one for value in op.results for one in readers(flow, value)):
        loop, mapped = Loop.of(reader), Mapped.of(reader)
        taken = [] if loop is None else loop.elements
        taken += [] if mapped is None or reader.name == "tree.map" else mapped.elements
        if any(given in op.results for _, given in taken):
            return f"what `{reader.name}` takes apart"
    return ""


def _is_layer(op: Op) -> bool:
    """Whether an op is the call of a layer: what it gives has a batch in front and its features last."""
    callee = op.qualified or op.callee
    return callee.endswith(".__call__") and "." in callee.removesuffix(".__call__")


def _is_bare(op: Op) -> bool:
    return not {"axis", "dimensions", "*", "**"} & set(op.arguments)


def _judge(op: Op, context: Context | None, what: str) -> Obligation:
    fact = None if context is None else context.of(next(iter(op.arguments.values()), None))
    if fact is None or fact.dims is None:
        if what:
            return _fragile(op, what, last=True)
        return unknown(op.span, "nothing is known of the array's shape")
    lone = next((dim for dim in fact.dims if shortest(dim) == 1), None)
    if lone is not None:
        return _broken(op, fact.dims, lone)
    if all(dim.constant is not None or differ(dim, ONE) for dim in fact.dims):
        return proved(op.span, f"the shape is {shape_text(fact.dims)} here, so it is clear which axes go")
    return _fragile(op, shape_text(fact.dims), last=fact.dims[-1] == ONE)


def _broken(op: Op, dims: tuple[Dim, ...], lone: Dim) -> Obligation:
    size = next(label.factors[0] for label in lone.labels if label.kind == "piece")
    return Obligation(
        op.span,
        message=f"the last piece has one row, not {size}, and `squeeze()` drops its axis too",
        current="the result has one axis less for the last piece than for all others",
        expected="every piece keeps the axis of its rows",
        suggestion="name the axis: `squeeze(axis=-1)`" if dims[-1] == ONE else "name the axis",
        edits=_edit(op) if dims[-1] == ONE else (),
    )


def _fragile(op: Op, what: str, *, last: bool) -> Obligation:
    return Obligation(
        op.span,
        severity=Severity.WARNING,
        message=f"`squeeze()` of {what} drops every axis that happens to have size 1",
        current="the rank of the result depends on the sizes: a batch of one loses its axis",
        expected="only the axis that is meant goes",
        suggestion="name the axis: `squeeze(axis=-1)`" if last else "name the axis",
        edits=_edit(op) if last else (),
    )


def _edit(op: Op) -> tuple[Edit, ...]:
    """Name the axis before the closing parenthesis."""
    path, _, _, line, column = op.span
    text = ", axis=-1" if op.qualified.startswith("jax.") else "axis=-1"
    return (Edit(Span(path, line, column - 1, line, column - 1), text),)
