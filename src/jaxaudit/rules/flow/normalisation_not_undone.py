"""The rule `normalisation-not-undone`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Context, contexts, origin, part_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved

_FIT = """
def statistics(y):
    return y.mean(axis=0), y.std(axis=0) + 1e-6

def predict(w, x, given):
    mean, std = given
    return {undone}{mark}

def loss(w, x, y, given):
    mean, std = given
    return jnp.mean((x @ w - (y - mean) / std) ** 2)

def train(w, x, y):
    given = statistics(y)
    return w - 0.1 * jax.grad(loss)(w, x, y, given), predict(w, x, given)
"""


class NormalisationNotUndone(Rule):
    """A value is scaled back by the same two numbers that normalised it, in another order or direction.

    ## What it does
    Finds what is normalised as `(y - mean) / std`, and every other sum and product with the same two values. What is
    undone is `z * std + mean`; `(z + mean) * std`, `z / std + mean` and `z * mean + std` are something else.

    ## Why is this bad?
    Predictions are off by an offset that is scaled, or scaled the wrong way. The training loss is that of normalised
    values, so it looks right.

    ## Example
        target = (y - mean) / std
        return (model(x) + mean) * std

    ## Use instead
        target = (y - mean) / std
        return model(x) * std + mean

    ## When it cannot tell
    Where the two values are not seen to be those that normalised something.
    """

    summary = "A normalised value is scaled back in the wrong order."
    needs = ()

    valid = (
        Example(_FIT.format(undone="(x @ w) * std + mean", mark=""), "scaled, then shifted"),
        Example("def update(mean, x, n):\n    return mean + (x - mean) / n\n", "a running average"),
    )
    invalid = (
        Example(_FIT.format(undone="(x @ w + mean) * std", mark="  #!"), "shifted, then scaled"),
        Example(_FIT.format(undone="x @ w / std + mean", mark="  #!"), "scaled down again"),
        Example(_FIT.format(undone="(x @ w) * mean + std", mark="  #!"), "by each other's values"),
        Example(
            """
            class Scaler:
                def __init__(self, y):
                    self.low, self.width = y.min(), y.max() - y.min()

                def down(self, y):
                    return (y - self.low) / self.width

                def up(self, z):
                    return (z - self.low) * self.width  #!

            def main(y):
                scaler = Scaler(y)
                return scaler.up(jnp.tanh(scaler.down(y)))
            """,
            "shifted the same way",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sum and product by two values that normalise something."""
        found = [
            one for op in program.mapping("add", "subtract", "multiply", "divide") for one in _steps(op, facts.flow)
        ]
        down = {(one.shift, one.scale): one.op for one in found if one.written == "(y - m) / s"}
        for one in found:
            normal = down.get((one.shift, one.scale))
            if normal is not None and one.written == "y * s + m":
                yield proved(one.op.span, f"it undoes what line {normal.span.line} does")
            elif normal is not None and normal not in (one.op, one.before) and one.written != "(y - m) / s":
                yield _finding(one, normal)
        swapped = ((one, down.get((one.scale, one.shift))) for one in found if one.written == "y * s + m")
        yield from (_finding(one, normal) for one, normal in swapped if normal is not None)


@record
class _Affine:
    """A value that is shifted by one value and scaled by another."""

    op: Op
    before: Op
    """What comes first of the two."""
    shift: tuple[object, ...]
    scale: tuple[object, ...]
    written: str


_WRITTEN = {
    "divide": {"subtract": "(y - m) / s"},
    "multiply": {"subtract": "(y - m) * s", "add": "(y + m) * s"},
    "add": {"multiply": "y * s + m", "divide": "y / s + m"},
    "subtract": {"multiply": "y * s - m"},
}
"""How a value is shifted and scaled, by the function that comes last and the one before it."""


def _steps(op: Op, flow: Flow) -> Iterator[_Affine]:
    """Return the two values that an op and the one before it shift and scale something by."""
    for inner, outer in _sides(op, flow):
        before = flow.maker(inner)
        written = (
            None
            if before is None or op.backward or op.is_derived
            else _WRITTEN.get(op.function, {}).get(before.function)
        )
        for _, other in _sides(before, flow) if before is not None and written is not None else ():
            for context in contexts(flow, op) if before is not None and written is not None else ():
                last, first = _who(flow, outer, context), _who(flow, other, context)
                shift, scale = (last, first) if op.function in SUMS_OF_TWO else (first, last)
                if shift != scale:
                    yield _Affine(op, before or op, shift, scale, written or "")


def _sides(op: Op, flow: Flow) -> Iterator[tuple[Value, Value]]:
    """Return what an op changes, and by what: either of two that may change places."""
    x, y = op.value("x"), op.value("y")
    if x is not None and y is not None:
        yield x, y
        if op.function in ("add", "multiply"):
            yield y, x


def _who(flow: Flow, value: Value, context: Context) -> tuple[object, ...]:
    """Return what a value is, without the small number that keeps it away from zero."""
    found = origin(flow, value, context, each_element=True)
    if found.op is not None and found.op.function == "add" and len(found.op.operands) == 1:
        return part_of(flow, found.op.operands[0], found.context, each_element=True)
    return part_of(flow, value, context, each_element=True)


def _finding(one: _Affine, normal: Op) -> Obligation:
    return Obligation(
        one.op.span,
        message=f"what was normalised on line {normal.span.line} is not scaled back by this",
        current=f"this is `{one.written}` with the two values of `(y - m) / s`",
        expected="`y * s + m` undoes it: scaled first, then shifted",
        steps=(Step(normal.span, "the same two values normalise here"),),
        suggestion="multiply by what it was divided by, then add what was subtracted",
    )
