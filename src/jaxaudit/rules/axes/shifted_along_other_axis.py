"""The rule `shifted-along-other-axis`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.axes.courses import Along, along, beside_grid
from jaxaudit.analyses.axes.shifts import Exclusive, exclusive_totals, shifts, stencils
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import ahead, nothing, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import REST, Argument, Op, Program
from jaxaudit.ir.values import index_parts, is_whole
from jaxaudit.rules.axes._shared.phrases import axis_of, makers, name_of, shape_of
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown

_PROGRAM = """
def shift_right(tokens, start):
    shifted = jnp.roll(tokens, 1, axis={axis}){mark}
    return shifted.at[:, 0].set(start)
"""


_WEIGHTS = """
def weights(density, gaps):
    alpha = 1.0 - jnp.exp(-density * gaps)
    through = jnp.cumprod(1.0 - alpha, axis={axis}){mark}
    return alpha * jnp.concatenate([jnp.ones_like(through[:, :1]), through[:, :-1]], axis=1)
"""

_EPISODES = """
def episode(key):
    def step(x, key):
        x = x + jax.random.normal(key)
        return x, x

    return jax.lax.scan(step, 0.0, jax.random.split(key, 50))[1]


def differences(values, last):
    return jnp.concatenate([{later}], axis={axis}) - values{mark}


values = jax.vmap(episode)(jax.random.split(jax.random.key(0), 8))
differences(values, jnp.zeros({shape}))
"""

_PADDED = """
def light(depth):
    before = jnp.pad(depth[..., :-1], ((0, 0), (1, 0)))
    return jnp.exp(-before.cumsum(axis={axis})){mark}


light(jnp.ones((4, 9)))
"""


_STENCIL = """
def waves(key):
    x = jnp.linspace(0.0, 1.0, 50)
    u = jnp.sin(x - jax.random.uniform(key, (8, 1)))
    return jnp.roll(u, -1, axis={axis}) - u{mark}
"""


class ShiftedAlongOtherAxis(Rule):
    """An array is shifted along one axis, and filled or added up along another.

    ## What it does
    A cumulative function whose result is moved by one place (or which is given what was moved so) leaves out the
    element itself. It has to be moved along the very axis that is added up.

    Neighbours along an axis with one element for each key have nothing to do with one another: an array that has an
    axis with an order as well (the steps of a scan) is shifted along that.

    `jnp.roll` brings what falls off one end back in at the other, so a shift replaces that end. Where an end of an
    array that was just rolled is set, it has to be an end of the very axis it was rolled along.

    ## Why is this bad?
    Rolled along the batch, each sequence gets its neighbour's tokens, and the first token of each is overwritten
    though nothing has come round to it. The shapes are right, and the model learns from other examples.

    ## Example
        shifted = jnp.roll(tokens, 1, axis=0)  # (batch, time)
        shifted.at[:, 0].set(start)

    ## Use instead
        shifted = jnp.roll(tokens, 1, axis=1)  # (batch, time)
        shifted.at[:, 0].set(start)

    ## When it cannot tell
    When one axis is counted from the front and the other from the back, and the rank is not known. A roll whose ends
    are left alone goes round on purpose, and is not listed.
    """

    summary = "An array is shifted along one axis, and filled or added up along another."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(axis=1, mark=""), "along time"),
        Example("def gradient(x):\n    return jnp.roll(x, -1, axis=0) - jnp.roll(x, 1, axis=0)\n", "it goes round"),
        Example(_WEIGHTS.format(axis=1, mark=""), "what comes before each sample"),
        Example(_PADDED.format(axis=-1, mark=""), "padded"),
        Example(_EPISODES.format(later="values[:, 1:], last", axis=1, shape="(8, 1)", mark=""), "the next step"),
        Example(
            "def table(x):\n    sums = x.cumsum(axis=0).cumsum(axis=1)\n"
            "    return jnp.concatenate([jnp.zeros_like(sums[:1]), sums[:-1]])\n",
            "added up along both",
        ),
        Example(
            "def migrate(x):\n    return x.at[:, -1].set(jnp.roll(x[:, 0], 1, axis=0))\n",
            "what is rolled goes elsewhere",
        ),
        Example(_STENCIL.format(axis=1, mark=""), "each place with the next one"),
    )
    invalid = (
        Example(_PROGRAM.format(axis=0, mark="  #!"), "along the batch"),
        Example(_WEIGHTS.format(axis=0, mark="  #!"), "multiplied up along the rays"),
        Example(_PADDED.format(axis=0, mark="  #!"), "moved before it is added up"),
        Example(_EPISODES.format(later="values[1:], last", axis=0, shape="(1, 50)", mark="  #!"), "the next episode"),
        Example(
            _EPISODES.partition("def differences")[0]
            + "values = jax.vmap(episode)(jax.random.split(jax.random.key(0), 8))\n"
            "change = values[1:] - values[:-1]  #!\n",
            "from episode to episode",
        ),
        Example(_STENCIL.format(axis=0, mark="  #?"), "each with its neighbour at the same place"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every end that is set of an array that was rolled, and every shift of what is added up."""
        shapes = facts.get(Shapes)
        yield from (_totalled(one, shapes) for one in exclusive_totals(program, facts.flow))
        moved = (along(one.op, one.base, one.axis, shapes.of(one.base).dims) for one in shifts(program, facts.flow))
        yield from (_neighbours(one) for one in moved if one is not None)
        rolled = (
            beside_grid(one.op, one.base, one.axis, shapes.of(one.base).dims) for one in stencils(program, facts.flow)
        )
        # A ring of random numbers may well be there, once for each number of a sweep.
        yield from (_neighbours(one, Severity.WARNING) for one in rolled if one is not None)
        for op in program.named("array.move"):
            axis = op.argument("axis")
            if op.function == "roll" and isinstance(axis, int):
                names = [*walk(op.results[:1], lambda one: ahead(facts.flow, one, nothing))]
                for fill in (
                    one for name in names for one in facts.flow.readers.get(name, ()) if one.function == "set"
                ):
                    filled = fill.name == "array.scatter" and fill.value("base") in names
                    place = _end(fill.arguments.get("index")) if filled else None
                    if place is not None:
                        yield _judged(op, axis, fill, place, shapes.of(op.results[0]).rank)


def _neighbours(one: Along, severity: Severity = Severity.ERROR) -> Obligation:
    if one.ordered is None:
        return proved(one.op.span, f"it is shifted along `{axis_of(one.dims[one.place])}`, which has an order")
    here, there = axis_of(one.dims[one.place]), axis_of(one.dims[one.ordered])
    return Obligation(
        one.op.span,
        severity=severity,
        message=f"{name_of(one.array)} is shifted along `{here}`, whose elements do not follow one another",
        current=f"it is {shape_of(one.dims)}; each of `{here}` is taken with a neighbour that is independent of it",
        expected=f"it is shifted along axis {one.ordered}, `{there}`, which has an order",
        steps=makers(one.dims[one.place], one.dims[one.ordered]),
        suggestion=f"shift along axis {one.ordered}",
    )


def _totalled(one: Exclusive, shapes: Shapes) -> Obligation:
    rank = shapes.of(one.shift.base).rank
    given = (*one.along, one.shift.axis)
    known = [axis % rank if rank else axis for axis in given if axis is not None]
    if known[-1] in known[:-1]:
        return proved(one.total.span, "it is shifted along the axis that it is added up along")
    if len(known) < len(given) or len({axis < 0 for axis in known}) > 1:
        return unknown(one.total.span, "whether it is shifted along the axis it is added up along is not known")
    function = one.total.function
    return Obligation(
        one.total.span,
        message=f"`{function}` goes along axis {known[0]}, and what it is about is shifted along axis {known[-1]}",
        current=f"each place has the total up to itself along axis {known[0]}, of its neighbour along axis {known[-1]}",
        expected="a shift leaves the place itself out of the total: both are along one axis",
        steps=(Step(one.shift.op.span, f"shifted by one along axis {known[-1]} here"),),
        suggestion=f"use `axis={known[-1]}` in `{function}`",
    )


def _end(index: Argument) -> int | None:
    """Return the axis at whose end an index takes everything; from the back where an ellipsis stands before it."""
    parts = index_parts(index)
    ends = [place for place, part in enumerate(parts) if _is_end(part)]
    others = (part for place, part in enumerate(parts) if place not in ends)
    if len(ends) != 1 or not all(part == REST or is_whole(part) for part in others):
        return None
    return ends[0] - len(parts) if REST in parts[: ends[0]] else ends[0]


def _is_end(part: Argument) -> bool:
    if isinstance(part, Mapping):
        start, stop = part.get("start"), part.get("stop")
        first = start in (None, 0) and isinstance(stop, int) and stop > 0
        return first or (isinstance(start, int) and start < 0 and stop is None)
    return isinstance(part, int) and part in (0, -1)


def _judged(op: Op, axis: int, fill: Op, place: int, rank: int | None) -> Obligation:
    if rank is not None:
        axis, place = axis % max(rank, 1), place % max(rank, 1)
    if axis == place:
        return proved(op.span, "the end is filled of the axis that it is rolled along")
    if (axis < 0) is not (place < 0):
        return unknown(op.span, "whether the end that is filled is of the axis it is rolled along is not known")
    return Obligation(
        op.span,
        message=f"this is rolled along axis {axis}, and then the end of axis {place} is filled",
        current=f"what comes round along axis {axis} stays, and good entries of axis {place} are overwritten",
        expected="the end is filled of the axis that is shifted",
        steps=(Step(fill.span, f"the end of axis {place} is filled here"),),
        suggestion=f"roll along `axis={place}`",
    )
