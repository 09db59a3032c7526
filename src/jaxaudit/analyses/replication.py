"""What each device has of a value inside of a map over devices: the same as all others, a share, or a part of a sum.

Values are followed from the specs of a `shard_map`, or the mapped arguments of a `pmap` or of a `vmap` with a name,
through the body to the results. A reduction along an axis that the mesh spreads leaves each device with a *part* of
what the reduction of the whole would be; collectives put parts together and make values equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from enum import Enum
from functools import reduce
from typing import NamedTuple

from jaxaudit.analyses.axes.meetings import meetings
from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, through_ops, walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.analyses.shapes.mapped import axes_of
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import (
    ADDITIONS,
    AVERAGES,
    COPIES_FOR_DEVICES,
    CUMULATIVE,
    EXTREMES,
    LINEAR,
    MASKS,
    NORMALISED_EXPONENTIALS,
    OVER_DEVICES,
    PICKED_POSITIONS,
    ROOTS,
    SAME_ON_ALL_DEVICES,
    SCALINGS,
    SPREADS,
    SUMS_OF_TWO,
)
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import MOVING
from jaxaudit.ir.record import record, replace

_Axes = frozenset[str]


class How(Enum):
    """What a device has of a number that belongs to an axis that devices share."""

    SUM = "a part of the sum"
    MEAN = "the mean of its share"
    STATISTIC = "a number that the mean over devices does not give for the whole"
    PLACE = "a position within its share"
    MIXED = "a part of the sum, with something added that every device has"
    CHANGED = "a part of the sum, changed by a function that is not linear"


@record
class Part:
    """What one device has computed of its share along an axis of the mesh."""

    axis: str
    how: How
    op: Op
    """The reduction that it comes from."""
    by: Op | None = None
    """What has added something to it, or changed it."""
    over: tuple[Op, ...] = ()
    """The reductions over devices that it went through, none of which goes over its axis."""


@record
class Spread:
    """The axes of a mesh along which a value surely differs, and those of which that cannot be told."""

    sure: _Axes = frozenset()
    open: _Axes = frozenset()
    parts: frozenset[Part] = frozenset()
    settled: frozenset[tuple[str, Op]] = frozenset()
    """The axes along which it is equal because a sum over devices made it so."""

    def __or__(self, other: Spread) -> Spread:
        unclear = self.open | other.open
        return Spread((self.sure | other.sure) - unclear, unclear)

    def unclear(self) -> Spread:
        """Return the same with nothing sure."""
        return Spread(frozenset(), self.sure | self.open)

    def without(self, axes: _Axes) -> Spread:
        """Return what is left after a reduction."""
        kept = frozenset(part for part in self.parts if part.axis not in axes)
        return Spread(self.sure - axes, self.open - axes, kept, self.settled)

    @property
    def varies(self) -> _Axes:
        """The axes along which it differs, or may do so."""
        return self.sure | self.open


_SAME = Spread()


class Collected(NamedTuple):
    """A value that is reduced over devices, as it was in one context."""

    op: Op
    axis: str
    given: Spread

    @property
    def parts(self) -> list[Part]:
        """The parts that this reduction puts together."""
        return [part for part in self.given.parts if part.axis == self.axis]


class Devices:
    """What the values inside of one map over devices are, device by device."""

    def __init__(self, op: Op, shapes: Shapes | None) -> None:
        self.op, self.shapes = op, shapes
        self.known: dict[Value, Spread] = {}
        self.collected: dict[Collected, None] = {}
        """Every reduction over an axis of this map."""
        self.left_open: dict[Part, None] = {}
        """The parts that were used, though collectives went over other axes alone."""
        self.named: set[str] = set()
        """The axes of maps that take one element each: all that is inside is the share of one device."""
        self._way: tuple[Op, ...] = ()
        self._enter(op, op.regions[0], [_SAME] * len(op.operands))
        self._region(op.regions[0])

    def of(self, value: Value) -> Spread:
        """Return what is known of a value."""
        return self.known.get(value, _SAME)

    def _enter(self, op: Op, region: Region, given: Sequence[Spread]) -> None:
        """Say what the parameters of a map over devices are."""
        if op.name == "shard_map":
            axes = _axes_in(op, self.shapes)
            fits = axes is not None and len(axes) == len(region.params)
            own = [Spread(one) for one in axes] if axes is not None and fits else [_SAME] * len(region.params)
        else:
            name = op.option("axis_name")
            names = frozenset((name,)) if isinstance(name, str) else frozenset[str]()
            self.named |= names
            own = [_SAME if axis is None else Spread(open=names) for axis in axes_of(op)]
        pairs = zip(region.params, own, given, strict=False)
        self.known.update((param, one | before) for param, one, before in pairs)

    def _region(self, region: Region) -> None:
        for op in region.ops:
            if op.regions:
                made = self._inside(op) if op.name != "grad" else self._derived(op) or self._inside(op)
            elif op.name == "collective":
                made = [self._reduced(op)] * len(op.results)
            else:
                made = [self._computed(op)] * len(op.results)
            self.known.update(zip(op.results, made, strict=False))

    # Ops without regions

    def _computed(self, op: Op) -> Spread:
        if op.name == "array.shape":
            # All devices have shares of one size.
            return _SAME
        whole = reduce(Spread.__or__, map(self.of, op.operands), _SAME)
        if op.name == "py.call_unknown":
            return whole.unclear()
        parts = [*self._own_parts(op), *self._kept_parts(op)]
        settled = frozenset(
            one for value in op.operands for one in self.of(value).settled if one[0] not in whole.varies
        )
        return Spread(whole.sure, whole.open, frozenset(parts), settled if _keeps_value(op) else frozenset())

    def _own_parts(self, op: Op) -> Iterator[Part]:
        """Return what an op makes of a share of an axis."""
        if op.name == "array.dot":
            yield from (Part(axis, How.SUM, op) for axis in sorted(self._contracted(op)))
        how = _how(op)
        base = next(iter(op.arguments.values()), None)
        if how is None or not isinstance(base, Value):
            return
        yield from (Part(axis, how, op) for axis in sorted(self.along(op)))
        # A position along another axis than that of the examples is the same thing on every device.
        elsewhere = how is How.PLACE and op.arguments.get("axis") not in (None, 0)
        if how is not How.SUM and not elsewhere:
            yield from (Part(axis, how, op) for axis in sorted(self.named & self.of(base).varies))

    def _kept_parts(self, op: Op) -> Iterator[Part]:
        """Return what becomes of the parts that an op is given."""
        given = [(value, part) for value in dict.fromkeys(op.operands) for part in self.of(value).parts]
        for value, part in given:
            others = [one for one in op.operands if one is not value]
            kept = _after(op, value, part, [self.of(one) for one in others])
            if part.over and (kept is None or kept.how in (How.MIXED, How.CHANGED)):
                self.left_open[part] = None
            if kept is not None:
                yield kept

    def _contracted(self, op: Op) -> _Axes:
        """Return the axes of the mesh over which an axis is spread that a product sums over."""
        found = [
            frozenset(
                name
                for one in meetings(op, context)
                if one.how == "contracted"
                for name in _shards(one.left.dim) | _shards(one.right.dim)
            )
            for context in self._contexts(op)
        ]
        return reduce(frozenset.__and__, found) if found else frozenset()

    def along(self, op: Op) -> _Axes:
        """Return the axes of the mesh over which an axis is spread that an op reduces."""
        found = [along(op, context) for context in self._contexts(op)]
        return reduce(frozenset.__and__, found) if found else frozenset()

    def _contexts(self, op: Op) -> Sequence[Context]:
        """Return what was met of the shapes of an op on the way that is being followed."""
        met = () if self.shapes is None else self.shapes.contexts(op)
        count = len(self._way)
        here = [one for one in met if count and one.way[-count:] == self._way]
        return here or [one for one in met if one.way[-1:] == self._way[-1:]] or met

    # Collectives

    def _reduced(self, op: Op) -> Spread:
        given = reduce(Spread.__or__, map(self.of, op.operands), _SAME)
        if len(op.operands) == 1:
            given = self.of(op.operands[0])
        name, axes = op.function, axes_reduced(op)
        if axes is None:
            return given.unclear()
        if name == "axis_index":
            return Spread(axes)
        if name in OVER_DEVICES:
            self.collected.update((Collected(op, axis, given), None) for axis in sorted(axes))
        grouped = op.arguments.get("axis_index_groups", op.axis_index_groups) is not None
        if name not in SAME_ON_ALL_DEVICES or grouped:
            # Data that are sent around may well be all that there are in the end.
            return Spread(given.sure - axes, given.open | axes)
        left = given.without(axes)
        if name not in OVER_DEVICES:
            return replace(left, parts=frozenset())
        misses = not any(part.axis in axes for part in given.parts)
        parts = frozenset(replace(part, over=(*part.over, op)) if misses else part for part in left.parts)
        settled = frozenset((axis, op) for axis in axes) if name in ADDITIONS else frozenset[tuple[str, Op]]()
        return replace(left, parts=parts, settled=left.settled | settled)

    # Ops with regions

    def _inside(self, op: Op) -> list[Spread]:
        """Follow values through a body; what cannot be matched is unclear."""
        given = [self.of(value) for value in op.operands]
        whole = reduce(Spread.__or__, given, _SAME)
        way, self._way = self._way, (*self._way, op) if op.name == "py.call" else self._way
        found: list[Spread] | None = None
        for region in op.regions:
            left = self._through(op, region, given)
            if left is None or len(left) != len(op.results):
                found = None
                break
            found = left if found is None else [_either(one, other) for one, other in zip(found, left, strict=True)]
        self._way = way
        if found is None:
            return [whole.unclear()] * len(op.results)
        chooses = reduce(Spread.__or__, given[: len(given) - len(op.regions[0].params)], _SAME)
        return found if op.name in ("py.call", "jit") or chooses == _SAME else [one | chooses for one in found]

    def _derived(self, op: Op) -> list[Spread] | None:
        """Return what a value and its gradients are: those of a loss that every device computes of its own differ too.

        Where JAX checks what is equal, it adds up the gradient of what all devices share.
        """
        given = [self.of(value) for value in op.operands]
        values = self._through(op, op.regions[0], given) or []
        count, places = len(values), op.differentiated
        if not values or places is None or len(op.results) != count + len(places):
            return None
        whole = reduce(Spread.__or__, values)
        own = [given[at] if isinstance(at, int) and at < len(given) else whole.unclear() for at in places]
        added_up = self.op.name == "shard_map" and is_checked(self.op)
        return [*values, *(one if added_up else one | Spread(whole.sure, whole.open) for one in own)]

    def _through(self, op: Op, region: Region, given: list[Spread]) -> list[Spread] | None:
        """Return what one region of an op leaves."""
        loop = Loop.of(op)
        if loop is not None:
            return None if op.name == "while" else self._turns(loop, region)
        if op.name in ("shard_map", "pmap") or (op.name == "vmap" and op.option("axis_name") is not None):
            self._enter(op, region, given)
        elif len(given) >= len(region.params):
            self.known.update(zip(region.params, given[len(given) - len(region.params) :], strict=True))
        else:
            return None
        self._region(region)
        return [self.of(value) for value in region.results]

    def _turns(self, loop: Loop, region: Region) -> list[Spread]:
        """Go through the turns of a loop until what it carries stays what it is: each turn may only know less of it."""
        self.known.update((param, self.of(whole)) for param, whole in loop.elements)
        self.known.update((one.param, self.of(one.start)) for one in loop.carried)
        self._region(region)
        first = [self.of(value) for value in region.results]
        while joined := {
            param: either
            for param, end in loop.successors
            if (either := _either(self.of(param), self.of(end))) != self.of(param)
        }:
            self.known.update(joined)
            self._region(region)
        ends = zip(first, map(self.of, region.results), strict=True)
        # What differs after one turn differs after the others.
        return [replace(last, sure=one.sure, open=(one.open | last.varies) - one.sure) for one, last in ends]


def _either(one: Spread, other: Spread) -> Spread:
    """Return what covers two values of which a program takes one: where they disagree, nothing is sure."""
    if one == other:
        return one
    sure = one.sure & other.sure
    return Spread(sure, (one.varies | other.varies) - sure, one.parts & other.parts, one.settled & other.settled)


def _how(op: Op) -> How | None:
    """Return what an op makes of one device's share of what it reduces."""
    if op.name == "array.order":
        return How.PLACE if op.function in PICKED_POSITIONS else None
    if op.name == "array.linalg":
        return How.STATISTIC if op.function in ROOTS else None
    if op.name != "array.reduce":
        return None
    if op.function in ADDITIONS | AVERAGES:
        return How.SUM if op.function in ADDITIONS else How.MEAN
    return How.STATISTIC if op.function in SPREADS | EXTREMES else None


def _keeps_value(op: Op) -> bool:
    """Whether what was equal on all devices by a sum over them is so still, and nothing else."""
    return op.name in MOVING or op.name == "array.convert"


def _after(op: Op, value: Value, part: Part, others: list[Spread]) -> Part | None:
    """Return what becomes of a part that an op is given beside others; None where it is none any more."""
    if part.how is How.PLACE and op.function in MASKS:
        return None
    if op.name in MOVING or op.name in ("py.return", "array.select", "array.join", "py.container", "py.join"):
        return part
    alone = all(part.axis not in one.varies for one in others)
    if op.name == "array.dot" or (op.name == "array.map" and op.function in SCALINGS):
        below = op.function == "divide" and op.arguments.get("y") is value
        return part if alone and not below else None
    if op.name in ("array.reduce", "py.call_library") and op.function in ADDITIONS | AVERAGES:
        return part
    if op.name == "array.map" and op.function in LINEAR:
        return _added(op, part, others)
    return replace(part, how=How.CHANGED, by=op) if part.how is How.SUM and _is_computed(op) and alone else None


def _added(op: Op, part: Part, others: list[Spread]) -> Part | None:
    """Return what a part is after something was added to it."""
    if op.function not in SUMS_OF_TWO or not others:
        return part
    if all(any(one.axis == part.axis and one.how is part.how for one in other.parts) for other in others):
        return part
    if any(part.axis in other.varies for other in others):
        return None
    return replace(part, how=How.MIXED, by=op) if part.how is How.SUM else part


def _is_computed(op: Op) -> bool:
    return op.name in ("array.map", "array.normalise")


def along(op: Op, context: Context) -> _Axes:
    """Return the axes of the mesh over which an axis is spread that an op reduces or goes along, in one context."""
    base = next(iter(op.arguments.values()), None)
    dims = context.of(base).dims if _is_along(op) and isinstance(base, Value) else None
    axis = op.argument("axis", "axes") if op.has("axis", "axes") else -1 if op.name == "array.normalise" else None
    places = range(len(dims or ())) if axis is None else axes_in(axis)
    if not dims or places is None or any(not -len(dims) <= at < len(dims) for at in places):
        return frozenset()
    return frozenset(name for at in places for name in _shards(dims[at]))


def _is_along(op: Op) -> bool:
    """Whether an op computes something along an axis that it needs all of."""
    if op.name == "array.linalg":
        return op.function in ROOTS
    if op.name == "array.order":
        return op.function in PICKED_POSITIONS
    return op.name == "array.reduce" or op.function in NORMALISED_EXPONENTIALS | CUMULATIVE


def _shards(dim: Dim) -> _Axes:
    return frozenset(label.name for label in dim.labels if label.kind == "shard")


def left_unequal(op: Op, shapes: Shapes | None) -> list[tuple[Value, Spread]] | None:
    """Return the results of a `shard_map`, each with the axes along which it differs though `out_specs` names none.

    None where the specs are not known, or do not fit what they are for.
    """
    region = op.regions[0]
    given, out = _axes_in(op, shapes), _axes_out(op, shapes)
    if given is None or len(given) != len(region.params) or len(out) != len(region.results):
        return None
    known = Devices(op, shapes)
    pairs = zip(region.results, out, strict=True)
    return [(value, known.of(value).without(axes)) for value, axes in pairs if axes is not None]


def is_repeated(op: Op, shapes: Shapes | None, values: Set[Value]) -> bool:
    """Whether devices that all have some values do with them what is for each of them alone.

    The blocks of a result, or the terms of a sum over devices, are then copies; or the values meet the rows of a
    device one by one.
    """
    known = Devices(op, shapes)
    pairs = zip(op.regions[0].results, _axes_out(op, shapes), strict=False)
    blocks = any(value in values and (axes or frozenset()) - known.of(value).varies for value, axes in pairs)
    sums = any(one.axis not in one.given.varies and not values.isdisjoint(one.op.operands) for one in known.collected)
    if blocks or sums or shapes is None:
        return blocks or sums
    equal = {value for value in values if value in known.known and not known.of(value).varies}
    readers = (one for region in op.regions for one in region.walk() if not equal.isdisjoint(one.operands))
    met = (one for step in readers for context in shapes.contexts(step) for one in meetings(step, context))
    sides = ((one.left, one.right) for one in met if one.how == "elementwise")
    return any(
        own.value in equal and own.dim.constant != 1 and _shards(other.dim)
        for pair in sides
        for own, other in (pair, pair[::-1])
    )


def _axes_out(op: Op, shapes: Shapes | None) -> list[_Axes | None]:
    return _axes_traced(op.split_out) if shapes is None else axes_split(op.placed_out, shapes)


def _axes_in(op: Op, shapes: Shapes | None) -> list[_Axes] | None:
    """Return the axes of the mesh that the spec of each parameter names; None where some are not known."""
    split = _axes_traced(op.split_in) if shapes is None else axes_split(op.placed_in, shapes)
    return None if None in split else [one or frozenset() for one in split]


def _axes_traced(split: tuple[object, ...] | None) -> list[_Axes | None]:
    """Return the axes that a trace has spread each of some arrays over."""
    return [frozenset(map(str, names)) if isinstance(names, tuple) else None for names in split or ()]


def axes_split(specs: tuple[Value | None, ...] | None, shapes: Shapes) -> list[_Axes | None]:
    """Return for each of some specs the axes of the mesh that it names; None where that is not known."""
    placings = [None if value is None else shapes.of(value).placed for value in specs or ()]
    return [
        None
        if one is None or one.spec is None or None in one.spec
        else frozenset(name for names in one.spec for name in names or ())
        for one in placings
    ]


_HOLDING = through_ops(
    "array.join", "array.create", "py.container", "py.attr", "py.unpack", "device.place", "array.convert"
)


def is_copied(flow: Flow, value: Value) -> bool:
    """Whether a value holds the same for every device: it was copied along an axis, or is a list of one thing."""
    makers = (flow.maker(one) for one in walk((value,), lambda one: behind(flow, one, _HOLDING)))
    return any(op is not None and (op.function in COPIES_FOR_DEVICES or _repeats(op)) for op in makers)


def _repeats(op: Op) -> bool:
    """Whether an op writes a list of one thing again and again: `[x] * n`."""
    return op.name == "array.map" and isinstance(op.arguments.get("x"), tuple) and op.function == "multiply"


def is_checked(op: Op) -> bool:
    """Whether JAX checks what leaves a `shard_map` as equal, and adds up the gradient of what all devices share."""
    if op.split_in is not None:
        return op.check
    return op.option("check_vma") is not False and op.option("check_rep") is not False


def axes_reduced(op: Op) -> _Axes | None:
    """Return the axes of the mesh that a collective goes over; None where they are not written out."""
    given = op.arguments.get("axis_name", op.axis_name or "")
    parts = given if isinstance(given, tuple) else (given,)
    return frozenset(str(part) for part in parts) if all(isinstance(part, str) for part in parts) else None
