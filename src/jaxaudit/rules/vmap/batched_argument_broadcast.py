"""The rule `batched-argument-broadcast`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.axes import Axes, Cause, Conflict
from jaxaudit.analyses.axes.meetings import taken_sides
from jaxaudit.analyses.dims import differ
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.mapped import axes_of
from jaxaudit.ir import Op, Program
from jaxaudit.ir.ops import MAPPED
from jaxaudit.rules.axes._shared.phrases import axes_facts, axis_of, name_of, names_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.vmap._shared.wholes import Fate, Whole, fate, is_bent, is_made, wholes

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
    Finds what a map gives whole to every element, by `None` in `in_axes` or because the function captures it, although
    it has the axis that the others are mapped over. It follows that axis from where it meets what was computed of one
    element to where it ends. It is an error where a sum or mean over everything hides it, and what met it is a
    prediction, or each row belongs to one element because both were computed row by row of the same thing.

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
    When sizes are plain numbers and nothing else says that the axes are one, it is a warning. Distances between all
    pairs, where the elements themselves are combined, are taken as meant; so is every use of the second axis by itself:
    a softmax, a product, the diagonal.
    """

    summary = "An argument that belongs to the batch is given whole to every element."
    needs = (Shapes, Axes)

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
        Example(
            """
            ATOMS = 20
            KINDS = jnp.array([0] * 10 + [1] * 10)

            def energy(depths, place, kind, places):
                return depths[kind] * jnp.sum((places - place) ** 2)

            def total(depths, places):
                return jax.vmap(energy, in_axes=(None, 0, None, None))(depths, places, KINDS, places).sum()  #!

            def expected(depths, places):
                return (depths[KINDS][:, None] * places).sum()

            places = jnp.ones((ATOMS, 3))
            total(jnp.ones(2), places), expected(jnp.ones(2), places)
            """,
            "one for each atom, as another function shows",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every map with something that its elements share."""
        yield from (_met_whole(one) for one in axes_facts(facts).caused(Cause.WHOLE) if one.blamed.name in MAPPED)
        ops = [op for op in program.named("vmap", "pmap", "map", "scan") if op.regions]
        yield from (one for op in ops for one in _judged(op, facts))


def _met_whole(conflict: Conflict) -> Obligation:
    """Tell of something with the mapped axis that is given whole, and whose axis meets another one."""
    here, other = names_of(conflict)
    value, place = conflict.fitting or (conflict.astray.value, conflict.astray.place)
    return violated(
        conflict,
        f"{name_of(value)} has the mapped axis `{here}` but is given whole to every element",
        f"each element has its own entry of {name_of(value)}; here all of `{here}` meet `{other}`",
        f"map {name_of(value)} too, along axis {place}",
    )


def _judged(op: Op, facts: Facts) -> Iterator[Obligation]:
    shapes, flow = facts.get(Shapes), facts.flow
    for context in shapes.contexts(op):
        axes = axes_of(op) if op.name in MAPPED else (0,)
        if not any(isinstance(axis, int) for axis in axes):
            # Nothing is mapped, so there is no axis to have; `in-axes-structure-mismatch` says so.
            continue
        found = list(wholes(op, context, facts))
        judged = [_finding(one, fate(one, shapes, flow), flow) for one in found]
        yield from (one for one in judged if one is not None)
        if None in axes and not any(judged):
            yield _silent(op, context, [one for one in found if one.sure])


def _silent(op: Op, context: Context, found: Sequence[Whole]) -> Obligation:
    """Return what is to be said of a map that shares arguments, where nothing is found."""
    if found:
        return unknown(
            op.span, "an argument with the mapped axis is given whole; the elements may be meant to meet all of it"
        )
    if not _are_known(op, context):
        return unknown(op.span, "the shapes of the arguments are not all known")
    if _may_have_axis(op, context):
        return unknown(op.span, "an argument that is not mapped has as many entries as are mapped, maybe by chance")
    return proved(op.span, "no argument that is not mapped has the mapped axis")


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


def _severity(one: Whole, end: Fate, flow: Flow) -> Severity | None:
    """Return how bad it is that the elements meet all rows; None where that may well be meant."""
    if end.meant is not None or not end.met or not (end.hidden is not None or end.twice):
        return None
    if any(is_made(value, one, flow) for _, value in end.met):
        return Severity.ERROR if one.sure and end.hidden is not None else Severity.WARNING
    if end.hidden is None or not one.sure or (end.inside and not one.row):
        # The sum over all rows is a way to meet all of them.
        return None
    if one.paired:
        # Statistics of two samples compare rows of one shape, all with all.
        alone = end.inside or len(one.row) != len(one.mapped.dims) - 1
        return Severity.ERROR if alone else Severity.WARNING
    return Severity.WARNING if end.inside and is_bent(end.hidden, flow) else None


def _finding(one: Whole, end: Fate, flow: Flow) -> Obligation | None:
    severity = _severity(one, end, flow)
    if severity is None:
        return None
    value, axis = one.outside, axis_of(one.mapped.dim)
    steps = tuple(Step(op.span, f"all of {name_of(value)} meets what was computed of one element") for op, _ in end.met)
    if end.hidden is not None:
        steps = (*steps[:1], Step(end.hidden.span, "both axes are reduced together"))
    argument = value in one.op.operands
    return Obligation(
        one.op.span,
        severity=severity,
        message=f"{name_of(value)} has the mapped axis `{axis}` but is given whole to every element",
        current=f"each of `{axis}` meets all of {name_of(value)} {shape_of(one.dims)}, and not its own row alone",
        expected=f"{name_of(value)} is mapped with {name_of(one.mapped.value)}",
        steps=steps[:2],
        suggestion=f"give {name_of(value)} the entry `{one.place}` in `in_axes`"
        if argument
        else f"make {name_of(value)} an argument of the mapped function, and map it with {name_of(one.mapped.value)}",
    )
