"""The rule `wrong-axis-mapped`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.axes.meetings import Side, taken_sides
from jaxaudit.analyses.axes.normalised import plain
from jaxaudit.analyses.axes.series import Series, series
from jaxaudit.analyses.dims import ONE, Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import related
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.analyses.shapes.mapped import axes_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record
from jaxaudit.rules.axes._shared.phrases import (
    agreements,
    axes_facts,
    axis_of,
    both,
    makers,
    name_of,
    shape_of,
    violated,
)
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step


def steps_mapped(program: Program, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    """Return every map over the steps of a scan whose function scans the rest from its end to its beginning."""
    scanned = _scanned_backwards(program, flow)
    for op in program.named("vmap") if scanned else ():
        for value, param in _first_axes(op):
            fact, scan = shapes.of(value), scanned.get(param)
            if scan is not None and _is_steps_first(fact):
                yield _steps_finding(op, value, fact, scan)
                break


def _keys_mapped(program: Program, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    """Return every map over an axis of keys: each element gets one of those that `split` has made, not parts of all."""
    for op in program.named("vmap", "pmap"):
        for value, axis in zip(op.operands, axes_of(op), strict=True):
            made = flow.maker(plain(value, flow)) if isinstance(axis, int) and axis >= 0 else None
            if made is None or made.name != "key.split" or not isinstance(axis, int):
                continue
            count = made.argument("num")
            fact = shapes.of(count) if isinstance(count, Value) else ShapeFact(number=ONE)
            rank = len(count) if isinstance(count, tuple) else 1 if fact.items is None else len(fact.items)
            if axis >= rank and fact.sizes is None:
                yield _parts_of_keys(op, value, axis, made, sure=fact.number is not None or fact.items is not None)


def _parts_of_keys(op: Op, value: Value, axis: int, made: Op, *, sure: bool) -> Obligation:
    name = name_of(value)
    return Obligation(
        op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"`{op.name}` maps axis {axis} of {name}, behind the axes along which there is one key each",
        current="each element gets one number of every key, which is no key, or JAX raises where keys are typed",
        expected="each element gets a key of its own",
        steps=(Step(made.span, "the keys are made here"),),
        suggestion="map axis 0 of the keys",
    )


def _scanned_backwards(program: Program, flow: Flow) -> dict[Value, Op]:
    """Return the first scan that goes backwards through each array, outside of calls and before conversions."""
    sums, found = Sums.of(flow, {}), dict[Value, Op]()
    for scan in program.named("scan"):
        for _, value in Loop(scan).elements if scan.reverse else ():
            found.setdefault(sums.source(value), scan)
    return found


def _first_axes(op: Op) -> Iterator[tuple[Value, Value]]:
    """Return each operand whose first axis is mapped, and what the function sees of it."""
    pairs = zip(op.operands, op.regions[0].params, op.in_axes or (), strict=False)
    return ((value, param) for value, param, axis in pairs if axis == 0)


def _is_steps_first(fact: ShapeFact) -> bool:
    """Whether a scan collected the first axis of an array, and another one was there in each of its steps."""
    if fact.dims is None or len(fact.dims) < 2:
        return False
    made = [{label.kind for label in dim.labels} for dim in fact.dims[:2]]
    return "scan" in made[0] and "scan" not in made[1]


def _steps_finding(op: Op, value: Value, fact: ShapeFact, scan: Op) -> Obligation:
    return Obligation(
        op.span,
        message=f"`vmap` takes the steps of {name_of(value)} {shape_of(fact.dims or ())} apart, axis 0",
        current="its function runs backwards through what is left, as if that were time; the steps never meet",
        expected="the other axis is mapped, and the function runs through the steps",
        steps=(Step(scan.span, "this scan runs from the end to the beginning, through the other axis"),),
        suggestion="give `vmap` `in_axes=1`, and `out_axes=1` to keep the layout",
    )


_PROGRAM = """
BATCH, TIME = 12, 12


def loss(frames, target):
    pooled = jax.vmap(lambda seq: seq.mean(axis=0), in_axes={axis})(frames){mark}
    return ((pooled - target) ** 2).mean()


loss(jnp.zeros((BATCH, TIME, 3)), jnp.zeros((BATCH, 3)))
"""


_UNITS = """
def record(key, moments, units):
    speeds = jax.random.uniform(key, (units,), minval=1.0, maxval=9.0)
    return jnp.sin(0.01 * jnp.arange(moments)[:, None] * speeds)


def smoothed(signals):
    kernel = jnp.ones(5) / 5.0
    return jax.vmap(lambda one: jnp.convolve(one, kernel, mode="same"){axes})(signals){mark}


smoothed(record(jax.random.key(0), 200, 12))
"""


class WrongAxisMapped(Rule):
    """`vmap` maps over one axis of an array where another was meant.

    ## What it does
    Follows the axis that `vmap` takes off its arguments and puts on its results. Where that axis later meets another
    thing, and the array it was taken off has an axis of that very name, the wrong one was mapped. So it is when two
    arguments are mapped together over axes of different names, and one of them has the fitting axis elsewhere, and
    when the body meets the axis that was left behind. Sizes decide too: after `x.reshape(-1, n, d)` the first axis is
    not the one of size `n`.

    ## Why is this bad?
    A function written for one sequence `(time, features)` that is mapped over the time axis of `(batch, time,
    features)` pools over the batch: examples are mixed. While there are as many steps as examples nothing is raised.

    ## Example
        BATCH, TIME = 12, 12
        pooled = jax.vmap(lambda seq: seq.mean(axis=0), in_axes=1)(jnp.zeros((BATCH, TIME, 3)))
        loss = pooled - jnp.zeros((BATCH, 3))

    ## Use instead
        BATCH, TIME = 12, 12
        pooled = jax.vmap(lambda seq: seq.mean(axis=0), in_axes=0)(jnp.zeros((BATCH, TIME, 3)))
        loss = pooled - jnp.zeros((BATCH, 3))

    ## When it cannot tell
    When the axes have no names, or the result meets nothing with a name.
    """

    summary = "`vmap` maps over another axis than the one its results are used as."
    needs = (Axes, Shapes)

    valid = (
        Example(_UNITS.format(axes=", in_axes=1, out_axes=1", mark=""), "the moments of one unit"),
        Example(_PROGRAM.format(axis=0, mark=""), "the axis that is met later"),
        Example(
            "BATCH, TIME = 12, 12\n"
            "y = jax.vmap(lambda s: s.mean(0), in_axes=1)(jnp.zeros((BATCH, TIME, 3))) - jnp.zeros((TIME, 3))\n",
            "mapped over time on purpose",
        ),
        Example(
            """
            def reset(env, key, n, params):
                keys = jax.random.split(key, (4, n))
                return jax.vmap(jax.vmap(env.reset, (0, None)), in_axes=(1, None))(keys, params)
            """,
            "the second axis of keys that have two",
        ),
        Example(
            "count = jax.device_count()\n"
            "y = jax.pmap(lambda row: row.sum(0))(jnp.zeros((64, 3)).reshape(count, -1, 3))\n",
            "the devices come first",
        ),
    )
    invalid = (
        Example(_UNITS.format(axes="", mark="  #!"), "all units of one moment"),
        Example(
            """
            def returns(rewards):
                def back(total, reward):
                    total = reward + 0.9 * total
                    return total, total
                return jax.lax.scan(back, 0.0, rewards, reverse=True)[1]

            def collect(x):
                _, rewards = jax.lax.scan(lambda x, _: (x * 0.9, x), x, None, length=32)
                return jax.vmap(returns)(rewards)  #!

            collect(jnp.ones(8))
            """,
            "each step by itself",
        ),
        Example(_PROGRAM.format(axis=1, mark="  #!"), "another axis"),
        Example(
            "BATCH, TIME = 12, 12\n"
            "x, y = jnp.zeros((BATCH, TIME)), jnp.zeros((BATCH, TIME))\n"
            "z = jax.vmap(lambda a, b: a @ b, in_axes=(1, 0))(x, y)  #!\n",
            "together with the fitting one",
        ),
        Example(
            """
            def reset(env, key, n, params):
                some, many = jax.random.split(key), jax.random.split(key, n)
                first = jax.vmap(env.reset, in_axes=(1, None))(some, params)  #!
                return first, jax.vmap(env.reset, in_axes=(1, None))(many, params)  #?
            """,
            "the numbers of all keys",
        ),
        Example(
            "count = jax.device_count()\n"
            "x = jnp.zeros((64, 3)).reshape(-1, count, 3)\n"
            "y = jax.pmap(lambda row: row.sum(0))(x)  #!\n",
            "what `-1` left over comes first",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `vmap` over named axes."""
        axes = axes_facts(facts)
        found = [_finding(one) for one in axes.caused(Cause.MAPPED)]
        found.extend(_finding(one) for one in axes.caused(Cause.MISPLACED) if one.meeting.how == "mapped")
        shapes = facts.get(Shapes)
        found.extend(map(_left_over, _misplaced_axes(program, shapes)))
        found.extend(steps_mapped(program, facts.flow, shapes))
        found.extend(_keys_mapped(program, facts.flow, shapes))
        found.extend(map(_moment, series(program, facts)))
        yield from [*agreements(axes, lambda meeting: _agreed(meeting, shapes)), *found]


def _agreed(meeting: Meeting, shapes: Shapes) -> str:
    """Say what is mapped where that is one axis of all that is mapped: what two of several agree on is no proof."""
    contexts = shapes.contexts(meeting.op)
    for value, axis in zip(meeting.op.operands, axes_of(meeting.op), strict=True):
        if isinstance(axis, int) and not all(_has(context.of(value), axis, meeting) for context in contexts):
            return ""
    return f"one axis is mapped, {both(meeting)}" if meeting.how == "mapped" else ""


def _has(fact: ShapeFact, axis: int, meeting: Meeting) -> bool:
    """Whether what is mapped along an axis is as long there as what meets."""
    rank = len(fact.dims or ())
    return -rank <= axis < rank and any(same((fact.dims or ())[axis], one.dim) for one in (meeting.left, meeting.right))


def _left_over(one: _Misplaced) -> Obligation:
    name, shape = name_of(one.astray.value), shape_of(one.astray.dims)
    wanted = axis_of(one.astray.dims[one.fitting])
    partner = "the devices" if one.partner is None else f"the rows of {name_of(one.partner)}"
    return Obligation(
        one.op.span,
        message=f"`{one.op.name}` maps axis {one.astray.place} of {name} {shape}; `{wanted}` is its axis {one.fitting}",
        current=f"the mapped axis is taken for {partner}, and it is another one",
        expected=f"axis {one.fitting} of {name} is mapped, or comes first",
        suggestion=f"give the reshape `{wanted}` first and `-1` after it, or map axis {one.fitting}",
    )


def _moment(one: Series) -> Obligation:
    """Tell of a function that works along an axis in its order, and is mapped over the axis that has one."""
    name, left = name_of(one.array), 1 - one.mapped
    what = one.worker.function if one.worker.name not in LOOPS else one.worker.name
    return Obligation(
        one.op.span,
        message=f"`vmap` maps axis {one.mapped} of {name} {shape_of(one.dims)}, whose elements follow one another",
        current=f"`{what}` runs along what is left, axis {left}, whose elements are independent of one another",
        expected=f"axis {left} is mapped, and `{what}` runs along axis {one.mapped}",
        steps=(
            Step(one.worker.span, "this takes the elements of an axis in their order"),
            *makers(one.dims[left], one.dims[one.mapped]),
        ),
        suggestion=f"give `vmap` `in_axes={left}`, and `out_axes={left}` to keep the layout",
    )


def _finding(conflict: Conflict) -> Obligation:
    meeting = conflict.meeting
    other = meeting.right if conflict.astray is meeting.left else meeting.left
    wanted = axis_of(other.dim)
    taken = axis_of(conflict.astray.dim)
    if conflict.fitting is None:
        taken, wanted = wanted, taken
    place = "" if conflict.fitting is None else f" (axis {conflict.fitting[1]} of {name_of(conflict.fitting[0])})"
    return violated(
        conflict,
        f"`vmap` maps over `{taken}`, but what it gives is used as `{wanted}`",
        f"`vmap` maps over `{wanted}`{place}",
        f"change `in_axes` so that `{wanted}` is mapped",
    )


@record
class _Misplaced:
    """An operand of a map whose mapped axis is another one than the others have."""

    op: Op
    astray: Side
    fitting: int
    """The place of the axis that the others have."""
    partner: Value | None
    """An operand that it is mapped with; None where it is mapped over the devices."""


def _misplaced_axes(program: Program, shapes: Shapes) -> Iterator[_Misplaced]:
    """Return the operands of every map that are mapped over the wrong axis, by sizes alone."""
    for op in program.named("vmap", "pmap"):
        for context in shapes.contexts(op):
            yield from _judged(op, taken_sides(op, context.of))


def _judged(op: Op, sides: list[Side]) -> Iterator[_Misplaced]:
    for side in sides:
        for other in sides:
            fitting = None if other is side else _fitting(side, other.dim)
            if fitting is not None and _fitting(other, side.dim) is None:
                yield _Misplaced(op, side, fitting, other.value)
        fitting = _of_devices(side) if op.name == "pmap" else None
        if fitting is not None:
            yield _Misplaced(op, side, fitting, None)


def _of_devices(side: Side) -> int | None:
    """Return the place of the axis with one entry for each device, where another one is mapped."""
    if any(label.kind == "devices" for label in side.dim.labels):
        return None
    return next((at for at, dim in side.others if any(label.kind == "devices" for label in dim.labels)), None)


def _fitting(side: Side, wanted: Dim) -> int | None:
    """Return the place of the wanted axis, where the mapped one cannot be it."""
    if same(side.dim, wanted) and not _is_rest(side.dim):
        return None
    for place, dim in side.others:
        if dim.constant is None and same(dim, wanted) and not same(side.dim, wanted):
            return place
        if _is_rest(side.dim) and related(dim.labels, wanted.labels) and not related(side.dim.labels, wanted.labels):
            return place
    return None


def _is_rest(dim: Dim) -> bool:
    return any(label.kind == "rest" for label in dim.labels)
