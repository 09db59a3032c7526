"""The shape trace at boundaries: what each value looks like outside and inside every transformation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxaudit.ir import ArrayType, Op, Program, Region, Value
from jaxaudit.reports.model import Boundary, Crossing
from jaxaudit.reports.stack import TRANSFORMS
from jaxaudit.reports.types_text import type_text, with_axis, without_axis

_MOST = 2000
"""Boundaries to show; an unrolled model has the same ones over and over."""


class _Side(NamedTuple):
    value: Value
    outside: ArrayType | None
    inside: ArrayType | None
    how: str


def boundaries(program: Program) -> tuple[Boundary, ...]:
    """Give every boundary of a traced program once, in program order."""
    found: dict[tuple[object, ...], Boundary] = {}
    for root in program.roots:
        for op, mapped in _nested(root.region):
            if op.name in TRANSFORMS:
                made = _boundary(op, root.name, mapped, program)
                found.setdefault((made.path, made.line, made.transform, made.function, made.entries), made)
            if len(found) >= _MOST:
                break
    return tuple(found.values())


def _nested(region: Region) -> Iterator[tuple[Op, tuple[str, ...]]]:
    """Walk a region with the vmaps around each op: inside them types keep the mapped axes."""
    waiting: list[tuple[Iterator[Op], tuple[str, ...]]] = [(iter(region.ops), ())]
    while waiting:
        ops, mapped = waiting[-1]
        op = next(ops, None)
        if op is None:
            waiting.pop()
            continue
        yield op, mapped
        inner = (*mapped, f"{op.text('function')} ({op.attrs.get('axis_size')})") if op.name == "vmap" else mapped
        waiting.extend((iter(one.ops), inner) for one in reversed(op.regions))


def _boundary(op: Op, root: str, mapped: tuple[str, ...], program: Program) -> Boundary:
    region = op.regions[-1]
    entries = [_entry(op, number, program) for number in range(min(_params(op), len(op.operands)))]
    exits = [_exit(op, number, program) for number in range(min(len(op.results), len(region.results)))]
    spelling = op.text("spelling").removeprefix("jax.") or op.name
    function = op.text("function") or region.label
    return Boundary(
        root, spelling, function, op.span.path, op.span.line, _crossings(entries), _crossings(exits), mapped
    )


def _params(op: Op) -> int:
    skip = 1 if op.name == "cond" else 0
    return len(op.regions[-1].params) + skip + (1 if op.name == "fori" else 0)


def _entry(op: Op, number: int, program: Program) -> _Side:
    """Say what one operand becomes inside."""
    operand = op.operands[number]
    outside = program.types.get(operand)
    params = op.regions[-1].params
    if op.name == "cond":
        if number == 0:
            return _Side(operand, outside, None, "chooses the branch")
        param = params[number - 1]
    elif op.name == "fori":
        if number < 2:
            return _Side(operand, outside, None, "lower bound" if number == 0 else "upper bound")
        param = params[number - 1]
    else:
        param = params[number]
    named = param if param.name else operand
    return _how_in(op, number, named, outside, program.types.get(param))


def _how_in(op: Op, number: int, value: Value, outside: ArrayType | None, inside: ArrayType | None) -> _Side:
    match op.name:
        case "vmap":
            axis = _at(op.attrs.get("in_axes"), number)
            logical = _logical(op, number, inside)
            before = with_axis(logical, axis, _number(op.attrs.get("axis_size")))
            return _Side(value, before, logical, _mapped(axis))
        case "pmap" | "shard_map" | "map":
            axis = _at(op.attrs.get("in_axes"), number)
            split = "split" if op.name == "shard_map" else "mapped"
            return _Side(value, outside, inside, "the same everywhere" if axis is None else f"{split} over axis {axis}")
        case "scan":
            carried = number < (_number(op.attrs.get("carry")) or 0)
            return _Side(value, outside, inside, "carried" if carried else "scanned over axis 0")
        case "fori" | "while":
            return _Side(value, outside, inside, "carried")
        case "grad" | "vjp":
            return _Side(value, outside, inside, "goes in")
    return _Side(value, outside, inside, "whole")


def _exit(op: Op, number: int, program: Program) -> _Side:
    result, inner = op.results[number], op.regions[-1].results[number]
    outside, inside = program.types.get(result), program.types.get(inner)
    named = result if result.name else inner
    match op.name:
        case "vmap":
            axis = _at(op.attrs.get("mapped_out"), number)
            return _Side(named, outside, without_axis(inside, axis), _mapped(axis) if axis is not None else "comes out")
        case "scan":
            carried = number < (_number(op.attrs.get("carry")) or 0)
            return _Side(named, outside, inside, "carried" if carried else "stacked along axis 0")
        case "map":
            return _Side(named, outside, inside, "stacked along axis 0")
        case "grad":
            gradients = op.attrs.get("gradients")
            is_gradient = isinstance(gradients, tuple) and number in gradients
            return _Side(named, outside, inside, "gradient" if is_gradient else "value")
    return _Side(named, outside, inside, "carried" if op.name in ("fori", "while") else "whole")


def _logical(op: Op, number: int, physical: ArrayType | None) -> ArrayType | None:
    """Give a parameter's type as the mapped function sees it, without any mapped axis."""
    shape = _pick(op.attrs.get("inside"), number)
    if isinstance(shape, tuple) and physical is not None:
        return ArrayType(tuple(int(size) for size in shape), physical.dtype, physical.weak)
    return without_axis(physical, _at(op.attrs.get("mapped_in"), number))


def _mapped(axis: int | None) -> str:
    return "shared by all" if axis is None else f"mapped over axis {axis}"


def _crossings(sides: Sequence[_Side]) -> tuple[Crossing, ...]:
    return tuple(Crossing(side.value.name, type_text(side.outside), type_text(side.inside), side.how) for side in sides)


def _pick(values: object, number: int) -> object:
    return values[number] if isinstance(values, tuple) and number < len(values) else None


def _at(values: object, number: int) -> int | None:
    return _number(_pick(values, number))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
