"""Whether two values are one number: made alike, step by step, of the same values."""

from __future__ import annotations

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.interfaces import given_as


def is_same(first: Value, second: Value, flow: Flow) -> bool | None:
    """Whether two values are computed in the same way from the same values; None where those come from elsewhere."""
    pending, seen, open_ended = [(first, second)], set[tuple[Value, Value]](), False
    while pending:
        pair = pending.pop()
        if pair[0] is pair[1] or pair in seen:
            continue
        seen.add(pair)
        ways = [_handed_in(value, flow) for value in pair]
        outside = next(((value, value) for value in ways[0] if value in ways[1]), (ways[0][-1], ways[1][-1]))
        # What one call of a function gives for two parameters may be one value; that says nothing about other calls.
        inside = [way[: way.index(end)] for way, end in zip(ways, outside, strict=True)]
        homes = [{id(flow.places.owner[value]) for value in way} for way in inside]
        open_ended |= not homes[0].isdisjoint(homes[1])
        if outside[0] is outside[1]:
            continue
        one, other = (flow.maker(value) for value in outside)
        if one is not None and other is not None and _is_one_result(one, outside[0], other, outside[1]):
            read = _read_by_bodies(one, other, flow)
            if read is not None:
                pending += (*zip(one.operands, other.operands, strict=True), *read)
                continue
        if one is None or other is None or not (_computes(one) and _computes(other)):
            open_ended = True
            continue
        if not are_alike(one, other) or not one.operands:
            return False
        pending += zip(one.operands, other.operands, strict=True)
    return None if open_ended else True


def _handed_in(value: Value, flow: Flow) -> list[Value]:
    """Return a value and what the calls around it hand in for it, as long as it is a parameter."""
    found = [value]
    while (entry := flow.entered(found[-1])) is not None and entry[0].name == "py.call":
        given = next(given_as(*entry, found[-1]), None)
        if given is None:
            break
        found.append(given)
    return found


def _is_one_result(one: Op, first: Value, other: Op, second: Value) -> bool:
    """Whether two values stand in the same place among the results of ops that run a function."""
    alike = (one.name, one.function, one.differentiated) == (other.name, other.function, other.differentiated)
    at = [op.results.index(value) for op, value in ((one, first), (other, second))]
    return bool(one.regions) and alike and at[0] == at[1] and len(one.operands) == len(other.operands)


def _read_by_bodies(one: Op, other: Op, flow: Flow) -> list[tuple[Value, Value]] | None:
    """Return what two runs of one function read from around it, in pairs; None where they may do different things."""
    found: list[tuple[Value, Value]] = []
    if [region.span for region in one.regions] != [region.span for region in other.regions]:
        return None
    for region, like in zip(one.regions, other.regions, strict=True):
        ops, others = (list(some.walk()) for some in (region, like))
        if len(ops) != len(others):
            return None
        for op, twin in zip(ops, others, strict=True):
            pair = (op.name, op.span, len(op.operands)), (twin.name, twin.span, len(twin.operands))
            # A layer may draw numbers or count how often it was called.
            if pair[0] != pair[1] or not is_pure(op) or op.name == "py.call_library":
                return None
            own = [flow.places.within(flow.places.region_of_value(value), region) for value in op.operands]
            pairs = zip(op.operands, twin.operands, strict=True)
            found += [both for both, inside in zip(pairs, own, strict=True) if not inside]
    return found


def _computes(op: Op) -> bool:
    """Whether an op computes one array of its operands, and does nothing else."""
    return (op.name.startswith("array.") or bool(op.loss)) and not op.regions and len(op.results) == 1


def are_alike(one: Op, other: Op) -> bool:
    """Whether two ops do the same with their operands, and nothing else."""
    alike = (one.name, one.qualified, len(one.operands)) == (other.name, other.qualified, len(other.operands))
    written = [{name: _shape_of(given) for name, given in op.arguments.items()} for op in (one, other)]
    return _computes(one) and alike and written[0] == written[1]


def _shape_of(given: Argument) -> object:
    """Return an argument without its values, which are compared by themselves."""
    if isinstance(given, Value):
        return Value
    return tuple(map(_shape_of, given)) if isinstance(given, tuple) else given
