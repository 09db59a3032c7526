"""The rule `shard-taken-for-whole`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from jaxaudit.analyses.amounts import Amounts
from jaxaudit.analyses.axes.normalised import all_normalised
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, depends, made_of, readers, through_ops, walk
from jaxaudit.analyses.replication import along, axes_reduced, axes_split
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.functions import (
    ADDITIONS,
    AVERAGES,
    COMPARISONS,
    COUNTS,
    EXTREMES,
    LINEAR,
    SAME_ON_ALL_DEVICES,
    SCALINGS,
    SUMS_OVER_DEVICES,
)
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import MOVING, REDUCING
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.sharding._shared.placements import specs_naming

_STATISTICS = frozenset(("array.reduce", "array.linalg", "array.normalise"))
"""Ops that make a number of an axis, or change its elements by one."""

_ELEMENTWISE = through_ops("array.map", "array.convert", *MOVING)

_PROGRAM = """from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4,), ("vocab",))


def probabilities(hidden, table):
    logits = hidden @ table
    top = jax.lax.pmax(logits.max(axis=-1, keepdims=True), "vocab")
    e = jnp.exp(logits - top)
    return e / {norm}{mark}


run = jax.shard_map(probabilities, mesh=mesh, in_specs=(P(), P(None, "vocab")), out_specs=P(None, "vocab"))
run(jnp.ones((2, 3)), jnp.ones((3, 8)))
"""


class ShardTakenForWhole(Rule):
    """What was computed of one device's shard is used as that of the whole axis.

    ## What it does
    Follows the axes that `in_specs` of a `shard_map` spreads over the mesh. A sum, mean or maximum along such an axis
    is that of one device; it has to be reduced over the mesh before it is divided by, compared, taken the logarithm
    of or put together with the elements. A recurrence along such an axis starts anew on every device.

    ## Why is this bad?
    Every device normalises by its own statistics. The numbers look right, and are not those of all data.

    ## Example
        e = jnp.exp(hidden @ table - top)  # the columns of this device
        return e / e.sum(axis=-1, keepdims=True)

    ## Use instead
        return e / jax.lax.psum(e.sum(axis=-1, keepdims=True), "vocab")

    ## When it cannot tell
    When the specs or shapes are not known, or data are sent around (`ppermute`, `all_gather`). Statistics of each
    device's own rows may be meant: it is an error only where the function reduces others of them over the mesh, or
    where entries are made to add up to one along the axis that is spread, and no other axis of theirs is.
    """

    summary = "What was computed of one device's shard is used as that of the whole axis."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(norm='jax.lax.psum(e.sum(axis=-1, keepdims=True), "vocab")', mark=""), "of all"),
        Example(
            """
            from jax.sharding import PartitionSpec as P

            mesh = jax.make_mesh((4,), ("rows",))

            def nearest(points, x):
                far = jnp.sum((points - x) ** 2, axis=-1)
                place = jnp.argmin(far) + jax.lax.axis_index("rows") * points.shape[0]
                least = jax.lax.pmin(far.min(), "rows")
                return jax.lax.pmax(jnp.where(far.min() == least, place, -1), "rows")

            run = jax.shard_map(nearest, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P())
            run(jnp.ones((64, 3)), jnp.ones(3))
            """,
            "every device asks whether the least one is its own",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(norm="e.sum(axis=-1, keepdims=True)", mark="  #!"), "of one device"),
        Example(
            """
            from jax.sharding import PartitionSpec as P

            mesh = jax.make_mesh((4,), ("memory",))
            spec = P(None, "memory")
            share = jax.shard_map(lambda s: jax.nn.softmax(s, axis=-1), mesh=mesh, in_specs=spec, out_specs=spec)  #!
            y = share(jnp.ones((8, 16)))
            """,
            "shares of what one device has",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that is computed along an axis of which a device has a shard."""
        if program.front_end != "source":
            return
        shapes = facts.get(Shapes)
        shared = {total for one in all_normalised(facts) for total in (one.op, one.total) if total is not None}
        for op in program.named("shard_map"):
            inside = list(_ops(op.regions[0]))
            found = [(one, axis) for one in inside for axis in sorted(_along(one, shapes))]
            seen = {one for one, _ in found}
            for axis in sorted({axis for axes in axes_split(op.placed_in, shapes) for axis in axes or ()}):
                own = _of_shares(op, facts.memo(Amounts, axis))
                found += [(one, axis) for one in own if one not in seen and not one.has("axis")]
            ways = {
                one: _Way(one, axis, facts.flow, partial(_is_shard, shapes=shapes, axis=axis))
                for one, axis in found
                if one.name in _STATISTICS
            }
            for one, axis in found:
                sent = [step for step in inside if _goes_over(step, axis)]
                if one.name in _STATISTICS:
                    of_all = [(w.op, w.op.operands[0], w.ended) for w in ways.values() if w.axis == axis and w.ended]
                    sure = one in shared and _is_spread_once(one, axis, shapes)
                    specs = specs_naming(op, axis, facts.flow, shapes)
                    yield _judged(ways[one], _witness(ways[one], of_all, facts.flow), sent, specs, sure=sure)
                elif _is_recurrent(one, facts.flow):
                    yield _recurrence(one, axis, sent, specs_naming(op, axis, facts.flow, shapes))
        for op in program.named("pmap"):
            axis = op.option("axis_name")
            if op.regions and isinstance(axis, str):
                yield from _beside_reduced(op, facts.memo(Amounts, axis), facts.flow)


def _of_shares(op: Op, amounts: Amounts) -> list[Op]:
    """Return what makes one number of all the examples that a device has."""
    inside = (one for one in _ops(op.regions[0]) if one.name in REDUCING and one.operands)
    return [one for one in inside if amounts.is_share(one.operands[0]) and amounts.of(one.results[0]).rows is False]


def _beside_reduced(op: Op, amounts: Amounts, flow: Flow) -> Iterator[Obligation]:
    """Judge statistics of one device's examples that are used together with one of the same array that is of all.

    Sums and counts are told by how they grow: `scaled-by-device-count` judges their quotients.
    """
    ways = [_Way(one, amounts.axis, flow, amounts.is_share) for one in _of_shares(op, amounts)]
    of_all = [(one.op, one.op.operands[0], one.ended) for one in ways if one.reduced is not None]
    inner = _ops(op.regions[0])
    of_all += [(one, of, one.results) for one in inner if (of := _gathers(one, amounts.axis, flow)) is not None]
    for way in ways:
        witness = _witness(way, of_all, flow)
        if witness is not None and way.op.function not in ADDITIONS | COUNTS:
            yield _judged(way, witness, [])


def _witness(way: _Way, of_all: list[tuple[Op, Value, Sequence[Value]]], flow: Flow) -> Op | None:
    """Return the statistic of the same array that is of all devices, and that this one is used together with."""
    if way.used is None or way.reduced is not None:
        return None
    base, made = way.op.operands[0], _computed_of(flow, way.op.operands[0])
    for op, of, ends in of_all:
        related = of in made or base in _computed_of(flow, of)
        if related and (any(depends(flow, value, ends) for value in way.used.operands) or _meet(flow, way.op, ends)):
            return op
    return None


def _computed_of(flow: Flow, value: Value) -> set[Value]:
    """Return the arrays that an array was computed from, element by element."""
    return set(walk((value,), lambda one: behind(flow, one, _ELEMENTWISE)))


def _meet(flow: Flow, op: Op, ends: Sequence[Value]) -> bool:
    """Whether what becomes of a statistic, element by element, meets what becomes of another."""
    own = set(walk(op.results, lambda one: ahead(flow, one, _ELEMENTWISE)))
    others = set(walk(ends, lambda one: ahead(flow, one, _ELEMENTWISE))) - own
    steps = (step for value in own for step in flow.readers.get(value, ()) if step.name == "array.map")
    return any(value in others for step in steps for value in step.operands)


def _gathers(op: Op, axis: str, flow: Flow) -> Value | None:
    """Return the array of which a statistic is taken over what all devices have."""
    if op.name != "array.reduce" or not op.operands:
        return None
    made = (flow.maker(one) for one in walk(op.operands[:1], lambda one: behind(flow, one, through_ops(*MOVING))))
    found = (one for one in made if one is not None and one.function == "all_gather" and _goes_over(one, axis))
    return next((one.operands[0] for one in found), None)


def _ops(region: Region) -> Iterator[Op]:
    regions = walk([region], lambda one: (inner for op in one.ops for inner in op.regions))
    return (op for one in regions for op in one.ops)


def _along(op: Op, shapes: Shapes) -> set[str]:
    """Return the axes of the mesh over which an axis is spread that an op reduces or goes along."""
    if op.name == "scan":
        firsts = [dims[0] for _, whole in Loop(op).elements if (dims := shapes.of(whole).dims)]
        return {label.name for dim in firsts for label in dim.labels if label.kind == "shard"}
    return set() if op.name == "array.order" else set(along(op, Context(op, shapes.facts)))


def _goes_over(op: Op, axis: str) -> bool:
    """Whether a collective goes over an axis of the mesh, or may do so."""
    axes = axes_reduced(op) if op.name == "collective" else frozenset()
    return (axes is None or axis in axes) and op.function != "axis_index"


class _Way:
    """What becomes of a sum, mean or maximum of one shard."""

    def __init__(self, op: Op, axis: str, flow: Flow, is_share: Callable[[Value], bool]) -> None:
        self.op, self.axis, self._is_share = op, axis, is_share
        values = list(walk(op.results, lambda value: ahead(flow, value, lambda step: self._keeps(step, value))))
        pairs = [(value, end) for value in values for end in readers(flow, value)]
        ends = [end for value, end in pairs if not self._keeps(end, value) and not end.regions]
        whole = op.name != "array.normalise"
        self.reduced = next((end for end in ends if whole and _goes_over(end, axis)), None)
        read = (end for end in ends if end.name.startswith("array.") and end.name != "array.shape")
        used = next((end for end in read if not self._asks_whose(end, flow)), None)
        self.used = used if whole else op

    @property
    def ended(self) -> Sequence[Value]:
        """What the reduction over devices gives."""
        return () if self.reduced is None else self.reduced.results

    def _keeps(self, op: Op, value: Value) -> bool:
        """Whether an op leaves a part of a sum a part of the sum, so that it can still be reduced over devices."""
        if op.name == "array.map":
            below = op.function == "divide" and op.arguments.get("y") is value
            return op.function in LINEAR | SCALINGS and not below and not self._meets_elements(op, value)
        if op.name == "py.call_library":
            return op.function in ADDITIONS
        plain = op.name in MOVING or op.name in ("grad.stop", "array.convert", "py.return", "array.select")
        return plain or (op.name == "array.reduce" and op.function in ADDITIONS | AVERAGES | EXTREMES)

    def _asks_whose(self, op: Op, flow: Flow) -> bool:
        """Whether an op compares with what was reduced over devices: it asks which of them has it."""
        makers = (made_of(flow, one, through_ops(*MOVING)) for one in op.operands if op.function in COMPARISONS)
        return any(step is not None and _goes_over(step, self.axis) for step in map(flow.maker, makers))

    def _meets_elements(self, op: Op, value: Value) -> bool:
        """Whether an op puts a statistic together with the elements of an axis that is spread the same way."""
        return any(self._is_share(one) for one in op.operands if one is not value)


def _is_shard(value: Value, shapes: Shapes, axis: str) -> bool:
    labels = (label for dim in shapes.of(value).dims or () for label in dim.labels)
    return any(label.kind == "shard" and label.name == axis for label in labels)


def _is_spread_once(op: Op, axis: str, shapes: Shapes) -> bool:
    """Whether only one axis of what an op is given is spread over an axis of the mesh: no block of pairs is local."""
    dims = shapes.of(op.operands[0]).dims or ()
    return sum(any(one.kind == "shard" and one.name == axis for one in dim.labels) for dim in dims) == 1


def _judged(
    way: _Way, witness: Op | None, sent: list[Op], specs: tuple[Step, ...] = (), *, sure: bool = False
) -> Obligation:
    op, axis = way.op, way.axis
    if way.reduced is not None:
        return proved(op.span, f"it is reduced over `{axis}`")
    if way.used is None:
        return proved(op.span, f"it leaves as that of one device along `{axis}`")
    if any(one.function not in SAME_ON_ALL_DEVICES | SUMS_OVER_DEVICES for one in sent):
        return unknown(op.span, f"whether all data along `{axis}` have come by is not known")
    steps = (Step(way.used.span, "it is used here as if it were that of the whole axis"),)
    beside = () if witness is None else (Step(witness.span, f"this one is reduced over `{axis}`"),)
    return Obligation(
        op.span,
        severity=Severity.WARNING if witness is None and not sure else Severity.ERROR,
        message=f"`{op.function}` is that of one device's shard, and nothing reduces it over `{axis}`",
        current=f"the axis is spread over `{axis}`, so every device uses a number of its own",
        expected="a statistic along an axis that is spread over devices is reduced over them before it is used",
        steps=(*(one for one in steps if one.span != op.span), *beside, *specs),
        suggestion=f"reduce it first, with `jax.lax.psum`, `pmean` or `pmax` over '{axis}'",
    )


def _is_recurrent(op: Op, flow: Flow) -> bool:
    """Whether the turns of a loop build on what the elements before left."""
    if op.name != "scan":
        return True
    loop = Loop(op)
    elements = [one for one, _ in loop.elements]
    ends = [(one.param, loop.body.results[one.position]) for one in loop.carried]
    return any(end is not param and depends(flow, end, [param]) and depends(flow, end, elements) for param, end in ends)


def _recurrence(op: Op, axis: str, sent: list[Op], steps: tuple[Step, ...]) -> Obligation:
    if sent:
        return unknown(op.span, f"whether what the loop leaves is handed on along `{axis}` is not known")
    return Obligation(
        op.span,
        message=f"this loop runs along an axis that is spread over `{axis}`: it starts anew on every device",
        current="each device has a stretch of the axis, and begins with the initial carry",
        expected="a recurrence sees the whole axis; the mesh splits another one",
        steps=steps,
        suggestion=f"name '{axis}' for an axis of independent series in `in_specs`, or hand the carry on",
    )
