"""How numbers grow: with the examples that one device has, and with the number of devices.

A sum over a device's share grows with its examples, a mean does not; `psum` gives what grows with the number of
devices, `pmean` does not. Counts, sizes and numbers of devices grow likewise, so that a quotient shows whether it is a
mean of all data: it grows with neither. One that grows with the number of devices is that many times too large.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Set
from functools import cached_property, reduce

from jaxaudit.analyses.axes.meetings import meetings
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import Answers, ahead, behind, depends, walk
from jaxaudit.analyses.replication import along, axes_reduced, axes_split, is_checked
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.analyses.shapes.subscripts import subscripts
from jaxaudit.ir import REST, Argument, Op, Value
from jaxaudit.ir.functions import (
    ADDITIONS,
    AVERAGES,
    BOUNDS,
    COUNTS,
    GROUPED_SUMS,
    LINEAR,
    MASKS,
    MATRIX_PRODUCTS,
    NUMBERS_OF_DEVICES,
    OVER_DEVICES,
    PICKED_POSITIONS,
    SAME_ON_ALL_DEVICES,
    SUMS_OF_TWO,
    SUMS_OVER_DEVICES,
    TRUTHS,
)
from jaxaudit.ir.interfaces import Loop, given_as, made_inside, source_of
from jaxaudit.ir.ops import HOLDING, JOINING
from jaxaudit.ir.record import record, replace


@record
class Amount:
    """How one value grows, as powers of the number of examples of a device and of the number of devices."""

    examples: int | None = 0
    """None where that is not known, as for the other fields."""
    devices: int | None = 0
    rows: bool | None = False
    """Whether it has an axis of examples."""
    data: bool = False
    """Whether it was computed from data that devices share."""
    mean: bool = False
    """Whether it is a mean over examples, or a sum divided by a count."""
    local: bool = False
    """Whether some of the data in it are those of one device."""
    reduced: bool = False
    """Whether some of the data in it were reduced over devices."""

    @property
    def is_mean(self) -> bool:
        """Whether it is a mean over examples, of however many devices."""
        return self.mean and self.examples == 0

    @property
    def is_raw(self) -> bool:
        """Whether it holds elements, or state, as a device was given them."""
        return self.data and self.devices == 0 and not self.mean and not self.reduced


_NUMBER = Amount()
_ANY_NUMBER = Amount(devices=None)
"""A number of the program's own, which may well be the number of devices."""
_SAMPLE = Amount(rows=True, data=True, local=True)


_Ask = Callable[[Value], Amount | None]


class Amounts:
    """How the values of a program grow along one axis of devices."""

    def __init__(self, facts: Facts, axis: str) -> None:
        self.axis, self.flow, self.shapes, self._program = axis, facts.flow, facts.get(Shapes), facts.program
        self._weights = {
            op.operands[at]
            for op in facts.program.named("grad")
            for at in op.differentiated or ()
            if isinstance(at, int) and at < len(op.operands)
        }
        # Inside of a circle, as a loop is one, nothing is known yet of what closes it.
        self._answers: Answers[Value, Amount | None] = Answers(self._found, None)

    def of(self, argument: Argument) -> Amount:
        """Return how an argument grows."""
        return self._of(argument, self._answers)

    @cached_property
    def reaching(self) -> Set[Value]:
        """The values that a reduction over the devices may have a part in: no amount of another one is `reduced`."""
        losses: defaultdict[Value, list[Value]] = defaultdict(list)
        for op in self._program.named("grad"):
            for loss in op.regions[0].results[:1]:
                losses[loss] += op.results
        sent = (op for op in self._program.named("collective") if self.axis in (axes_reduced(op) or ()))
        starts = [value for op in sent for value in op.results]
        if any(self._program.named("shard_map")):
            starts += [value for gradients in losses.values() for value in gradients]

        def step(one: Value) -> Iterable[Value]:
            later = (*ahead(self.flow, one, lambda op: not op.regions), *losses.get(one, ()))
            return (value for value in later if value not in self._weights)

        return frozenset(walk(starts, step))

    def is_share(self, value: Value) -> bool:
        """Whether a value holds the examples that one device has."""
        amount = self.of(value)
        return amount.rows is True and amount.local

    def _of(self, argument: Argument, ask: _Ask) -> Amount:
        if isinstance(argument, Value):
            return ask(argument) or _ANY_NUMBER
        plain = isinstance(argument, float) and not float(argument).is_integer()
        return _NUMBER if plain or argument in (0, 1, 2) else _ANY_NUMBER

    def _found(self, value: Value, ask: _Ask) -> Amount | None:
        if value in self._weights:
            return _NUMBER
        op = self.flow.own_maker(value)
        if op is None:
            return self._entered(value, ask)
        if op.regions:
            return self._left(op, value, ask)
        if op.name == "py.unpack" and op.star is None and _is_shape(self.flow.maker(op.operands[0])):
            return self._size(op.operands[0], op.results.index(value), ask)
        return self._computed(op, ask)

    # Borders

    def _entered(self, value: Value, ask: _Ask) -> Amount | None:
        """Return what a parameter is given."""
        entry = self.flow.entered(value)
        if entry is None:
            return replace(_SAMPLE, rows=None)
        op, region = entry
        if op.name == "shard_map" or (op.name in ("pmap", "vmap") and op.option("axis_name") == self.axis):
            return self._share(op, region.params.index(value), value)
        if (loop := Loop.of(op)) is not None and value in (one for one, _ in loop.elements):
            return replace(_joined(map(ask, given_as(op, region, value))) or _ANY_NUMBER, rows=None)
        made = _joined(map(ask, source_of(op, region, value)))
        is_one = op.name == "vmap" and (op.in_axes or ())[region.params.index(value) :][:1] != (None,)
        return replace(made, rows=False) if made is not None and is_one else made

    def _share(self, op: Op, at: int, value: Value) -> Amount:
        """Return what a device has of one argument of a map over devices."""
        if op.name == "shard_map":
            dims = self.shapes.of(value).dims
            labels = [label.name for dim in dims or () for label in dim.labels if label.kind == "shard"]
            if dims is None:
                return replace(_SAMPLE, rows=None)
            return _SAMPLE if self.axis in labels else _ANY_NUMBER
        return _ANY_NUMBER if (op.in_axes or ())[at : at + 1] == (None,) else _SAMPLE

    def _left(self, op: Op, value: Value, ask: _Ask) -> Amount | None:
        """Return what an op with regions gives."""
        if op.name == "grad" and op.results.index(value) >= len(op.regions[0].results):
            return self._slope(op, value, ask)
        inside = [one for region in op.regions for one in made_inside(op, region, value)]
        made = _joined(map(ask, inside))
        if made is not None and made.data and op.name == "scan" and self._accumulates(op, inside, ask):
            return replace(made, examples=None if made.examples is None else made.examples + 1)
        return replace(made, rows=True) if made is not None and made.data and op.name == "vmap" else made

    def _accumulates(self, op: Op, ends: list[Value], ask: _Ask) -> bool:
        """Whether a loop over the examples of a device adds something up in each turn."""
        loop = Loop(op)
        params = {one.param for one in loop.carried}
        makers = [self.flow.maker(one) for end in ends for one in (end, *self._leaf(end))]
        added = [step for step in makers if step is not None and step.function in SUMS_OF_TWO]
        before = {one for step in added for value in step.operands for one in self._whole(value)}
        return bool(params & before) and any((ask(given) or _NUMBER).rows for _, given in loop.elements)

    def _leaf(self, value: Value) -> tuple[Value, ...]:
        """Return what a function of trees gives for one leaf."""
        op = self.flow.maker(value)
        return op.regions[0].results if op is not None and op.name == "tree.map" and op.regions else ()

    def _whole(self, value: Value) -> Iterable[Value]:
        """Return what a leaf is taken of, and the value itself."""
        entry = self.flow.entered(value)
        return (value, *(given_as(*entry, value) if entry is not None and entry.op.name == "tree.map" else ()))

    def _slope(self, op: Op, value: Value, ask: _Ask) -> Amount:
        """Return how a gradient grows: as its loss does, unless it goes through other devices."""
        body = op.regions[0]
        loss = ask(body.results[0]) if body.results else None
        given = [body.params[at] for at in op.differentiated or () if isinstance(at, int)]
        inner = walk(op.regions, lambda region: (one for step in region.ops for one in step.regions))
        sent = [step for region in inner for step in region.ops if step.name == "collective" and step.results]
        summed = self._is_summed(op, value)
        if loss is None or summed is None or any(depends(self.flow, step.results[0], given) for step in sent):
            return Amount(None, None, None, data=True, local=True)
        if summed and loss.devices is not None:
            return replace(loss, devices=loss.devices + 1, rows=False, local=False, reduced=True)
        return replace(loss, rows=False)

    def _is_summed(self, op: Op, value: Value) -> bool | None:
        """Whether JAX adds a gradient up over the devices, as a checked `shard_map` does by what all devices share."""
        around = (holder for _, holder in self.flow.places.up(self.flow.places.region_of[op]))
        mapped = next((one for one in around if one is not None and one.name == "shard_map"), None)
        if mapped is None or not is_checked(mapped):
            return False
        at = op.results.index(value) - len(op.regions[0].results)
        by = [op.operands[one] for one in op.differentiated or () if isinstance(one, int)]
        specs = dict(zip(mapped.regions[0].params, axes_split(mapped.placed_in, self.shapes), strict=False))
        origins = walk(by[at : at + 1], lambda one: behind(self.flow, one, lambda step: step.name in HOLDING))
        axes = [specs[one] for one in origins if one in specs]
        return None if not axes or None in axes else not any(self.axis in (one or ()) for one in axes)

    # Ops without regions

    def _computed(self, op: Op, ask: _Ask) -> Amount | None:
        first = next(iter(op.arguments.values()), None)
        if op.name == "collective":
            return self._collected(op, self._of(first, ask))
        if op.name == "array.shape":
            return self._counted(op, first, ask)
        if op.name == "array.reduce":
            grouped = op.function in GROUPED_SUMS
            return self._grouped(op, ask) if grouped else self._reduced(op, self._of(first, ask))
        if op.name == "array.scatter" and op.function == "add":
            return _added(self._of(op.arguments.get("value"), ask), _joined(map(ask, op.operands)) or _NUMBER)
        if _is_bounded(op):
            return self._bounded(op, _joined(map(ask, op.operands)) or _NUMBER)
        if op.name == "array.map":
            return _mapped(op, [self._of(one, ask) for one in op.arguments.values()])
        if op.name in JOINING:
            return self._chosen(op, ask)
        if op.name == "py.item" and isinstance(first, Value) and _is_shape(self.flow.maker(first)):
            return self._size(first, op.arguments.get("index"), ask)
        if op.name in HOLDING or (op.name == "py.call_library" and op.function in ADDITIONS):
            return _joined(map(ask, op.operands)) or _NUMBER
        if op.name == "key.draw" and self._of(op.arguments.get("key"), ask).data:
            return replace(_SAMPLE, rows=None)
        return self._other(op, [ask(one) or _ANY_NUMBER for one in op.operands])

    def _chosen(self, op: Op, ask: _Ask) -> Amount:
        """Return what holds elements of several arrays; a condition takes part only where it tells devices apart."""
        condition = op.arguments.get("condition")
        parts = [one for one in op.operands if one is not condition]
        made = _joined(map(ask, parts)) or _NUMBER
        by = self._of(condition, ask)
        return replace(made, devices=None) if by.data and by.devices is None else made

    def _collected(self, op: Op, given: Amount) -> Amount:
        axes = axes_reduced(op)
        if op.function == "axis_size":
            return Amount(devices=1) if axes == {self.axis} else _ANY_NUMBER
        if op.function == "axis_index":
            # What is chosen by it may be that of some devices alone.
            return Amount(devices=None, data=True, local=True)
        if axes is None or self.axis not in axes:
            return given
        known = OVER_DEVICES | SUMS_OVER_DEVICES | SAME_ON_ALL_DEVICES
        if op.function not in known or op.arguments.get("axis_index_groups") is not None:
            return Amount(None, None, None, data=given.data)
        if op.function in SAME_ON_ALL_DEVICES - OVER_DEVICES:
            return replace(given, rows=None, local=False, reduced=given.data)
        if not given.data and op.function in SUMS_OVER_DEVICES and given.devices is None:
            # The sum of a number is that many times the number: of one, how many devices there are.
            given = replace(given, devices=0)
        gained = int(op.function in SUMS_OVER_DEVICES)
        devices = None if given.devices is None else given.devices + gained
        return replace(given, devices=devices, local=False, reduced=given.data)

    def _counted(self, op: Op, base: Argument, ask: _Ask) -> Amount:
        """Return how a size grows."""
        of = self._of(base, ask)
        if op.function == "ndim" or not of.data:
            return _NUMBER if of.data else _ANY_NUMBER
        return Amount(examples=1 if of.rows and op.function != "shape" else None)

    def _size(self, shape: Value, at: Argument, ask: _Ask) -> Amount:
        """Return how the size of one axis grows."""
        made = self.flow.maker(shape)
        base = None if made is None else next(iter(made.arguments.values()), None)
        of = self._of(base, ask)
        if not of.data or not isinstance(at, int) or not isinstance(base, Value):
            return _ANY_NUMBER
        dims = self.shapes.of(base).dims or ()
        labels = {label.name for dim in dims[at : at + 1] for label in dim.labels if label.kind == "shard"}
        if any(label.kind == "shard" for dim in dims for label in dim.labels):
            return Amount(examples=int(self.axis in labels))
        return Amount(examples=(1 if of.rows else None) if at == 0 else 0 if at > 0 else None)

    def _bounded(self, op: Op, given: Amount) -> Amount:
        """Return how truths, shares and positions of examples grow: not at all, whatever they were made of."""
        if not given.data:
            return given
        # One for all examples may tell devices apart.
        devices = 0 if given.rows else given.devices
        over = self._over_examples(op, given) if op.name == "array.order" else False
        rows = given.rows if over is False else None if over is None else False
        return Amount(devices=devices, rows=rows, data=True, local=given.local)

    def _grouped(self, op: Op, ask: _Ask) -> Amount:
        """Return how the sum of each group grows, or how many there are of it: as the examples do."""
        counts = op.function == "bincount" and op.arguments.get("weights") is None
        given = _joined(map(ask, op.operands)) or _NUMBER if counts else self._of(op.argument("data", "weights"), ask)
        rows = (_joined(map(ask, op.operands)) or _NUMBER).rows
        if not given.data:
            return given
        if counts:
            given = Amount(data=True, local=given.local)
        return replace(given, examples=None if given.examples is None or not rows else given.examples + 1, rows=False)

    def _reduced(self, op: Op, given: Amount) -> Amount:
        if not given.data:
            return given
        over = self._over_examples(op, given)
        if over is False:
            return given
        whole = not op.has("axis", "axes") or op.argument("axis", "axes") is None
        rows = None if over is None and not whole else False
        if op.function in AVERAGES:
            return replace(given, examples=given.examples or 0, rows=rows, mean=True)
        if op.function not in ADDITIONS | COUNTS:
            return replace(given, examples=0 if given.examples == 0 else None, rows=rows)
        examples = None if over is None or given.examples is None else given.examples + 1
        return replace(given, examples=examples, rows=rows)

    def _over_examples(self, op: Op, given: Amount) -> bool | None:
        """Whether a reduction goes over the axis of examples; None where that cannot be told."""
        contexts = self.shapes.contexts(op)
        if any(self.axis in along(op, context) for context in contexts):
            return True
        if given.rows is False:
            return False
        axis = op.argument("axis", "axes") if op.has("axis", "axes") else None
        places = (0,) if axis is None else axes_in(axis)
        base = next(iter(op.arguments.values()), None)
        dims = self.shapes.of(base).dims if isinstance(base, Value) else None
        if dims is not None and any(label.kind == "shard" for dim in dims for label in dim.labels):
            return False
        if places is None or (min(places, default=0) < 0 and dims is None):
            return None
        if not any(at % max(len(dims or ()), 1) == 0 if at < 0 else at == 0 for at in places):
            return False
        return given.rows

    def _other(self, op: Op, given: list[Amount]) -> Amount:
        """Return what is known of the result of any other op."""
        data = [one for one in given if one.data]
        if op.function in NUMBERS_OF_DEVICES:
            return Amount(devices=1)
        if not data:
            return _ANY_NUMBER
        summed = op.name == "array.dot" and self._sums_examples(op, given)
        if op.name == "array.dot" and len(data) == 1 and not summed and not self._is_contracted(op):
            return data[0]
        devices = {one.devices for one in data}
        # The loss of every example.
        known = 0 if op.loss and all(one.examples == 0 for one in data) else None
        if summed or (op.name == "array.dot" and self._is_contracted(op)):
            known = 1 if all(one.examples == 0 for one in data) else None
        return Amount(
            known,
            devices.pop() if len(devices) == 1 else None,
            True if op.loss else False if summed else None,
            data=True,
            local=any(one.local for one in data),
            reduced=any(one.reduced for one in data),
        )

    def _sums_examples(self, op: Op, given: list[Amount]) -> bool:
        """Whether a product adds up over the examples, the first axis of all factors: `x.T @ y`."""
        rows = [value for value, amount in zip(op.operands, given, strict=True) if amount.rows]
        named = subscripts(op)
        if not 0 < len(rows) == len(op.operands) <= 2:
            return False
        if named is not None:
            firsts = {names[0] for names in named.inputs if names}
            return named.output is not None and len(firsts) == 1 and firsts.isdisjoint({*named.output, REST})
        left = self.flow.maker(op.operands[0]) if len(rows) == 2 else None
        turned = left is not None and left.name == "array.permute" and len(left.arguments) == 1
        return turned and op.function in MATRIX_PRODUCTS

    def _is_contracted(self, op: Op) -> bool:
        """Whether a product sums over an axis of which each device has a share."""
        return any(
            label.kind == "shard" and label.name == self.axis
            for context in self.shapes.contexts(op)
            for met in meetings(op, context)
            if met.how == "contracted"
            for label in met.left.dim.labels | met.right.dim.labels
        )


def _is_bounded(op: Op) -> bool:
    """Whether an op tells of its elements what is true of them, their shares, or where they are."""
    if op.name == "array.map":
        return op.function in TRUTHS
    if op.name == "array.order":
        return op.function in PICKED_POSITIONS
    return op.function == "softmax" or (op.name == "array.expand" and op.function in MASKS)


def _is_shape(op: Op | None) -> bool:
    return op is not None and op.name == "array.shape" and op.function == "shape"


def _joined(given: Iterable[Amount | None]) -> Amount | None:
    """Return what covers several values of which one is taken, or that are added."""
    known = [one for one in given if one is not None]
    return reduce(_either, known) if known else None


def _either(one: Amount, other: Amount) -> Amount:
    if not (one.data and other.data):
        return one if one.data else other
    return Amount(
        one.examples if one.examples == other.examples else None,
        _common(one, other),
        (one.rows or other.rows) if None not in (one.rows, other.rows) else None,
        data=True,
        mean=one.mean and other.mean,
        local=one.local or other.local,
        reduced=one.reduced or other.reduced,
    )


def _common(one: Amount, other: Amount) -> int | None:
    """Return how a sum grows with the devices: what is no mean and no sum takes the scale of what is added to it."""
    if one.devices != other.devices:
        return next((b.devices for a, b in ((one, other), (other, one)) if a.is_raw and not b.is_raw), None)
    return one.devices


def _added(value: Amount, whole: Amount) -> Amount:
    """Return how what examples are added to grows, each at a place of its own."""
    if not whole.data:
        return whole
    examples = None if value.examples is None or whole.rows is False else value.examples + 1
    return replace(whole, examples=examples, devices=value.devices if value.data else 0, rows=False)


def _mapped(op: Op, given: list[Amount]) -> Amount:
    """Return how the result of an elementwise function grows."""
    if op.function in SUMS_OF_TWO | LINEAR | BOUNDS:
        return _joined(given) or _NUMBER
    if op.function == "multiply" and len(given) == 2:
        return _scaled(given[0], given[1], 1)
    if op.function == "divide" and len(given) == 2:
        return _scaled(given[0], given[1], -1)
    whole = _joined(given) or _NUMBER
    if not whole.data:
        return whole
    if whole.devices == 0:
        return whole if whole.examples == 0 else replace(whole, examples=None)
    return replace(whole, examples=None, devices=None)


def _scaled(one: Amount, other: Amount, sign: int) -> Amount:
    """Return how a product grows, or a quotient."""
    if sign > 0 and not one.data:
        one, other = other, one
    devices = other.devices
    if devices is None and sign > 0 and not other.data:
        # A rate is hardly ever the number of devices; what is divided by may well be.
        devices = 0
    counted = (one.examples or 0) > 0 and (other.examples or 0) > 0 and sign < 0
    return Amount(
        _sum(one.examples, other.examples, sign),
        _sum(one.devices, devices, sign),
        (one.rows or other.rows) if None not in (one.rows, other.rows) else None,
        data=one.data or other.data,
        mean=one.mean or other.mean or counted,
        local=one.local or other.local,
        reduced=one.reduced or other.reduced,
    )


def _sum(one: int | None, other: int | None, sign: int) -> int | None:
    return None if one is None or other is None else one + sign * other
