"""The rule `bare-squeeze`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE, Dim, differ, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import ahead, made_of, readers, through_ops, walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.analyses.shapes.subscripts import shortest
from jaxaudit.ir import Op, Program, Size, Value
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.ops import ALONG_AN_AXIS, ELEMENTWISE, KEEPING
from jaxaudit.ir.record import replace
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.results import Shaped
from jaxaudit.rules.base import Edit, Example, Obligation, Rule, Severity, Step, Verdict, proved, unknown
from jaxaudit.spans import Span


class BareSqueeze(Rule):
    """An array is squeezed without saying which axis.

    ## What it does
    Finds `squeeze()` without an axis where an axis that is meant to stay may have size 1. It is an error where a loop
    cuts an array into pieces, and the sizes say that the last one has a single row; and where the last axis goes
    because a setting is 1 (`features=act_dim`), and what follows works along axis -1 all the same.

    ## Why is this bad?
    `squeeze()` drops every axis of size 1, also the batch axis of a batch that happens to hold one example, or the
    only environment of a small test. The result then has another rank, and what follows fails or silently broadcasts.

    ## Example
        values = jnp.squeeze(critic(obs))  # (batch, 1), and () for a batch of one

    ## Use instead
        values = jnp.squeeze(critic(obs), axis=-1)

    ## When it cannot tell
    When nothing is known of the array's shape, or only that a size may be any number: that is a warning for the output
    of a layer and for what is taken apart row by row, and open for all else.
    """

    summary = "`squeeze()` without an axis also drops a batch axis that happens to have size 1."
    needs = (Shapes,)

    valid = (
        Example("def f(x):\n    return jnp.squeeze(x, axis=-1)\n", "an axis is named"),
        Example("def f():\n    return jnp.ones((8, 1)).squeeze()\n", "all sizes are known"),
        Example(
            """
            import flax.linen as nn
            ACTIONS = 1

            def value(x):
                one = nn.Dense(1).apply({}, x).squeeze()
                several = nn.Dense(ACTIONS).apply({}, x)
                return one.mean(axis=-1), several.sum(axis=-1), nn.Dense(ACTIONS).apply({}, x).squeeze()[0]

            value(jnp.ones((8, 4)))
            """,
            "one output is meant, or the axis stays",
        ),
    )
    invalid = """
    ## the last of the batches has one row
    x, w = jnp.ones((33, 7)), jnp.ones((7, 1))
    parts = []
    for i in range(0, 33, 16):
        parts.append((x[i : i + 16] @ w).squeeze())  #!

    ## an action of one dimension
    import flax.linen as nn
    ACTIONS = 1

    class Policy(nn.Module):
        actions: int = ACTIONS

        @nn.compact
        def __call__(self, x):
            return nn.Dense(self.actions)(x).squeeze()  #!

    def log_prob(mean, action):
        return (-0.5 * (action - mean) ** 2).sum(axis=-1)

    mean = Policy().apply({}, jnp.ones((8, 4)))
    y = log_prob(mean, mean + 0.1)

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
            size = _setting(op.operands[0], facts.flow) if op.operands and op.results else None
            reader = None if size is None else _counted_from_the_end(op, facts)
            if size is not None and reader is not None:
                yield _other_axis(op, size, reader)
                continue
            what = "the output of a layer" if made.issuperset(op.operands) else _rows_of(op, facts.flow)
            for context in contexts:
                judged = _judge(op, context, what)
                open_still = size is not None and judged.verdict is Verdict.PROVED
                yield unknown(op.span, "whether what follows counts on the axis is not known") if open_still else judged


def _counted_from_the_end(op: Op, facts: Facts) -> Op | None:
    """Return the op that takes another axis for the one that a squeeze drops from the end."""
    before, after = (facts.get(Shapes).of(value).dims for value in (*op.operands[:1], *op.results[:1]))
    if not before or not after or before[-1] != ONE:
        return None
    kept = ELEMENTWISE | KEEPING
    for value in walk(op.results[:1], lambda one: ahead(facts.flow, one, through_ops(*kept))):
        for reader in facts.flow.readers.get(value, ()):
            dims = facts.get(Shapes).of(value).dims
            alike = dims is not None and len(dims) == len(after) and same(dims[-1], after[-1])
            if alike and reader.name in ALONG_AN_AXIS and _is_last(reader) and reader.operands[:1] == (value,):
                return reader
    return None


def _is_last(op: Op) -> bool:
    """Whether an op works along the last axis, whatever the rank is."""
    return op.argument("axis", "axes") == -1 or (op.name == "array.normalise" and not op.has("axis", "axes"))


def _setting(value: Value, flow: Flow) -> Size | None:
    """Return the named number 1 that gave an array its last axis: the width of a layer, the last entry of a shape."""
    made = origin(flow, made_of(flow, value, through_ops(*ELEMENTWISE)), {}, in_element=True).op
    if made is None:
        return None
    if made.name == "array.dot" and len(made.operands) == 2:
        return _setting(made.operands[1], flow)
    held, row, shape = made.value("self"), lookup(made.qualified), made.argument("shape")
    layer = None if held is None else flow.maker(held)
    if layer is not None and row is not None and isinstance(row.result, Shaped) and row.result.function == "last":
        shape = (layer.arguments.get(row.result.arguments[0]),)
    last = shape[-1] if isinstance(shape, tuple) and shape else None
    return last if isinstance(last, Size) and last == 1 and last.name else None


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
            return replace(_fragile(op, what, last=True), verdict=Verdict.UNKNOWN, reason="its shape is not known")
        return unknown(op.span, "nothing is known of the array's shape")
    lone = next((dim for dim in fact.dims if shortest(dim) == 1), None)
    if lone is not None:
        return _broken(op, fact.dims, lone)
    if all(dim.constant is not None or differ(dim, ONE) for dim in fact.dims):
        return proved(op.span, f"the shape is {shape_text(fact.dims)} here, so it is clear which axes go")
    if what:
        return _fragile(op, shape_text(fact.dims), last=fact.dims[-1] == ONE)
    return unknown(op.span, f"whether a size of {shape_text(fact.dims)} may be 1 is not known")


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


def _other_axis(op: Op, size: Size, reader: Op) -> Obligation:
    name = size.name
    return Obligation(
        op.span,
        message=f"`squeeze()` drops the axis of `{name}`, and `{reader.function}` over axis -1 takes another for it",
        current=f"where `{name}` is 1 its axis is gone, and axis -1 is the one before it; else it is there",
        expected=f"the axis of `{name}` stays, whatever its size, and axis -1 is that axis",
        steps=(Step(reader.span, "axis -1 is another axis here"),),
        suggestion="name the axis that is meant: `squeeze(axis=...)`",
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
