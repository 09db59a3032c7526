"""The rule `assumes-batch-position`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Program
from jaxaudit.ir.values import index_parts, is_whole
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown
from jaxaudit.rules.vmap._shared.layers import has_outputs_last, layer_behind
from jaxaudit.rules.vmap._shared.scalars import Scalar, pointless, reductions

_PROGRAM = """
WEIGHTS = jnp.ones((9, 6))


def predict(x):
    scores = (x @ WEIGHTS){index}
    return jnp.argmax(scores)


jax.vmap(predict)(jnp.ones((200, 9)))
"""


class AssumesBatchPosition(Rule):
    """A mapped function takes a batch axis off that `vmap` has taken already.

    ## What it does
    Finds `x[0]`, `x[:, -1]` and their kin under `vmap` where the index takes the last axis away, and what is left is
    one number that is then searched for its largest entry or asked for its spread, or is the only output of a layer
    that is ever read.

    ## Why is this bad?
    A function that was written for a batch of one strips the batch axis with `[0]`. Under `vmap` there is none: it
    keeps the first score alone, and the `argmax` of one number is class 0, for every input.

    ## Example
        jax.vmap(lambda x: jnp.argmax(model(x)[0]))(xs)

    ## Use instead
        jax.vmap(lambda x: jnp.argmax(model(x)))(xs)

    ## When it cannot tell
    When the rank of the indexed array is not known. An index whose result is used as a number is taken as meant.
    """

    summary = "Under `vmap`, `[0]` takes away an axis that is not the batch."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(index=""), "no batch axis to take off"),
        Example("y = jax.vmap(lambda x: x[0] * 2)(jnp.ones((200, 9)))\n", "used as a number"),
        Example(
            "W = jnp.ones((9, 1))\n\ny = jax.vmap(lambda x: (x @ W)[0] * 2)(jnp.ones((200, 9)))\n", "the only output"
        ),
        Example(
            """
            import flax.linen as nn

            def read(params, window):
                states = nn.RNN(nn.GRUCell(features=16)).apply(params, window)
                first, rest = states[:, 0], states[:, 1:]
                return states[-1], first + rest.sum(axis=1)

            y = jax.vmap(read, in_axes=(None, 0))({}, jnp.ones((200, 20, 3)))
            """,
            "the others are read as well",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(index="[0]  #!"), "only the first score is left"),
        Example(
            "W = jnp.ones((9, 3))\n\n\ndef act(x, noise):\n"
            "    mean = (x @ W)[0]  #!\n    return mean + noise\n\n\n"
            "y = jax.vmap(act)(jnp.ones((200, 9)), jnp.ones((200, 3)))\n",
            "two outputs are lost",
        ),
        Example(
            """
            import flax.linen as nn

            class Reader(nn.Module):
                @nn.compact
                def __call__(self, window):
                    states = nn.LayerNorm()(nn.RNN(nn.GRUCell(features=16))(window))
                    return nn.Dense(3)(states[:, -1])  #!

            model = Reader()
            params = model.init(jax.random.key(0), jnp.zeros((20, 3)))
            y = jax.vmap(lambda w: model.apply(params, w))(jnp.ones((200, 20, 3)))
            """,
            "one feature of every step, for all features of the last step",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every search under `vmap`."""
        shapes = facts.get(Shapes)
        indexed = {one.op: (one, one.index) for one in pointless(facts, shapes) if one.index is not None}
        yield from (_finding(one, index) for one, index in indexed.values())
        for op, value in reductions(facts):
            if op.name != "array.order" or op in indexed:
                continue
            contexts = shapes.contexts(op)
            if not contexts or any(context.of(value).dims is None for context in contexts):
                yield unknown(op.span, "the rank of what is searched under `vmap` is not known")
            else:
                yield proved(op.span, "what is searched under `vmap` has not been cut down to one number by an index")
        yield from _only_outputs(facts, shapes)


def _only_outputs(facts: Facts, shapes: Shapes) -> Iterator[Obligation]:
    """Return every index under `vmap` that keeps one output of a layer, where nothing reads the others."""
    flow = facts.flow
    for op in mapped_ops(facts):
        base = op.value("base")
        if op.name != "py.item" or base is None or not _picks_one(op.arguments.get("index")):
            continue
        known = [context.of(base).dims for context in shapes.contexts(op)]
        counts = {None if dims is None else _outputs(dims, op.arguments.get("index")) for dims in known}
        count = counts.pop() if len(counts) == 1 else None
        layer = layer_behind(base, op, flow)
        if layer is not None and count is not None and count > 1 and _gives_last(layer, op, shapes):
            yield _one_of(op, layer, count)


def _picks_one(index: Argument) -> bool:
    """Whether an index is `[0]`, `[-1]`, `[:, 0]` or the like: one entry along the last axis that it names."""
    *before, last_part = index_parts(index)
    whole = all(is_whole(part) for part in before)
    return whole and isinstance(last_part, int) and not isinstance(last_part, bool) and last_part in (0, -1)


def _outputs(dims: tuple[Dim, ...], index: Argument) -> int | None:
    """Return how many outputs an index picks one of; None where it picks along another axis, or nobody knows."""
    return dims[-1].constant if len(dims) == len(index_parts(index)) else None


def _gives_last(layer: Op, op: Op, shapes: Shapes) -> bool:
    """Whether what an index picks along is the axis of the outputs; of a vector there is no other."""
    alone = len(index_parts(op.arguments.get("index"))) == 1
    return alone or (layer.name != "array.dot" and has_outputs_last(layer, shapes))


def _one_of(op: Op, layer: Op, count: int) -> Obligation:
    at = ", ".join(":" if is_whole(part) else str(part) for part in index_parts(op.arguments.get("index")))
    return Obligation(
        op.span,
        message=f"`[{at}]` keeps one of {count} outputs under `vmap`, and nothing reads the others",
        current="`vmap` has taken the batch axis already, so the index takes an axis of the data",
        expected="all outputs are used; under `vmap` there is no batch axis to take off",
        steps=(Step(layer.span, f"this gives {count} outputs for each element"),),
        suggestion=f"drop `[{at}]` or its first `:`, or make a layer with one output"
        if ":" in at
        else f"drop `[{at}]`, or make a layer with one output",
    )


def _finding(scalar: Scalar, index: Op) -> Obligation:
    name = named(scalar.value, "the result")
    at = index.arguments.get("index")
    return Obligation(
        index.span,
        message=f"`[{at}]` leaves one number under `vmap`: {scalar.outcome}",
        current="`vmap` has taken the batch axis already, so the index takes an axis of the data",
        expected=f"{name} keeps its axis; under `vmap` there is no batch axis to take off",
        steps=(Step(scalar.op.span, scalar.outcome),),
        suggestion=f"drop `[{at}]`, or call the function on whole batches without `vmap`",
    )
