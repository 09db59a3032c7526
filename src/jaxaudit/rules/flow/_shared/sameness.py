"""Whether two values are one number: made alike, step by step, of the same values."""

from __future__ import annotations

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.ir import Argument, Op, Region, Value
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
        mapped = _mapped_alike(outside, flow)
        if mapped is not None:
            pending.append(mapped)
            continue
        one, other = (flow.maker(value) for value in outside)
        if one is not None and other is not None and _is_one_result(one, outside[0], other, outside[1]):
            read = _read_by_bodies(one, other)
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


def _mapped_alike(pair: tuple[Value, Value], flow: Flow) -> tuple[Value, Value] | None:
    """Return the arrays that two values are the elements of, where two maps go through them in the same way."""
    entries = [flow.entered(value) for value in pair]
    found: list[tuple[Value, object]] = []
    for value, entry in zip(pair, entries, strict=True):
        if entry is None or entry.op.name != "vmap" or entry.op.in_axes is None:
            return None
        at = entry.region.params.index(value)
        if at >= len(entry.op.in_axes) or entry.op.in_axes[at] == "?" or at >= len(entry.op.operands):
            return None
        found.append((entry.op.operands[at], entry.op.in_axes[at]))
    (first, axis), (second, other) = found
    two = entries[0] is not None and entries[1] is not None and entries[0].op is not entries[1].op
    return (first, second) if two and axis == other else None


def _is_one_result(one: Op, first: Value, other: Op, second: Value) -> bool:
    """Whether two values stand in the same place among the results of ops that run a function in the same way."""
    at = [op.results.index(value) for op, value in ((one, first), (other, second))]
    return bool(one.regions) and at[0] == at[1] and _is_twin(one, other)


def _read_by_bodies(one: Op, other: Op) -> list[tuple[Value, Value]] | None:
    """Return what two runs of one function read from around it, in pairs; None where they may do different things."""
    found, twins = list[tuple[Value, Value]](), dict[Value, Value]()
    pairs = zip(one.regions, other.regions, strict=True)
    return found if all(_run_alike(region, like, twins, found) for region, like in pairs) else None


def _run_alike(region: Region, like: Region, twins: dict[Value, Value], found: list[tuple[Value, Value]]) -> bool:
    """Whether two regions do the same, op by op; `found` gets what they read from around them."""

    def met(ours: tuple[Value, ...], theirs: tuple[Value, ...]) -> bool:
        pairs = list(zip(ours, theirs, strict=False))
        found.extend(pair for pair in pairs if pair[0] not in twins)
        return len(ours) == len(theirs) and all(twins.get(one, other) is other for one, other in pairs)

    twins.update(zip(region.params, like.params, strict=False))
    if (len(region.params), len(region.ops)) != (len(like.params), len(like.ops)):
        return False
    for op, twin in zip(region.ops, like.ops, strict=True):
        # A layer may draw numbers or count how often it was called.
        if not _is_twin(op, twin) or not met(op.operands, twin.operands) or op.name == "py.call_library":
            return False
        if not all(_run_alike(*inner, twins, found) for inner in zip(op.regions, twin.regions, strict=True)):
            return False
        twins.update(zip(op.results, twin.results, strict=False))
    return met(region.results, like.results)


def _is_twin(one: Op, other: Op) -> bool:
    """Whether two ops do the same with whatever they are given, and nothing else."""
    ways = [
        (op.name, op.function, op.qualified, op.differentiated, op.in_axes, op.constant, op.carry, len(op.results))
        for op in (one, other)
    ]
    sizes = [(len(op.operands), len(op.regions)) for op in (one, other)]
    return ways[0] == ways[1] and sizes[0] == sizes[1] and _written(one) == _written(other) and is_pure(one)


def _computes(op: Op) -> bool:
    """Whether an op computes one array of its operands, and does nothing else."""
    return (op.name.startswith("array.") or bool(op.loss)) and not op.regions and len(op.results) == 1


def are_alike(one: Op, other: Op) -> bool:
    """Whether two ops do the same with their operands, and nothing else."""
    alike = (one.name, one.qualified, len(one.operands)) == (other.name, other.qualified, len(other.operands))
    return _computes(one) and alike and _written(one) == _written(other)


def _written(op: Op) -> dict[str, object]:
    return {name: _shape_of(given) for name, given in op.arguments.items()}


def _shape_of(given: Argument) -> object:
    """Return an argument without its values, which are compared by themselves."""
    if isinstance(given, Value):
        return Value
    return tuple(map(_shape_of, given)) if isinstance(given, tuple) else given
