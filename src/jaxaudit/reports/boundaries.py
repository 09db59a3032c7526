"""The shape trace at boundaries: what each value looks like outside and inside every transformation.

Shapes are told as the code there sees them (`inside.py`): a scan inside a `vmap` shows what its author had in mind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxaudit.ir import Op, Region, Root, Value
from jaxaudit.reports.inside import View
from jaxaudit.reports.model import Boundary, Crossing
from jaxaudit.reports.stack import TRANSFORMS
from jaxaudit.reports.types_text import Shown, type_text


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


_MOST = 2000
"""Boundaries to show; an unrolled model has the same ones over and over."""


class _Look(NamedTuple):
    """How a value looks from one side: its type and the ids of its axes."""

    kind: Shown | None
    axes: tuple[str, ...] = ()


class _Side(NamedTuple):
    name: str
    outside: _Look
    inside: _Look
    how: str


def boundaries(view: View) -> tuple[Boundary, ...]:
    """Return every boundary of a program once, in program order."""
    found: dict[tuple[object, ...], Boundary] = {}
    for root in view.roots:
        captured = captures(root) if view.exact else {}
        for op, around in _nested(root.region):
            if op.name in TRANSFORMS and not op.backward:
                made = _Border(op, around, view).boundary(root.name, captured.get(op, ()))
                found.setdefault((made.path, made.line, made.transform, made.function, made.entries), made)
            if len(found) >= _MOST:
                break
    return tuple(found.values())


def _nested(region: Region) -> Iterator[tuple[Op, tuple[Op, ...]]]:
    """Walk a region with the vmaps around each op: inside them types keep the mapped axes.

    A body that several calls share is walked once for all of them.
    """
    seen: set[int] = set()
    waiting: list[tuple[Iterator[Op], tuple[Op, ...]]] = [(iter(region.ops), ())]
    while waiting:
        ops, around = waiting[-1]
        op = next(ops, None)
        if op is None:
            waiting.pop()
            continue
        yield op, around
        inner = (*around, op) if op.name == "vmap" else around
        for one in reversed(op.regions):
            if not one.shared or id(one) not in seen:
                seen.add(id(one))
                waiting.append((iter(one.ops), inner))


class _Border:
    """One op that is a transformation, seen from both sides."""

    def __init__(self, op: Op, around: tuple[Op, ...], view: View) -> None:
        self.op, self.around, self.types, self.axes = op, around, view.types, view.axes
        self.exact = view.exact
        self.region = op.regions[-1]
        self.paths = op.paths

    def boundary(self, root: str, captured: Sequence[Value]) -> Boundary:
        """Return what goes in and out, and what the inside reads without being handed it."""
        op = self.op
        entries = [self._entry(number) for number in range(len(op.operands))]
        entries += [_Side(one.name, self.look(one), self.look(one), "captured") for one in captured if self._told(one)]
        left = range(min(len(op.results), len(self.region.results)))
        exits = [self._exit(number) for number in left if self._is_given(number)]
        spelling = op.spelling.removeprefix("jax.") or op.name
        function = op.qualified or self.region.label
        mapped = tuple(f"{one.qualified} ({one.axis_size})" for one in self.around)
        place = (op.span.path, op.span.line)
        return Boundary(root, spelling, function, *place, _crossings(entries), _crossings(exits), mapped)

    def _is_given(self, number: int) -> bool:
        """Whether a result goes to the caller: a differentiated body also leaves what the backward pass needs."""
        given = self.op.given or ()
        return not any(given) or (number < len(given) and bool(given[number]))

    def _told(self, value: Value) -> bool:
        """Whether a captured value is worth a line: numbers without a name are constants of the code."""
        kind = self.types(value)
        return kind is not None and bool(value.name or kind.shape)

    def look(self, value: Value | None) -> _Look:
        """Return how a value looks to the code that sees it."""
        return _Look(None) if value is None else _Look(self.types(value), self.axes(value))

    def _param(self, number: int) -> Value | None:
        skip = {"cond": 1, "fori": 1}.get(self.op.name, 0)
        place = number - skip
        if self.op.name == "fori" and number < 2:
            return None
        return self.region.params[place] if 0 <= place < len(self.region.params) else None

    def _entry(self, number: int) -> _Side:
        """Return what one operand becomes inside."""
        op, operand, param = self.op, self.op.operands[number], self._param(number)
        name = (param.name if param is not None and op.name != "pmap" else "") or operand.name
        return _Side(name, self.look(operand), self.look(param), self._how_in(number))

    def _how_in(self, number: int) -> str:
        op = self.op
        match op.name:
            case "vmap":
                axis = _at(op.in_axes, number)
                return "shared by all" if axis is None else f"mapped over axis {axis}"
            case "shard_map" if spec := _text(op.in_specs, number):
                return f"split by {spec}" if "'" in spec else "the same everywhere"
            case "pmap" | "shard_map" | "map":
                axis = _at(op.in_axes, number)
                return "the same everywhere" if axis is None else f"mapped over axis {axis}"
            case "scan":
                return "carried" if number < (op.carry or 0) else "scanned over axis 0"
            case "fori":
                return ("lower bound", "upper bound")[number] if number < 2 else "carried"
            case "while":
                return "carried"
            case "cond" if number == 0:
                return "chooses the branch"
        return "goes in"

    def _exit(self, number: int) -> _Side:
        op, result, inner = self.op, self.op.results[number], self.region.results[number]
        mapped = self._collected(number) if op.name == "vmap" else None
        name = self._carried(number) or result.name or inner.name or _text(op.leaves, number)
        return _Side(name, self.look(result), self.look(inner), self._how_out(number, mapped))

    def _collected(self, number: int) -> int | None:
        """Return the axis along which `vmap` collects a result; source has it as it is written."""
        if self.exact:
            return _at(self.op.collected, number)
        given = (self.op.options or {}).get("out_axes", 0)
        return _at(given, number) if isinstance(given, tuple) else _number(given)

    def _carried(self, number: int) -> str:
        """Return the name of a carried value, by the parameter it comes in as.

        Of a gradient, by what it is taken for.
        """
        op = self.op
        if op.name in ("scan", "while", "fori") and number < (op.carry or len(op.results)):
            at = number + (1 if op.name == "fori" else 0)
            # What a body hands on may be more than what it is given, where the two do not fit.
            return self.region.params[at].name if at < len(self.region.params) else ""
        wrt = _at(op.wrt, number) if op.name == "grad" else None
        return self.region.params[wrt].name if wrt is not None else ""

    def _how_out(self, number: int, mapped: int | None) -> str:
        op = self.op
        match op.name:
            case "vmap":
                return "the same for all" if mapped is None else f"collected along axis {mapped}"
            case "scan":
                return "carried" if number < (op.carry or 0) else "stacked along axis 0"
            case "map":
                return "stacked along axis 0"
            case "shard_map" if spec := _text(op.out_specs, number):
                return f"put together by {spec}" if "'" in spec else "the same everywhere"
            case "pmap" | "shard_map":
                return "put together"
            case "grad":
                return _text(op.roles, number) or "comes out"
            case "fori" | "while":
                return "carried"
        return "comes out"


def _text(given: object, number: int) -> str:
    """Return what is noted of an argument or result, as it is written: its spec, its role, its path in the result."""
    return str(given[number]) if isinstance(given, tuple) and number < len(given) else ""


def _crossings(sides: Sequence[_Side]) -> tuple[Crossing, ...]:
    return tuple(
        Crossing(
            side.name,
            type_text(side.outside.kind),
            type_text(side.inside.kind),
            side.how,
            side.outside.axes,
            side.inside.axes,
        )
        for side in sides
    )


def _at(values: object, number: int) -> int | None:
    return _number(values[number]) if isinstance(values, tuple) and number < len(values) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
