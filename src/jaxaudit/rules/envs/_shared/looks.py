"""Looks at a state: calls, and reads of attributes, whose result is given back with other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.moments import moment
from jaxaudit.analyses.lineage.origins import Context
from jaxaudit.analyses.queries import made_of, nothing, through_ops
from jaxaudit.analyses.versions import is_copy
from jaxaudit.ir import Op, Value
from jaxaudit.ir.record import record

_READS = ("py.attr", "py.item")

Key = tuple[Value, tuple[str | int, ...]]
"""What a value is a part of, and the way to it."""


@record
class Look:
    """A call, or the read of an attribute, whose result is given back with other values."""

    op: Op
    which: object
    """The same for every look of this kind."""
    end: Op
    given: tuple[Key, ...]
    """All that is given back."""
    at: int
    """Which of that is the result."""
    result: Value
    reads: Mapping[object, Key]
    """What is looked at, by the place where it is read: that is the same for every look of this kind."""
    made: frozenset[Value]
    """What of all these was made in the function that gives it back; the rest came in."""
    renewed: Mapping[Key, Value]
    """What the fields of a state are replaced by, where the result is put into a copy of it."""

    def place_of(self, key: Key) -> int | None:
        """Return where something that was made here is given back, by itself or in a whole."""
        wholes = [(key[0], key[1][:upto]) for upto in range(len(key[1]), -1, -1)] if key[0] in self.made else []
        return next((self.given.index(one) for one in wholes if one in self.given), None)

    def beside(self, place: object, model: Look) -> tuple[Key, Value] | None:
        """Return what stands beside the result where the model has what it reads at a place, or has replaced it."""
        if (new := self.instead_of(self.reads[place])) is not None:
            return self.given[self.end.operands.index(new)], new
        there = model.place_of(model.reads[place]) if place in model.reads else None
        at = -1 if there is None else there - model.at + self.at
        return (self.given[at], self.end.operands[at]) if 0 <= at < len(self.given) and at != self.at else None

    def instead_of(self, key: Key) -> Value | None:
        """Return what replaces something, or the field that it is taken out of, in a copy of the state."""
        wholes = ((key[0], key[1][:upto]) for upto in range(len(key[1]), 0, -1))
        return next((self.renewed[one] for one in wholes if one in self.renewed), None)


def is_model(one: Look) -> bool:
    """Whether something that is looked at was made here, and is given back beside the result."""
    return any(at not in (None, one.at) for at in map(one.place_of, one.reads.values()))


def looks(end: Op, flow: Flow) -> Iterator[Look]:
    """Return every look whose result a function gives back, or puts into a record, beside other values."""
    region = flow.places.function_of(end)
    given = tuple(key_of(one, flow) for one in end.operands)
    for op in region.ops if len(given) > 1 else ():
        if (result := next((one for one in _results(op) if key_of(one, flow) in given), None)) is None:
            continue
        if op.name == "py.attr":
            yield _look(op, op.label, end, given, result, {0: key_of(op.operands[0], flow)}, flow)
        elif op.name == "py.call_unknown" or (op.name == "py.call" and op.regions):
            reads = (
                dict(_read_inside(op, flow)) if op.regions else {i: key_of(v, flow) for i, v in enumerate(op.operands)}
            )
            which = op.regions[0].span if op.regions else op.callee
            yield _look(op, which, end, given, result, reads, flow)


def _results(op: Op) -> Sequence[Value]:
    """Return what an op gives; of a body that stands where it is called, what that gives back."""
    ends: list[Op] = [one for one in op.regions[0].ops if one.name == "py.return"] if op.in_place and op.regions else []
    return op.results or [value for end in ends for value in end.operands]


def _look(
    op: Op, which: object, end: Op, given: tuple[Key, ...], result: Value, reads: Mapping[object, Key], flow: Flow
) -> Look:
    region, values = flow.places.function_of(end), {key[0] for key in (*given, *reads.values())}
    homes = {one: flow.places.region_of_value(one) for one in values.difference(region.params)}
    made = frozenset(one for one, home in homes.items() if home is not None and flow.places.within(home, region))
    renewed: dict[Key, Value] = {}
    if is_copy(end):
        root, path = key_of(end.operands[0], flow)
        fields = (end.named or {}).items()
        renewed = {(root, (*path, name)): one for name, one in fields if isinstance(one, Value) and one in end.operands}
    return Look(op, which, end, given, given.index(key_of(result, flow)), result, reads, made, renewed)


def key_of(value: Value, flow: Flow, context: Context | None = None) -> Key:
    """Return what a value is a part of, and the way to it."""
    found = moment(flow, value, context)
    return made_of(flow, found.value, nothing), found.path


def _read_inside(call: Op, flow: Flow) -> Iterator[tuple[object, Key]]:
    """Return what the body of a call reads that was made before, with the places where it does so."""
    body = call.regions[0]
    context = {id(body): call}
    for op in body.walk():
        for at, value in enumerate(op.operands if op.name not in _READS else ()):
            whole = made_of(flow, value, through_ops(*_READS))
            region = flow.places.region_of_value(whole)
            if whole in body.params or region is None or not flow.places.within(region, body):
                yield (op.span, op.name, at), key_of(value, flow, context)
