"""The rule `length-as-rank`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.python_values import PythonValues, python_values
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown

_AXES = ("axis", "axes", "dim", "dims", "dimension", "dimensions", "axis1", "axis2", "source", "destination")
_TAKES_AXES = ("array.reduce", "array.permute", "array.expand", "array.squeeze", "array.normalise", "array.join")


class LengthAsRank(Rule):
    """The length of an array is taken for the number of its axes.

    ## What it does
    Follows `len(x)` of an array to the places where axes are named: `axis=`, `transpose`, `expand_dims`.

    ## Why is this bad?
    `len(x)` is the size of the first axis. It names an axis only by accident, and another batch size gives another
    axis, or an error.

    ## Example
        total = jnp.sum(x, axis=tuple(range(1, len(x))))

    ## Use instead
        total = jnp.sum(x, axis=tuple(range(1, x.ndim)))

    ## When it cannot tell
    `len` of something that may be a list or a shape is left open.
    """

    summary = "`len(x)` is the size of the first axis, but it is used as a number of axes."
    needs = (Shapes, TracingFacts)

    valid = """
    ## the rank itself, and a length
    def totals(x):
        x = jnp.abs(x)
        mean = jnp.sum(x) / len(x)
        return jnp.sum(x, axis=tuple(range(1, x.ndim))), x.sum(axis=len(x.shape) - 1), mean
    """
    invalid = """
    ## all axes but the first
    def totals(x):
        y = jnp.zeros((8, 4, 3)) + x
        return jnp.sum(y, axis=tuple(range(1, len(y))))  #!

    ## the last axis
    def last(x, n):
        y = jnp.zeros((n, 3)) + x
        return jax.nn.softmax(y, axis=len(y) - 1)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every op whose axes come from the length of an array."""
        shapes = facts.get(Shapes)
        values = python_values(facts)
        yield from (one for op in program.named(*_TAKES_AXES) for one in _judge(op, values, shapes))


def _judge(op: Op, values: PythonValues, shapes: Shapes) -> Iterator[Obligation]:
    for name in _AXES:
        given = op.arguments.get(name)
        if not any(True for _ in values_in(given)):
            continue
        made = list(_makers(given, values))
        found = next((one for one in made if one is not None and one.qualified == "len"), None)
        if found is None and None not in made:
            yield proved(op.span, f"no length goes into `{name}`")
        elif found is None or not _is_array(found.operands[0], values, shapes):
            yield unknown(op.span, f"what `{name}` is made of is not known, or what its length is taken of")
        else:
            yield Obligation(
                op.span,
                message=f"`{name}` comes from the length of an array, which is the size of its first axis",
                current="which axis is meant depends on the size of the data",
                expected="the number of axes",
                steps=(Step(found.span, "the size of the first axis"),),
                suggestion="use `x.ndim`",
            )


def _makers(argument: Argument, values: PythonValues) -> Iterator[Op | None]:
    """Return what made an argument, through arithmetic, ranges and tuples; None for what came from outside."""
    return (values.maker(one) for one in walk(values_in(argument), lambda one: _behind(values.maker(one))))


def _behind(op: Op | None) -> tuple[Value, ...]:
    if op is None or not (op.is_operator or op.name in ("py.container", "py.call_library", "py.join")):
        return ()
    return op.operands


def _is_array(value: Value, values: PythonValues, shapes: Shapes) -> bool:
    fact = shapes.of(value)
    if fact.dims is not None:
        # What has one axis may be a list of axes, whose length is how many there are.
        return len(fact.dims) > 1
    return values.is_jax_array(value)
