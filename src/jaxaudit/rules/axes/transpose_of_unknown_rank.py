"""The rule `transpose-of-unknown-rank`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import made_by, through_ops, walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import ELEMENTWISE
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown


class TransposeOfUnknownRank(Rule):
    """An array with more than two axes is transposed without saying which axes.

    ## What it does
    Finds `.T` and `transpose()` without axes of arrays that have more than two axes, or two in one call and more in
    another. It is an error where the result is multiplied with an array whose leading axes then meet the wrong ones.

    ## Why is this bad?
    `.T` turns the order of all axes round. `(batch, time, features).T` is `(features, time, batch)`, where most people
    mean `(batch, features, time)`. Where sizes agree, or a broadcast helps, nothing is raised.

    ## Example
        batch, time, features = q.shape
        scores = q @ k.T

    ## Use instead
        batch, time, features = q.shape
        scores = q @ k.swapaxes(-1, -2)

    ## When it cannot tell
    When the rank is not known. `(x.T * w).T`, which weighs along the first axis, is taken as meant.
    """

    summary = "`.T` of an array with more than two axes turns all of them round."
    needs = (Shapes,)

    valid = (
        Example("y = jnp.ones((4, 3)).T\n", "two axes"),
        Example("y = jnp.ones((4, 3, 2)).transpose(0, 2, 1)\n", "axes are named"),
        Example("def f(w):\n    x = jnp.ones((4, 3, 2))\n    return (x.T * w).T\n", "there and back again"),
    )
    invalid = (
        Example("y = jnp.ones((4, 3, 2)).T  #?\n", "three axes"),
        Example(
            "def flip(x):\n    return jnp.transpose(x)  #?\n\n"
            "a, b = flip(jnp.ones((4, 3))), flip(jnp.ones((5, 4, 3)))\n",
            "two axes here, three there",
        ),
        Example(
            "def scores(q):\n    batch, time, features = q.shape\n    return q @ q.T  #!\n",
            "the batch meets the features",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every transpose without axes."""
        shapes = facts.get(Shapes)
        flow = facts.flow
        bare = [op for op in program.named("array.permute") if _is_bare(op)]
        yield from (_judge(op, shapes, flow) for op in bare)


def _is_bare(op: Op) -> bool:
    if op.function not in ("T", "transpose", "permute_dims"):
        return False
    given = op.arguments.get("axes", op.arguments.get("permutation"))
    return given in (None, ()) and not {"*", "**"} & set(op.arguments)


def _judge(op: Op, shapes: Shapes, flow: Flow) -> Obligation:
    base = op.base
    contexts = () if base is None else [context.of(base) for context in shapes.contexts(op)]
    known = [fact.dims for fact in contexts if fact.dims is not None]
    high = next((dims for dims in known if len(dims) > 2), None)
    if not known or (high is None and len(known) < len(contexts)):
        return unknown(op.span, "the rank of what is transposed is not known")
    if high is None:
        return proved(op.span, "what is transposed has at most two axes")
    if _comes_back(op.result, flow):
        return proved(op.span, "the axes are turned back after an elementwise step")
    product = next((one for one in flow.readers.get(op.result, ()) if _is_crossed(one, op.result, shapes)), None)
    return _finding(op, high, product, fixed=all(len(dims) == len(high) for dims in known))


def _comes_back(value: Value, flow: Flow) -> bool:
    """Whether a value goes through elementwise ops alone to another transpose without axes."""
    through = through_ops(*ELEMENTWISE)
    for one in walk((value,), lambda one: made_by(flow, one, through)):
        readers = flow.readers.get(one, ())
        back = (through(op) or (op.name == "array.permute" and _is_bare(op)) for op in readers)
        if not readers or one in flow.leaving or not all(back):
            return False
    return True


def _is_crossed(op: Op, turned: Value, shapes: Shapes) -> bool:
    """Whether a product takes the leading axes of two arrays for one, one of which is turned round."""
    if op.name != "array.dot" or op.function != "matmul" or len(op.operands) != 2:
        return False
    contexts = shapes.contexts(op)
    return bool(contexts) and all(_crosses(op, turned, context) for context in contexts)


def _crosses(op: Op, turned: Value, context: Context) -> bool:
    other = next((value for value in op.operands if value is not turned), None)
    ours, theirs = context.of(turned).dims, None if other is None else context.of(other).dims
    return ours is not None and theirs is not None and len(ours) == len(theirs) > 2


def _finding(op: Op, dims: Dims, product: Op | None, *, fixed: bool) -> Obligation:
    rank = f"{len(dims)} axes" if fixed else f"two axes in one call and {len(dims)} in another"
    steps = () if product is None else (Step(product.span, "the product takes the leading axes for the same batch"),)
    return Obligation(
        op.span,
        severity=Severity.WARNING if product is None else Severity.ERROR,
        message=f"a transpose without axes of an array with {rank} turns all of them round",
        current=f"{shape_text(dims)} becomes {shape_text(dims[::-1])}",
        expected="the axes that are meant change places, and the others stay",
        steps=steps,
        suggestion="use `swapaxes(-1, -2)` or `.mT`, or name all axes",
    )
