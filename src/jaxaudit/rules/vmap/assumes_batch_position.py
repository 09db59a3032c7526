"""The rule `assumes-batch-position`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import last
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown
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
    Finds `x[0]` and its kin under `vmap` where the index takes the last axis away, and what is left, one number, is
    then searched for its largest entry or asked for its spread, or is the only output of a layer that is ever read.

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
    )
    invalid = (
        Example(_PROGRAM.format(index="[0]  #!"), "only the first score is left"),
        Example(
            "W = jnp.ones((9, 3))\n\n\ndef act(x, noise):\n"
            "    mean = (x @ W)[0]  #!\n    return mean + noise\n\n\n"
            "y = jax.vmap(act)(jnp.ones((200, 9)), jnp.ones((200, 3)))\n",
            "two outputs are lost",
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
        base, at = op.value("base"), op.arguments.get("index")
        if op.name != "py.item" or at not in (0, -1) or isinstance(at, bool) or base is None:
            continue
        shapes_met = [context.of(base).dims for context in shapes.contexts(op)]
        sizes = [dims[0].constant for dims in shapes_met if dims is not None and len(dims) == 1]
        count = sizes[0] if sizes and len(set(sizes)) == 1 and len(sizes) == len(shapes_met) else None
        layer = _layer(base, op, flow)
        if layer is not None and count is not None and count > 1:
            yield _one_of(op, layer, count)


def _layer(value: Value, reader: Op, flow: Flow) -> Op | None:
    """Return the layer or product that made a value, as it is or behind activations, where only one op reads it."""

    def made_for(link: tuple[Value, Op]) -> Op | None:
        read, by = link
        found = origin(flow, read, {})
        others = {one for here in (read, found.value) for one in flow.readers.get(here, ())} - {by}
        return found.op if all(one.name == "py.return" for one in others) else None

    def before(link: tuple[Value, Op]) -> tuple[Value, Op] | None:
        made = made_for(link)
        activates = made is not None and made.name == "array.map" and len(made.operands) == 1
        return (made.operands[0], made) if made is not None and activates else None

    made = made_for(last((value, reader), before))
    return made if made is not None and (made.name == "array.dot" or made.qualified.endswith(".__call__")) else None


def _one_of(op: Op, layer: Op, count: int) -> Obligation:
    at = op.arguments.get("index")
    return Obligation(
        op.span,
        message=f"`[{at}]` keeps one of {count} outputs under `vmap`, and nothing reads the others",
        current="`vmap` has taken the batch axis already, so the index takes an axis of the data",
        expected="all outputs are used; under `vmap` there is no batch axis to take off",
        steps=(Step(layer.span, f"this gives {count} outputs for each element"),),
        suggestion=f"drop `[{at}]`, or make a layer with one output",
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
