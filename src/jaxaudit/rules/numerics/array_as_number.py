"""The rule `array-as-number`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE, differ, product
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Raises, Rule, named, proved, unknown

_ONE_NUMBER = ("float", "int", "bool", "complex", "item")


class ArrayAsNumber(Rule):
    """An array with several elements is turned into one number of Python.

    ## What it does
    Compares the size of what `float`, `int`, `bool`, `complex` and `.item()` are given with one.

    ## Why is this bad?
    It raises, mostly far behind the mistake: a loss that was not averaged, or results that were unpacked in another
    order than the function gives them.

    ## Example
        loss = (x @ w - y) ** 2
        print(float(loss))

    ## Use instead
        loss = jnp.mean((x @ w - y) ** 2)
        print(float(loss))

    ## When it cannot tell
    When the shape is not known, or a size of it is a symbol.
    """

    summary = "`float(x)`, `int(x)` or `x.item()` of an array that has more than one element."
    needs = (Shapes,)

    valid = """
    ## one element, or none known
    def report(x, n):
        y = jnp.ones((3, 4))
        return float(y.mean()), int(y[:1, :1].sum()), y[0, 0].item(), float(x), float(jnp.ones(n)), y.item(3)
    """
    invalid = """
    ## a loss of each example
    def report():
        loss = (jnp.ones((8, 3)) @ jnp.ones(3) - jnp.zeros(8)) ** 2
        print(float(loss))  #!

    ## what was returned beside the loss
    def loss(w, x):
        hidden = jnp.tanh(x @ w)
        return hidden.mean(), hidden

    def train(w):
        (hidden, value), slope = jax.value_and_grad(loss, has_aux=True)(w, jnp.ones((5, 3)))
        return float(value)  #!

    train(jnp.ones((3, 2)))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every conversion to a number of Python."""
        shapes = facts.get(Shapes)
        found = (op for op in program.named("py.to_python") if op.function in _ONE_NUMBER and op.operands)
        for op in (one for one in found if len(one.arguments) == 1):
            yield from (_judge(op, context) for context in shapes.contexts(op) or (Context(op, {}),))


def _judge(op: Op, context: Context) -> Obligation:
    value = op.operands[0]
    dims = context.of(value).dims
    size = None if dims is None else product(dims)
    if dims is None or size is None:
        return unknown(op.span, f"how many elements {named(value)} has is not known")
    if size == ONE:
        return proved(op.span, f"{named(value, 'what it is given')} is one number")
    return _several(op, value, shape_text(dims)) if differ(size, ONE) else unknown(op.span, "its size is a symbol")


def _several(op: Op, value: Value, shape: str) -> Obligation:
    return Obligation(
        op.span,
        message=f"`{op.function}` needs one number, but {named(value, 'what it is given')} has shape {shape}",
        current="this raises a TypeError, or a ValueError",
        raises=Raises.TRACING,
        expected="an array with one element",
        suggestion="reduce it first, or take one element of it",
    )
