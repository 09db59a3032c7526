"""The rule `wrong-collective`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, made_of, nothing, through_ops, walk
from jaxaudit.analyses.replication import Collected, Devices, How, Part
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES, EXTREMES, SCALINGS
from jaxaudit.ir.ops import KEEPING, PASSED_ON
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown

_PROGRAM = """from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((2, 4), ("data", "model"))


def layer(x, up, down, bias):
    hidden = jax.nn.gelu(x @ up)
    {result}


run = jax.shard_map(
    layer,
    mesh=mesh,
    in_specs=(P("data", None), P(None, "model"), P("model", None), P()),
    out_specs=P("data", None),
    check_vma=False,
)
run(jnp.ones((4, 8)), jnp.ones((8, 16)), jnp.ones((16, 8)), jnp.ones(8))
"""

_STATISTICS = """
def standardise(x):
    mean = jax.lax.pmean(jnp.mean(x, axis=0), "device")
    var = jax.lax.pmean({spread}, "device"){mark}
    return (x - mean) / jnp.sqrt(var + 1e-6)


y = jax.pmap(standardise, axis_name="device")(jnp.ones((jax.local_device_count(), 8, 3)))
"""


class WrongCollective(Rule):
    """What devices have computed of their shares is put together in a way that does not give the whole.

    ## What it does
    Follows what each device has of every value inside of `shard_map`, `pmap` and `vmap` with a name. A product or a sum
    along an axis that the mesh spreads gives a part of a sum: it is reduced once, over the axis of the mesh that makes
    it a part, before anything that every device has is added and before a function that is not linear. Variances,
    maxima and positions of shares are not averaged.

    ## Why is this bad?
    Nothing raises where the check of `shard_map` is off, and under `pmap` never. A bias that is added before the sum
    counts once for each device; a sum over another axis of the mesh mixes rows that have nothing to do with each other;
    the mean of variances leaves out how far the devices are apart.

    ## Example
        return jax.lax.psum(hidden @ down + bias, "model")

    ## Use instead
        return jax.lax.psum(hidden @ down, "model") + bias

    ## When it cannot tell
    When the specs or shapes are not known, or values come through code that was not read. A mean of maxima that is only
    reported may be meant.
    """

    summary = "What devices have computed of their shares is put together in a way that does not give the whole."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(result='return x + jax.lax.psum(hidden @ down, "model") + bias'), "summed once"),
        Example(_STATISTICS.format(spread="jnp.mean((x - mean) ** 2, axis=0)", mark=""), "around the mean of all"),
    )
    invalid = (
        Example(_PROGRAM.format(result='return x + jax.lax.psum(hidden @ down, "data") + bias  #!'), "over other rows"),
        Example(_PROGRAM.format(result='return x + jax.lax.psum(hidden @ down + bias, "model")  #!'), "a bias before"),
        Example(
            _PROGRAM.format(
                result='y = jax.lax.psum(hidden @ down, "model")\n    return x + jax.lax.psum(y, "model") + bias  #!'
            ),
            "summed twice",
        ),
        Example(
            _PROGRAM.format(
                result='y = jax.nn.relu(hidden @ down)  #!\n    return x + jax.lax.psum(y, "model") + bias'
            ),
            "a function before the sum",
        ),
        Example(_STATISTICS.format(spread="jnp.var(x, axis=0)", mark="  #!"), "around the mean of each"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that is reduced over devices."""
        if program.front_end != "source" or next(program.named("collective"), None) is None:
            return
        shapes, flow = facts.get(Shapes), facts.flow
        for op in program.named("shard_map", "pmap", "vmap"):
            if not op.regions or (op.name == "vmap" and op.option("axis_name") is None) or _is_inside(op, flow):
                continue
            known = Devices(op, shapes)
            for one in known.collected:
                met = _met_by_share(one, shapes, flow)
                yield _judged(one, known, flow) if met is None else _shares_mixed(one, met)
            yield from (_over_other_axis(part) for part in known.left_open)


def _is_inside(op: Op, flow: Flow) -> bool:
    """Whether another map over devices is around."""
    around = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    return any(one is not None and one.name in ("shard_map", "pmap") for one in around)


def _judged(one: Collected, known: Devices, flow: Flow) -> Obligation:
    function, span = one.op.function, one.op.span
    before = next((op for axis, op in one.given.settled if axis == one.axis), None)
    if function in ADDITIONS and before is not None and before is not one.op and one.axis not in one.given.varies:
        return _summed_twice(one, before)
    parts = sorted(one.parts, key=lambda part: part.how.name)
    for part in parts:
        found = _misused(one, part, known, flow)
        if found is not None:
            return found
    if parts and all(_gives_whole(function, part) for part in parts):
        return proved(span, f"what each device has of `{one.axis}` is put together to what it is of all")
    return unknown(span, f"whether this reduction over `{one.axis}` gives what is meant cannot be told")


def _met_by_share(one: Collected, shapes: Shapes, flow: Flow) -> Op | None:
    """Return where what was made of all shares of an axis, element by element, meets the share of one device again."""
    places = _spread(shapes, one.op.operands[0], one.axis) if one.op.operands else set()
    elementwise = through_ops("array.map", "array.convert", *PASSED_ON)
    found = walk(one.op.results, lambda value: ahead(flow, value, elementwise)) if places else ()
    for value in found:
        for op in flow.readers.get(value, ()):
            others = [other for other in op.operands if other is not value] if op.name == "array.map" else []
            if any(places & _spread(shapes, other, one.axis) for other in others):
                return op
    return None


def _spread(shapes: Shapes, value: Value, axis: str) -> set[int]:
    """Return the axes of an array, from the back, of which a device has several elements and others have the rest."""
    dims = shapes.of(value).dims or ()
    return {
        at - len(dims)
        for at, dim in enumerate(dims)
        if any(label.kind == "shard" and label.name == axis for label in dim.labels) and (dim.constant or 0) > 1
    }


def _shares_mixed(one: Collected, met: Op) -> Obligation:
    return Obligation(
        one.op.span,
        message=f"the devices along `{one.axis}` hold different parts of this array, and their elements are mixed here",
        current=f"`{one.op.function}` combines the first element of one part with the first of all others, and so on",
        expected="what is spread over an axis of the mesh is reduced over the other axes alone",
        steps=(Step(met.span, "what came out meets the part of one device here"),),
        suggestion=f"reduce over the axis of the data instead of '{one.axis}'",
    )


def _gives_whole(function: str, part: Part) -> bool:
    if part.how is How.STATISTIC:
        return part.op.function in EXTREMES and function == f"p{part.op.function}"
    return function in (ADDITIONS if part.how is How.SUM else AVERAGES) and part.how in (How.SUM, How.MEAN)


def _misused(one: Collected, part: Part, known: Devices, flow: Flow) -> Obligation | None:
    function = one.op.function
    averages = function in ADDITIONS | AVERAGES
    if part.how is How.PLACE:
        return _place(one, part)
    if part.how is How.STATISTIC and averages and _stands_for_whole(one, part, known, flow):
        return _statistic(one, part)
    if function not in ADDITIONS or part.by is None:
        return None
    if part.how is How.MIXED and not _is_scaled(part, known, flow):
        # The sum of a loss may be made a mean over devices afterwards; what a product gives is the whole.
        later = part.op.name != "array.dot" and _is_scaled_later(one, flow)
        return None if later else _mixed(one, part, part.by)
    return _changed(one, part, part.by) if part.how is How.CHANGED and part.op.name == "array.dot" else None


def _is_scaled(part: Part, known: Devices, flow: Flow) -> bool:
    """Whether what was added to a part may be a share itself: something that was divided before."""
    added = [value for value in part.by.operands if not known.of(value).parts] if part.by is not None else []
    return any((op := flow.maker(value)) is not None and _makes_share(op) for value in added)


def _is_scaled_later(one: Collected, flow: Flow) -> bool:
    """Whether what comes out of a sum over devices may be divided by their number."""
    passed = through_ops("array.convert", *PASSED_ON)
    found = walk(one.op.results, lambda value: ahead(flow, value, passed))
    return any(_makes_share(op) for value in found for op in flow.readers.get(value, ()))


def _makes_share(op: Op) -> bool:
    """Whether an op may divide by the number of devices; a weight that is written down is none of it."""
    weighted = op.function == "multiply" and any(isinstance(one, int | float) for one in op.arguments.values())
    return op.name == "array.map" and op.function in SCALINGS and not weighted


def _stands_for_whole(one: Collected, part: Part, known: Devices, flow: Flow) -> bool:
    """Whether a statistic is used with the data that it is of, or with their mean over all devices."""
    reduced = next(iter(part.op.operands), None)
    if reduced is None:
        return False
    base = made_of(flow, reduced, lambda op: op.name in ("array.map", "array.convert") and len(op.operands) == 1)
    elementwise = through_ops("array.map", "array.convert", "array.select", *KEEPING)
    names = walk((base,), lambda value: behind(flow, value, nothing))
    data = set(walk(names, lambda value: ahead(flow, value, elementwise)))
    used = set(walk(one.op.results, lambda value: ahead(flow, value, elementwise)))
    means = [
        other.op.results[0]
        for other in known.collected
        for given in other.parts
        if other.axis == one.axis and given.how is How.MEAN and not {base, reduced}.isdisjoint(given.op.operands)
    ]
    beside = set(walk(means, lambda value: ahead(flow, value, elementwise)))
    ops = {op for value in used for op in flow.readers.get(value, ()) if op.name == "array.map"}
    return any(_meet(op, used, data - used) or _meet(op, used - beside, beside) for op in ops)


def _meet(op: Op, used: set[Value], others: set[Value]) -> bool:
    return any(value in used for value in op.operands) and any(value in others for value in op.operands)


def _over_other_axis(part: Part) -> Obligation:
    op, axis = part.over[-1], part.axis
    name = op.function
    return Obligation(
        op.span,
        message=f"`{name}` goes over another axis than `{axis}`, along which each device has a part of this sum",
        current=f"what belongs to other devices is added up here, and the parts along `{axis}` are used as the whole",
        expected=f"a part of a sum is reduced over the axis that makes it a part: `{axis}`",
        steps=(Step(part.op.span, f"the axis that is summed over here is spread over `{axis}`"),),
        suggestion=f'reduce over "{axis}"',
    )


def _summed_twice(one: Collected, before: Op) -> Obligation:
    return Obligation(
        one.op.span,
        message=f"this is the sum over `{one.axis}` already, and is summed over `{one.axis}` once more",
        current="every device has the same number, so the sum is as many times too large as there are devices",
        expected="a value is summed once over each axis of the mesh",
        steps=(Step(before.span, f"it is summed over `{one.axis}` here"),),
        suggestion="leave one of the two reductions out",
    )


def _mixed(one: Collected, part: Part, by: Op) -> Obligation:
    return Obligation(
        one.op.span,
        message=f"something that every device has is added before the sum over `{one.axis}`, once for each device",
        current=f"each device has a part of the sum along `{one.axis}`, and adds the whole of something else to it",
        expected="parts of a sum are reduced first, then the rest is added",
        steps=(Step(part.op.span, f"this is a part of a sum along `{one.axis}`"), Step(by.span, "it is added here")),
        suggestion="add it to the result of the reduction",
    )


def _changed(one: Collected, part: Part, by: Op) -> Obligation:
    return Obligation(
        by.span,
        message=f"`{by.function}` is applied to a part of a sum, which is reduced over `{one.axis}` only afterwards",
        current=f"each device has a part of the sum along `{one.axis}`; what is made of the parts does not add up",
        expected="parts of a sum are reduced before a function that is not linear",
        steps=(
            Step(part.op.span, f"the axis that is summed over here is spread over `{one.axis}`"),
            Step(one.op.span, "the reduction comes here"),
        ),
        suggestion=f'reduce it over "{one.axis}" first',
    )


def _statistic(one: Collected, part: Part) -> Obligation:
    what, function = part.op.function, one.op.function
    return Obligation(
        one.op.span,
        message=f"`{function}` of the `{what}` of each device's share is not the `{what}` of all",
        current=f"each device has its own `{what}`, and what is made of them is used as that of all data",
        expected="moments are averaged over devices and the rest computed of these; maxima are reduced by `pmax`",
        steps=(Step(part.op.span, f"`{what}` of one device's share"),) if part.op.span != one.op.span else (),
        suggestion="average `x` and `x ** 2`, or `(x - mean) ** 2` around the mean of all, or reduce by `pmax`",
    )


def _place(one: Collected, part: Part) -> Obligation:
    return Obligation(
        part.op.span,
        severity=Severity.ERROR,
        message=f"`{part.op.function}` is a position within one device's share, and devices are compared by it",
        current=f"the axis is spread over `{one.axis}`, so every device counts from zero",
        expected="a position is moved by where the share begins before it leaves the device",
        steps=(Step(one.op.span, f"positions of several devices meet here, over `{one.axis}`"),),
        suggestion=f'add `jax.lax.axis_index("{one.axis}")` times the size of a share',
    )
