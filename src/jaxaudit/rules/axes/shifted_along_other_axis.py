"""The rule `shifted-along-other-axis`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.axes.courses import Along, along, beside_grid
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, made_of, nothing, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import REST, Argument, Op, Program, Value
from jaxaudit.ir.interfaces import Recurrence
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts, is_whole
from jaxaudit.rules.axes._shared.mirrors import judged_mirrors
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


_MIRRORED = """
def pictures(key, n):
    ys, xs = jnp.meshgrid(jnp.arange(16), jnp.arange(16), indexing="ij")
    bars = jnp.where((ys < 5) & (xs < 9), 1.0, 0.0)
    return bars[None, :, :, None] + 0.1 * jax.random.uniform(key, (n, 16, 16, 3))


def mirror(key, picture):
    return {mirrored}{mark}


def augmented(key, batch):
    return jax.vmap(mirror)(jax.random.split(key, 8), batch)


augmented(jax.random.key(0), pictures(jax.random.key(1), 8))
"""

_CHOSEN = "jnp.where(jax.random.bernoulli(key), {}, picture)"
_BRANCHED = "jax.lax.cond(jax.random.uniform(key) < 0.5, lambda one: jnp.flip(one, axis={}), lambda one: one, picture)"


class ShiftedAlongOtherAxis(Rule):
    """An array is shifted along one axis, and filled or added up along another.

    ## What it does
    A cumulative function whose result is moved by one place (or which is given what was moved so) leaves out the
    element itself. It has to be moved along the very axis that is added up. What is mirrored by chance is mirrored
    along an axis that has an order, and not along one of its channels beside such an axis.

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
        Example(_MIRRORED.format(mirrored=_CHOSEN.format("picture[:, ::-1]"), mark=""), "mirrored along the width"),
        Example(_MIRRORED.format(mirrored="picture[..., ::-1]", mark=""), "the colours in another order"),
        Example(_MIRRORED.format(mirrored=_BRANCHED.format(1), mark=""), "on one side of a branch"),
        Example(_PROGRAM.format(axis=1, mark=""), "along time"),
        Example("def gradient(x):\n    return jnp.roll(x, -1, axis=0) - jnp.roll(x, 1, axis=0)\n", "it goes round"),
        Example(_WEIGHTS.format(axis=1, mark=""), "what comes before each sample"),
        Example(_PADDED.format(axis=-1, mark=""), "padded"),
        Example(
            "def through(alpha):\n    first = jnp.ones_like(alpha[:, :1])\n"
            "    return jnp.cumprod(jnp.concatenate([first, 1.0 - alpha[:, :-1]], axis=1), axis=1)\n",
            "calculated with after the cut",
        ),
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
        Example(
            _MIRRORED.format(mirrored=_CHOSEN.format("picture[:, :, ::-1]"), mark="  #!"), "mirrored along the colours"
        ),
        Example(_MIRRORED.format(mirrored=_BRANCHED.format(2), mark="  #!"), "on one side of a branch"),
        Example(_PROGRAM.format(axis=0, mark="  #!"), "along the batch"),
        Example(_WEIGHTS.format(axis=0, mark="  #!"), "multiplied up along the rays"),
        Example(_PADDED.format(axis=0, mark="  #!"), "moved before it is added up"),
        Example(
            "def through(alpha):\n    first = jnp.ones_like(alpha[:, :1])\n"
            "    return jnp.cumprod(jnp.concatenate([first, 1.0 - alpha[:, :-1]], axis=1), axis=0)  #!\n",
            "calculated with after the cut",
        ),
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
        yield from (_totalled(one, shapes) for one in _exclusive_totals(program, facts.flow))
        flow = facts.flow
        moved = (along(one.op, one.base, one.axis, shapes.of(one.base).dims, flow) for one in _shifts(program, flow))
        yield from (_neighbours(one) for one in moved if one is not None)
        rolled = (
            beside_grid(one.op, one.base, one.axis, shapes.of(one.base).dims) for one in _stencils(program, facts.flow)
        )
        # A ring of random numbers may well be there, once for each number of a sweep.
        yield from (_neighbours(one, Severity.WARNING) for one in rolled if one is not None)
        yield from judged_mirrors(program, facts)
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


def _totalled(one: _Exclusive, shapes: Shapes) -> Obligation:
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


@record
class _Shift:
    """An array moved by one place along an axis."""

    op: Op
    base: Value
    axis: int
    """Negative where it is counted from the back."""
    constant: bool = True
    """Whether a constant is put where nothing was."""


def _shift_of(op: Op, flow: Flow) -> _Shift | None:
    """Return the view of an op that moves an array by one place; None for any other."""
    if op.name == "array.join" and op.function == "concatenate":
        return _joined(op, flow)
    if op.name == "array.move" and op.function == "pad" and op.operands:
        return _padded(op, op, _cut_before(op.operands[0], flow))
    inner = flow.maker(op.operands[0]) if op.name == "py.item" and op.operands else None
    if inner is not None and inner.function == "pad" and (cut := _cut(op)) is not None:
        return _padded(op, inner, (inner.operands[0], *cut[1:]))
    return None


def _joined(op: Op, flow: Flow) -> _Shift | None:
    arrays, axis = op.argument("arrays", "operands"), op.argument("axis", "dimension")
    axis = 0 if axis is None else axis
    if not isinstance(arrays, tuple) or len(arrays) != 2 or not isinstance(axis, int):
        return None
    for kept, filler, last in ((arrays[1], arrays[0], True), (arrays[0], arrays[1], False)):
        cut = _cut_before(kept, flow) if isinstance(kept, Value) else None
        made = flow.maker(filler) if isinstance(filler, Value) else None
        if cut is not None and cut[2] is last:
            return _Shift(op, cut[0], axis, constant=made is not None and made.name == "array.create")
    return None


def _padded(op: Op, pad: Op, cut: tuple[Value, int, bool] | None) -> _Shift | None:
    width = pad.argument("pad_width")
    places = [at for at, one in enumerate(width) if one not in ((0, 0), 0)] if isinstance(width, tuple) else []
    if cut is None or not isinstance(width, tuple) or len(places) != 1:
        return None
    place = width[places[0]]
    fits = place == ((1, 0) if cut[2] else (0, 1))
    return _Shift(op, cut[0], places[0]) if fits else None


def _cut_before(value: Value, flow: Flow) -> tuple[Value, int, bool] | None:
    """Return what an array was cut out of, whatever its elements became one by one since."""
    return _cut(flow.maker(made_of(flow, value, _is_alone)))


def _cut(op: Op | None) -> tuple[Value, int, bool] | None:
    """Return the array that lost its last element along an axis, or its first, and along which."""
    parts = index_parts(op.arguments.get("index")) if op is not None and op.name == "py.item" else ()
    cuts = [at for at, part in enumerate(parts) if part != REST and not is_whole(part)]
    part = parts[cuts[0]] if len(cuts) == 1 else None
    base = None if op is None else op.value("base")
    if not isinstance(part, Mapping) or base is None or part.get("step") not in (None, 1):
        return None
    bounds = (part.get("start"), part.get("stop"))
    axis = cuts[0] - len(parts) if REST in parts[: cuts[0]] else cuts[0]
    last = bounds in ((None, -1), (0, -1))
    return (base, axis, last) if last or bounds == (1, None) else None


def _shifts(program: Program, flow: Flow) -> Iterator[_Shift]:
    """Return every array that is moved by one place, and every pair of stretches that differ by one place."""
    for op in program.named("array.join", "array.move", "py.item"):
        found = _shift_of(op, flow)
        yield from () if found is None else (found,)
    for op in program.named("array.map"):
        first, second, *_ = (*(_cut(flow.maker(one)) for one in op.operands), None, None)
        if first is not None and second is not None and first[:2] == second[:2] and first[2] is not second[2]:
            yield _Shift(op, first[0], first[1])


def _stencils(program: Program, flow: Flow) -> Iterator[_Shift]:
    """Return every array that is rolled by a fixed number of places, and whose neighbours are then calculated with."""
    through = through_ops("array.map")
    for op in program.named("array.move"):
        array, axis = op.argument("a"), op.argument("axis")
        if op.function != "roll" or not isinstance(array, Value) or not isinstance(axis, int):
            continue
        met = {*walk(op.results, lambda one: ahead(flow, one, through))}
        own = walk((array,), lambda one: ahead(flow, one, through))
        if isinstance(op.argument("shift"), int) and any(one in met for one in own):
            yield _Shift(op, array, axis)


@record
class _Exclusive:
    """A cumulative function and a shift of its result, or of what it is given."""

    total: Op
    shift: _Shift
    along: tuple[int | None, ...]
    """The axes of all cumulative functions that the array went through."""


def _exclusive_totals(program: Program, flow: Flow) -> Iterator[_Exclusive]:
    """Return every shift of an array that is added up, or multiplied up, right before or right after."""
    for op in program.named("array.join", "array.move", "py.item"):
        shift = _shift_of(op, flow)
        if shift is None or not shift.constant:
            continue
        before = [flow.maker(one) for one in walk((shift.base,), lambda one: _back(one, flow))]
        after = [reader for one in walk(op.results, lambda one: _on(one, flow)) for reader in flow.readers.get(one, ())]
        found = {one: None for one in (*before, *after) if one is not None and one.name == "array.scan"}
        views = [view for one in found if (view := Recurrence.of(one)) is not None]
        if views:
            yield _Exclusive(views[0].op, shift, tuple(view.axis for view in views))


def _is_alone(op: Op) -> bool:
    """Whether an op computes each element of one element of one array."""
    return op.name in PASSED_ON or (op.name == "array.map" and len(op.operands) == 1)


def _back(value: Value, flow: Flow) -> Iterator[Value]:
    op = flow.maker(value)
    if op is not None and Recurrence.of(op) is not None and op.name == "array.scan":
        yield from op.operands[:1]
    elif op is not None and _is_alone(op):
        yield from op.operands
    else:
        yield from behind(flow, value, nothing)


def _on(value: Value, flow: Flow) -> Iterator[Value]:
    yield from ahead(flow, value, _is_alone)
