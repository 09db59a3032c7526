"""Closures: what the body of a transformation reads from outside without being handed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.ir import Op, Region, Root, Value


def captures(root: Root) -> Mapping[Op, Sequence[Value]]:
    """Return for each op with regions the values that its inside reads and that are neither made nor handed in."""
    found: dict[Op, dict[Value, None]] = {}
    made: dict[Value, tuple[Op, ...]] = dict.fromkeys(root.region.params, ())
    waiting: list[tuple[Region, tuple[Op, ...], int]] = [(root.region, (), 0)]
    seen: set[int] = set()
    while waiting:
        region, around, position = waiting.pop()
        if position == 0:
            if id(region) in seen:
                continue
            seen.add(id(region))
            made.update(dict.fromkeys(region.params, around))
        if position == len(region.ops):
            _read(region.results, around, made, found)
            continue
        op = region.ops[position]
        waiting.append((region, around, position + 1))
        _read(op.operands, around, made, found)
        made.update(dict.fromkeys(op.results, around))
        waiting.extend((one, (*around, op), 0) for one in reversed(op.regions))
    return {op: tuple(value for value in values if value not in op.operands) for op, values in found.items()}


def _read(
    values: Sequence[Value],
    around: tuple[Op, ...],
    made: Mapping[Value, tuple[Op, ...]],
    found: dict[Op, dict[Value, None]],
) -> None:
    for value in values:
        home = len(made.get(value, around))
        for op in around[home:]:
            found.setdefault(op, {}).setdefault(value)
