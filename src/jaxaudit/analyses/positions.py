"""Positions along an axis that devices share: counted within the share of one device, or over all of them.

`arange(n)` of the size that one device has counts from zero on every device. With `axis_index * n` added it is a
position in the whole. What `all_gather` puts together has the whole axis, and so has what is computed of it, and what
every device was given all of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from jaxaudit.analyses.amounts import Amounts
from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import Answers, reached
from jaxaudit.analyses.replication import axes_reduced
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.analyses.shapes.subscripts import subscripts
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import (
    BEST,
    COUNTING,
    LINEAR,
    MATRIX_PRODUCTS,
    ORDERS,
    PICKED_POSITIONS,
    SCALINGS,
    SUMS_OF_TWO,
)
from jaxaudit.ir.interfaces import Part, made_inside, source_of
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.values import index_parts, is_whole

_Axes = frozenset[int]
"""Axes of an array, counted from the front or the back; both where both are known."""

_NONE: _Axes = frozenset()


class Counted(Enum):
    """Where positions are counted from."""

    SHARE = "within the share of one device"
    WHOLE = "over all devices"


class Positions:
    """Positions and whole axes along one axis of devices."""

    def __init__(self, facts: Facts, axis: str) -> None:
        self.axis, self.flow, self.shapes = axis, facts.flow, facts.get(Shapes)
        self.amounts = facts.memo(Amounts, axis)
        self._offsets = facts.memo(_offsets)
        self._whole: Answers[Value, _Axes] = Answers(self._find_whole, _NONE)
        self._counted: Answers[Value, Counted | None] = Answers(self._find_counted, None)

    def whole(self, value: Argument) -> _Axes:
        """Return the axes along which an array holds what all devices have."""
        return self._whole(value) if isinstance(value, Value) else _NONE

    def dealt(self, value: Argument) -> _Axes:
        """Return the axes along which an array holds what all devices have, also where it is dealt out to them."""
        if not isinstance(value, Value):
            return _NONE
        maps = (op for op in self.flow.readers.get(value, ()) if op.name == "shard_map")
        params = (
            one for op in maps for one, given in zip(op.regions[0].params, op.operands, strict=True) if given is value
        )
        shares = (enumerate(self.shapes.of(one).dims or ()) for one in params)
        return self.whole(value) | {at for dims in shares for at, dim in dims if self._is_shard(dim)}

    def counted(self, value: Argument) -> Counted | None:
        """Return where the positions that a value holds are counted from; None for what holds none, or is not known."""
        return self._counted(value) if isinstance(value, Value) else None

    def size(self, value: Argument) -> Counted | None:
        """Return what a number is the size of: of the share of one device, or of the whole axis."""
        if not isinstance(value, Value):
            return None
        of = sized(self.flow, value)
        if of is not None:
            base, at = of
            if at in self.whole(base):
                return Counted.WHOLE
        amount = self.amounts.of(value)
        if amount.data or amount.examples != 1 or amount.devices is None:
            return None
        return Counted.WHOLE if amount.devices else Counted.SHARE

    # Whole axes

    def _find_whole(self, value: Value, ask: Callable[[Value], _Axes]) -> _Axes:
        op = self.flow.maker(value)
        entry = self.flow.entered(value) if op is None else None
        if entry is not None and entry.op.name == "shard_map":
            return self._unspread(entry.op, value)
        if op is None or op.regions:
            return _both(map(ask, self._elsewhere(value)))
        first = next(iter(op.operands), None)
        if op.name == "collective":
            return self._gathered(op) if op.function == "all_gather" else _NONE
        if first is None:
            return _NONE
        if op.name in ("array.reshape", "array.join"):
            return _NONE if not self._is_flattened(op, first) else frozenset((0, -2))
        if op.name == "array.permute":
            return _turned(op, ask(first))
        if op.name == "array.dot":
            return _multiplied(op, ask)
        if op.name in ("array.map", "array.convert", "array.normalise", "array.select", "grad.stop"):
            return _both(map(ask, op.operands))
        if op.name == "py.item":
            return _indexed(op, ask(first))
        if op.name == "array.reduce":
            return _reduced(op, ask(first))
        return _NONE

    def _unspread(self, op: Op, param: Value) -> _Axes:
        """Return the axes of what every device has all of that are as long as one that is spread over the devices."""
        pairs = [(one, *source_of(op, op.regions[0], one)) for one in op.regions[0].params]
        outside = [(self.shapes.of(one).dims or (), self.shapes.of(given).dims or ()) for one, given, *_ in pairs]
        spread = [
            whole
            for dims, wholes in outside
            for dim, whole in zip(dims, wholes, strict=False)
            if self._is_shard(dim) and whole.known and not same(dim, whole)
        ]
        dims = self.shapes.of(param).dims or ()
        places = [
            at for at, dim in enumerate(dims) if not self._is_shard(dim) and any(same(dim, one) for one in spread)
        ]
        return frozenset(one for at in places for one in (at, at - len(dims)))

    def _is_shard(self, dim: Dim) -> bool:
        return any(label.kind == "shard" and label.name == self.axis for label in dim.labels)

    def _gathered(self, op: Op) -> _Axes:
        at = op.arguments.get("axis", 0)
        over = axes_reduced(op) == {self.axis}
        return frozenset((at,)) if over and op.arguments.get("tiled") is True and isinstance(at, int) else _NONE

    def _is_flattened(self, op: Op, given: Value) -> bool:
        """Whether what was gathered with an axis of its own is made one with the axis of the shares."""
        made = self.flow.maker(given)
        if made is None or made.function != "all_gather" or axes_reduced(made) != {self.axis}:
            return False
        if made.arguments.get("axis", 0) != 0 or made.arguments.get("tiled") is True:
            return False
        shape = op.argument("shape", "newshape")
        sizes = shape if isinstance(shape, tuple) else (shape,)
        return op.function == "concatenate" or (len(sizes) > 1 and sizes[0] == -1)

    # Positions

    def _find_counted(self, value: Value, ask: Callable[[Value], Counted | None]) -> Counted | None:
        op = self.flow.maker(value)
        if op is None or op.regions:
            found = {ask(one) for one in self._elsewhere(value)}
            return found.pop() if len(found) == 1 else None
        first = next(iter(op.operands), None)
        if op.name == "array.create" and op.function in COUNTING:
            return self._counting(op)
        if (order := ranked(self.flow, value)) is not None:
            return self._ranked_along(*order)
        if op.name in KEEPING or op.name in ("array.convert", "array.gather", "py.item", "collective"):
            base = op.arguments.get("base", first)
            return ask(base) if isinstance(base, Value) else None
        if op.name == "array.map" and op.function in SUMS_OF_TWO | LINEAR | SCALINGS:
            return self._calculated(op, ask)
        return None

    def _ranked_along(self, op: Op, base: Value) -> Counted | None:
        """Return where the positions are counted from that an op gives of what it has put in order."""
        given, dims = op.argument("axis", "reduction_dimension"), self.shapes.of(base).dims or ()
        places = (
            axes_in(given)
            if op.has("axis", "reduction_dimension")
            else (-1,)
            if op.function not in PICKED_POSITIONS
            else None
        )
        if places is None and given is None and len(dims) == 1:
            places = (0,)
        if places is None or len(places) != 1:
            return None
        if self.dealt(base) & frozenset(places):
            return Counted.WHOLE
        return Counted.SHARE if any(map(self._is_shard, dims[places[0] :][:1])) else None

    def _counting(self, op: Op) -> Counted | None:
        given = [one for name, one in op.arguments.items() if name in ("start", "stop", "size", "shape")]
        sizes = [one for one in given if one not in (0, None)]
        return self.size(sizes[0]) if len(sizes) == 1 else None

    def _calculated(self, op: Op, ask: Callable[[Value], Counted | None]) -> Counted | None:
        known = [ask(one) for one in op.operands]
        others = [one for one, how in zip(op.operands, known, strict=True) if how is None]
        found = {one for one in known if one is not None}
        if op.function in SUMS_OF_TWO and not self._offsets.isdisjoint(others):
            return Counted.WHOLE
        # Something that is added may well be where the share begins.
        return found.pop() if len(found) == 1 and not (others and op.function in SUMS_OF_TWO) else None

    def _elsewhere(self, value: Value) -> Iterable[Value]:
        """Return what a value is called on the other side of a border."""
        op = self.flow.own_maker(value)
        if op is not None:
            return (one for region in op.regions for one in made_inside(op, region, value))
        entry = self.flow.entered(value)
        return () if entry is None else source_of(*entry, value)


def _offsets(facts: Facts) -> set[Value]:
    """Return everything that depends on which device computes it."""
    places = (op.result for op in facts.program.walk() if op.function == "axis_index" and op.results)
    return reached(facts.flow, places)


def ranked(flow: Flow, value: Value) -> tuple[Op, Value] | None:
    """Return the op that gives positions in the order of what it was given, where a value is these, and the latter."""
    part = Part.of(flow.maker(value), value)
    op = flow.maker(value if part is None else part.whole)
    if op is None or op.name != "array.order" or not op.operands:
        return None
    picked = part is None and op.function in PICKED_POSITIONS | ORDERS
    return (op, op.operands[0]) if picked or (part is not None and part.at == 1 and op.function in BEST) else None


def sized(flow: Flow, value: Value) -> tuple[Value, int] | None:
    """Return the array and the axis that a number is the size of."""
    op = flow.maker(value)
    if op is None or op.name not in ("py.item", "py.unpack", "array.shape") or not op.operands:
        return None
    shape = op if op.name == "array.shape" else flow.maker(op.operands[0])
    # The op that made it may stand in a call, where the value is another one.
    at = op.arguments.get("index", 0)
    if op.name == "py.unpack":
        at = op.results.index(value) if value in op.results else None
    if shape is None or shape.name != "array.shape" or not isinstance(at, int) or not shape.operands:
        return None
    return shape.operands[0], at


def begins(op: Op, flow: Flow, shapes: Shapes) -> tuple[str, str] | None:
    """Return the axis of a device's place and that of the size it is multiplied with, as where its share begins."""
    makers = [flow.maker(one) for one in op.operands]
    index = next((one for one in makers if one is not None and one.function == "axis_index"), None)
    sizes = [of for one in op.operands if (of := sized(flow, one)) is not None]
    if index is None or len(sizes) != 1:
        return None
    (base, at), along = sizes[0], axes_reduced(index)
    names = [
        label.name for dim in (shapes.of(base).dims or ())[at:][:1] for label in dim.labels if label.kind == "shard"
    ]
    return (next(iter(along)), names[0]) if along is not None and len(along) == len(names) == 1 else None


def _both(given: Iterable[_Axes]) -> _Axes:
    return frozenset(at for one in given for at in one)


def _indexed(op: Op, given: _Axes) -> _Axes:
    """Return the axes of what `x[None]` and `x[:, None]` make of an array."""
    parts = index_parts(op.arguments.get("index"))
    if not given or not all(one is None or is_whole(one) for one in parts):
        return _NONE
    kept = [at for at, one in enumerate(parts) if one is not None]
    new = len(parts) - len(kept)
    moved = {at: kept[at] if at < len(kept) else at + new for at in given if at >= 0}
    # From the back nothing moves as long as new axes stand in front of what is counted.
    return frozenset((*moved.values(), *(at for at in given if at < 0 and not kept)))


def _reduced(op: Op, given: _Axes) -> _Axes:
    """Return the axes that are left by a reduction over the last one."""
    last = op.has("axis") and op.arguments.get("axis") == -1 and not op.has("keepdims")
    return frozenset(at for at in given if at >= 0) if last and -1 not in given else _NONE


def _turned(op: Op, given: _Axes) -> _Axes:
    """Return the axes of what `x.T` and its like make of a matrix."""
    named = [one for one in op.arguments.values() if not isinstance(one, Value) and one is not None]
    swaps = op.function == "swapaxes" and {one for one in named if isinstance(one, int)} in ({0, 1}, {-1, -2})
    if not given or (named and not swaps and (1, 0) not in named):
        return _NONE
    return frozenset(one for at in given if at in (0, 1, -1, -2) for one in ((1, -1) if at in (0, -2) else (0, -2)))


def _multiplied(op: Op, ask: Callable[[Value], _Axes]) -> _Axes:
    """Return the axes of a product that are those of its factors."""
    named = subscripts(op)
    if named is not None:
        output = named.output or ()
        letters = {
            names[at]
            for value, names in zip(named.operands, named.inputs, strict=True)
            if isinstance(value, Value) and "..." not in names
            for at in ask(value)
            if -len(names) <= at < len(names)
        }
        places = [at for at, name in enumerate(output) if name in letters] if "..." not in output else []
        return frozenset(one for at in places for one in (at, at - len(output)))
    if len(op.operands) != 2 or op.function not in MATRIX_PRODUCTS:
        return _NONE
    left, right = map(ask, op.operands)
    rows = frozenset((0, -2)) if left & {0, -2} and 1 not in left else _NONE
    return rows | (frozenset((1, -1)) if right & {1, -1} else _NONE)
