"""The rule `batched-argument-broadcast`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.axes.meetings import Side, taken_sides
from jaxaudit.analyses.dims import Dim, differ, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import related
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, operands_of, reached, walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.mapped import axes_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.record import record
from jaxaudit.rules.axes._shared.hidden import hiding_reduction
from jaxaudit.rules.axes._shared.phrases import axis_of, name_of, shape_of
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown

_PROGRAM = """
BATCH = 32


def error(w, x, y):
    return (jnp.dot(w, x) - y) ** 2


def loss(w, xs, ys):
    return jnp.mean(jax.vmap(error, in_axes=(None, 0, {axis}))(w, xs, ys)){mark}


loss(jnp.zeros(3), jnp.zeros((BATCH, 3)), jnp.zeros(BATCH))
"""


class BatchedArgumentBroadcast(Rule):
    """An argument that has the mapped axis is not mapped, so that every element meets the whole batch.

    ## What it does
    Finds arguments of a `vmap` with `None` in `in_axes` that have the axis which the others are mapped over, where
    the function combines them elementwise with what it computes of one element, and the result has the axis twice. It
    is an error where the sum or mean over everything then hides the second axis.

    ## Why is this bad?
    The prediction of each example is compared with the targets of all: `(batch, batch)` numbers instead of `batch`.
    Their mean is a loss that falls, towards predicting the mean of all targets.

    ## Example
        errors = jax.vmap(error, in_axes=(None, 0, None))(params, xs, ys)
        errors.mean()

    ## Use instead
        errors = jax.vmap(error, in_axes=(None, 0, 0))(params, xs, ys)
        errors.mean()

    ## When it cannot tell
    When the size of the batch is a plain number. Distances between all pairs, where the elements themselves are
    combined, are taken as meant.
    """

    summary = "An argument that belongs to the batch is given whole to every element."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(axis=0, mark=""), "mapped"),
        Example(
            "def spread(x):\n    n = x.shape[0]\n"
            "    return jax.vmap(lambda a, b: jnp.abs(a - b), in_axes=(0, None))(x, jnp.zeros(n)).mean()\n",
            "distances between all pairs",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(axis=None, mark="  #!"), "every prediction against all targets"),
        Example(
            "\n\ndef gap(w, x):\n    return jnp.dot(w, x) - 1.0\n"
            + _PROGRAM.format(axis=None, mark="  #!").replace("(jnp.dot(w, x) - y) ** 2", "y * gap(w, x)"),
            "computed in a function of its own",
        ),
        Example(
            """
            def error(w, x, y):
                return jnp.mean((x @ w - y) ** 2)

            def loss(n):
                w, x, y = jnp.ones((3, 2)), jnp.ones((n, 3)), jnp.ones((n, 2))
                return jax.vmap(error, in_axes=(None, 0, None))(w, x, y).mean()  #!
            """,
            "averaged inside",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every argument that is not mapped while others are."""
        shapes = facts.get(Shapes)
        yield from (one for op in program.named("vmap") if op.regions for one in _judged(op, shapes, facts.flow))


@record
class _Shared:
    """An operand that is not mapped and has the mapped axis."""

    op: Op
    position: int
    dims: tuple[Dim, ...]
    mapped: Side


def _judged(op: Op, shapes: Shapes, flow: Flow) -> Iterator[Obligation]:
    for context in shapes.contexts(op):
        found = list(_shared(op, context))
        axes = axes_of(op)
        if not any(isinstance(axis, int) for axis in axes):
            # Nothing is mapped, so there is no axis to have; `in-axes-structure-mismatch` says so.
            continue
        if not found and None in axes and not _are_known(op, context):
            yield unknown(op.span, "the shapes of the arguments are not all known")
        elif not found and None in axes and _may_have_axis(op, context):
            yield unknown(op.span, "an argument that is not mapped has as many entries as are mapped, maybe by chance")
        elif not found and None in axes:
            yield proved(op.span, "no argument that is not mapped has the mapped axis")
        for one in found:
            met = _met(one, flow, shapes)
            inside = None if met is None else hiding_reduction(met, flow, shapes)
            if met is None or not (inside is not None or _twice(one, context)):
                reason = "an argument with the mapped axis is given whole; the elements may be meant to meet all of it"
                yield unknown(op.span, reason)
            else:
                yield _finding(one, met, inside or hiding_reduction(op, flow, shapes))


def _shared(op: Op, context: Context) -> Iterator[_Shared]:
    sides = taken_sides(op, context.of)
    taken = {side.value for side in sides}
    for position, (value, axis) in enumerate(zip(op.operands, axes_of(op), strict=True)):
        dims = context.of(value).dims if axis is None and value not in taken else None
        side = next((one for one in sides if dims and _is_one(dims[0], one.dim)), None)
        if dims and side is not None:
            yield _Shared(op, position, dims, side)


def _are_known(op: Op, context: Context) -> bool:
    """Whether the mapped axis is known, and the first axis of each argument that is not mapped."""
    whole = [context.of(value).dims for value, axis in zip(op.operands, axes_of(op), strict=True) if axis is None]
    firsts = all(dims is not None and all(dim.known for dim in dims[:1]) for dims in whole)
    return firsts and any(side.dim.known for side in taken_sides(op, context.of))


def _may_have_axis(op: Op, context: Context) -> bool:
    """Whether the first axis of an argument that is not mapped may be the mapped one, as far as sizes tell."""
    sizes = [side.dim for side in taken_sides(op, context.of)]
    whole = [context.of(value).dims for value, axis in zip(op.operands, axes_of(op), strict=True) if axis is None]
    return any(not differ(dims[0], size) for dims in whole if dims for size in sizes)


def _is_one(first: Dim, second: Dim) -> bool:
    return same(first, second) and (first.constant is None or related(first.labels, second.labels))


def _met(one: _Shared, flow: Flow, shapes: Shapes) -> Op | None:
    """Return the elementwise op where the whole batch meets what was computed of one element."""
    region = one.op.regions[0]
    if len(region.params) != len(one.op.operands):
        return None
    mapped = [param for param, axis in zip(region.params, axes_of(one.op), strict=True) if isinstance(axis, int)]
    computed = reached(flow, mapped).difference(mapped)
    for op in flow.readers.get(region.params[one.position], ()):
        others = [value for value in op.operands if value is not region.params[one.position]]
        if op.name == "array.map" and len(others) == 1 and others[0] in computed:
            inner = shapes.of(others[0]).dims
            if inner is not None and len(inner) < len(one.dims) and _is_made(others[0], region.params, mapped, flow):
                return op
    return None


def _is_made(value: Value, params: Sequence[Value], mapped: list[Value], flow: Flow) -> bool:
    """Whether a value is computed of an element and something else, as a prediction is."""
    ways = walk((value,), lambda one: () if one in params else behind(flow, one))
    given = (operands_of(flow, one) for one in ways if one not in params)
    return any(len(operands) > 1 and not set(operands) <= set(mapped) for operands in given)


def _twice(one: _Shared, context: Context) -> bool:
    """Whether a result of the map has the mapped axis a second time."""
    for value in one.op.results:
        dims = context.of(value).dims
        if dims and sum(_is_one(dim, one.mapped.dim) for dim in dims) > 1:
            return True
    return False


def _finding(one: _Shared, met: Op, hidden: Op | None) -> Obligation:
    value = one.op.operands[one.position]
    axis = axis_of(one.dims[0])
    steps = (Step(met.span, f"all of {name_of(value)} meets what was computed of one element"),)
    if hidden is not None:
        steps = (*steps, Step(hidden.span, "both axes are reduced together"))
    return Obligation(
        one.op.span,
        severity=Severity.WARNING if hidden is None else Severity.ERROR,
        message=f"{name_of(value)} has the mapped axis `{axis}` but is given whole to every element",
        current=f"each of `{axis}` meets all of {name_of(value)} {shape_of(one.dims)}, and not its own row alone",
        expected=f"{name_of(value)} is mapped with {name_of(one.mapped.value)}",
        steps=steps,
        suggestion=f"give {name_of(value)} the entry `0` in `in_axes`",
    )
