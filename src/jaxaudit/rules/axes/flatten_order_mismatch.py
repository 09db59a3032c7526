"""The rule `flatten-order-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.roots import is_known, roots
from jaxaudit.analyses.axes.slots import Slot
from jaxaudit.analyses.dims import Dim, same, whole
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label
from jaxaudit.analyses.pieces import astray, reordered
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.regroup import is_accounted_for
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.analyses.shapes.facts import shown
from jaxaudit.ir import Op, Program
from jaxaudit.ir.functions import COMPARISONS
from jaxaudit.rules.axes._shared.phrases import shape_of
from jaxaudit.rules.axes._shared.reshapes import Reshape, reshapes
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown

_DEALT = """
def accuracy(x, labels):
    shards = {apart}
    guesses = jax.vmap(jax.vmap(jnp.argmax))(shards)
    return (guesses.reshape(-1) == labels).mean(){mark}


accuracy(jnp.ones((64, 3)), jnp.zeros(64, int))
"""


class FlattenOrderMismatch(Rule):
    """Axes are made one in one order and taken apart in another.

    ## What it does
    Remembers which axes a reshape made one, in which order, and compares that with how a later reshape takes the
    result apart. An axis that was cut into parts, which were put together again in another order, holds its elements in
    another order, too: it is compared element by element with what was reordered the same way.

    ## Why is this bad?
    `(steps, envs)` flattened and then reshaped to `(envs, steps)` has the right number of elements, but the rows are no
    environments: rewards and values of different episodes are mixed, and nothing is raised.

    ## Example
        flat = values.reshape(STEPS * ENVS)  # from (STEPS, ENVS)
        flat.reshape(ENVS, STEPS)

    ## Use instead
        flat = values.reshape(STEPS * ENVS)  # from (STEPS, ENVS)
        flat.reshape(STEPS, ENVS)

    ## When it cannot tell
    When the sizes have no names, or the flat axis is shuffled or sliced in between.
    """

    summary = "Axes are flattened in one order and unflattened in another."
    needs = (Shapes,)

    valid = (
        Example(
            "STEPS, ENVS = 16, 4\n"
            "flat = jnp.zeros((STEPS, ENVS)).reshape(STEPS * ENVS)\ny = (flat * 2).reshape(STEPS, ENVS)\n",
            "same order",
        ),
        Example(_DEALT.format(apart="x.reshape(4, 16, 3)", mark=""), "dealt out in blocks"),
        Example(
            """
            def encode(encoder, images):
                b, t, h, w, c = images.shape
                tokens = encoder(images.reshape(b * t, h, w, c))
                return tokens.reshape(b, t, -1, tokens.shape[-1]).swapaxes(0, 1)
            """,
            "images of all steps, and back in order",
        ),
        Example(
            "def heads(keys, groups):\n    b, t, h, d = keys.shape\n"
            "    turns = jnp.tile(keys, (1, 1, groups, 1)).reshape(b, t, groups, h, d)\n"
            "    return turns, jnp.repeat(keys, groups, axis=2).reshape(b, t, h, groups, d)\n",
            "repeated in place, and as a whole",
        ),
    )
    invalid = (
        Example(
            "STEPS, ENVS = 16, 4\n"
            "flat = jnp.zeros((STEPS, ENVS)).reshape(STEPS * ENVS)\ny = (flat * 2).reshape(ENVS, STEPS)  #!\n",
            "other order",
        ),
        Example(
            "def f(x):\n    b, t, d = x.shape\n    flat = x.reshape(b * t, d)\n"
            "    return (flat + 1).reshape(t, b, d)  #!\n",
            "by symbols",
        ),
        Example(_DEALT.format(apart="x.reshape(16, 4, 3).swapaxes(0, 1)", mark="  #!"), "dealt out one by one"),
        Example(
            """
            def board(paddle, rows, columns):
                y = jnp.repeat(jnp.arange(rows), columns)
                x = jnp.tile(jnp.arange(columns), rows)
                return (x * paddle[0] > y).reshape(columns, rows), (x == y).reshape(columns, rows)  #!

            def cells(rows, columns):
                places = jnp.array([[r, c] for r in range(rows) for c in range(columns)])
                return jax.vmap(jnp.sum)(places).reshape(columns, rows)  #!
            """,
            "counted row by row",
        ),
        Example(
            """
            def encode(encoder, images):
                b, t, h, w, c = images.shape
                tokens = encoder(images.reshape(b * t, h, w, c))
                return tokens.reshape(t, b, -1, tokens.shape[-1])  #?
            """,
            "images of all steps, and back",
        ),
        Example(
            "def heads(keys, groups):\n    b, t, h, d = keys.shape\n"
            "    return jnp.repeat(keys, groups, axis=2).reshape(b, t, groups, h, d)  #!\n",
            "each head repeated in place",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every reshape of an axis that an earlier reshape made."""
        shapes = facts.get(Shapes)
        found = (one for one in reshapes(facts.flow, shapes) if one.unflattens)
        # What was cut, moved and put together knows its parts better than the sizes tell.
        yield from (_judged(one) for one in found if astray(one.old, one.new) is None)
        yield from _come_back(facts, shapes) if shapes.look is None else ()
        for op in program.named("array.map", "py.call_library") if shapes.look is None else ():
            if (op.function in COMPARISONS or op.function == "subtract" or op.loss) and len(op.operands) == 2:
                yield from _compared(op, facts)


def _come_back(facts: Facts, shapes: Shapes) -> Iterator[Obligation]:
    """Judge reshapes of what code out of sight made of rows that were flattened: the rows come back as they went."""
    ops = list(facts.program.named("array.reshape"))
    flattened = [(op, parts) for op in ops if (parts := _rows_of(shapes.of(op.result))) is not None]
    for op in ops if flattened else ():
        new = shapes.of(op.result).dims or ()
        if op.base is None or shapes.of(op.base).dims is not None or len(new) < 2:
            continue
        for before, (outer, inner) in flattened:
            turned = same(new[0], inner) and same(new[1], outer) and not same(outer, inner)
            if (turned or (same(new[0], outer) and same(new[1], inner))) and depends(
                facts.flow, op.base, {before.result}
            ):
                yield _turned(op, before, outer, inner) if turned else unknown(op.span, _OUT_OF_SIGHT)
                break


_OUT_OF_SIGHT = "whether what happens to the rows in between leaves them in order is not known"


def _rows_of(fact: ShapeFact) -> tuple[Dim, Dim] | None:
    """Return the two axes that the first axis of an array was made of."""
    labels = fact.dims[0].labels if fact.dims else frozenset()
    factors = next((label.factors for label in labels if label.kind == "product"), ())
    return (factors[0], factors[1]) if len(factors) == 2 else None


def _turned(op: Op, before: Op, outer: Dim, inner: Dim) -> Obligation:
    first, second = shown(inner), shown(outer)
    return Obligation(
        op.span,
        severity=Severity.WARNING,
        message=f"rows that were flattened from ({second}, {first}) are taken apart as ({first}, {second})",
        current=f"what stands between is not in sight; if it keeps the rows, `{first}` and `{second}` are mixed",
        expected="axes are taken apart in the order in which they were made one",
        steps=(Step(before.span, "flattened here"),),
        suggestion="reshape in the old order, then transpose",
    )


def _compared(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge a comparison, element by element, of an axis whose parts stand in another order."""
    shapes, ask = facts.get(Shapes), roots(facts)
    for value, other in (op.operands, op.operands[::-1]):
        dims, others = shapes.of(value).dims or (), shapes.of(other).dims or ()
        for back in range(1, min(len(dims), len(others)) + 1):
            found = reordered(dims[-back])
            if found is None or not same(whole(dims[-back]), whole(others[-back])):
                continue
            if reordered(others[-back]) is not None:
                yield proved(op.span, "both were taken apart and put together in the same order")
            elif is_known(facts, ask(Slot(other, len(others) - back))):
                yield _other_order(op, *found)
            else:
                yield unknown(op.span, "whether both have their elements in one order is not known")


def _other_order(op: Op, run: Label, cut: Label) -> Obligation:
    steps = [Step(one.span, text) for one, text in ((cut.op, "taken apart here"), (run.op, "put together here")) if one]
    return Obligation(
        op.span,
        message="an axis whose parts were put together in another order is compared with one in the old order",
        current="the axis was cut in two, the parts changed places, and a reshape made one axis of them again",
        expected="elements that are compared stand in one order",
        steps=tuple(steps),
        suggestion="cut the axis so that the outer part comes first, or bring the parts back before the reshape",
    )


def _judged(one: Reshape) -> Obligation:
    span = one.op.span
    if not one.moved and not is_accounted_for(one.old, one.new):
        return unknown(span, f"which axes of {shape_of(one.old)} become which of {shape_of(one.new)} is not known")
    if not one.moved:
        return proved(span, f"taken apart as {shape_of(one.new)}, in the order it was made")
    return Obligation(
        span,
        message=f"`{one.moved}` was flattened in another order than {shape_of(one.new)} takes it apart",
        current=f"the axis was made of {shape_of(one.old)}; in it `{one.moved}` stands at another place",
        expected="axes are taken apart in the order in which they were made one",
        suggestion="reshape in the old order, then transpose",
    )
