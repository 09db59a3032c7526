"""Ranks that code gives away: `batch, time = x.shape` says that `x` has two axes."""

from __future__ import annotations

from jaxaudit.ir import Op, Program, Region, Value


def unpacked_ranks(program: Program) -> dict[Value, int]:
    """Give the rank of every parameter whose whole shape is unpacked on the way through its own function.

    Code that asks for the rank treats several ranks, so nothing is said there.
    """
    shapes: dict[Value, Value] = {}
    asked: set[Value] = set()
    found: dict[Value, set[int]] = {}
    for op in program.walk():
        if op.name == "array.shape" and op.operands:
            _note_question(op, shapes, asked)
    for region in _regions(program):
        _collect(region, shapes, found)
    return {value: ranks.pop() for value, ranks in found.items() if len(ranks) == 1 and value not in asked}


def measured(program: Program) -> frozenset[Value]:
    """Give the arrays whose shape the code reads."""
    asked = (op for op in program.walk() if op.name == "array.shape" and op.operands)
    return frozenset(op.operands[0] for op in asked if op.text("function").rpartition(".")[2] == "shape")


def _note_question(op: Op, shapes: dict[Value, Value], asked: set[Value]) -> None:
    function = op.text("function").rpartition(".")[2]
    if function == "shape":
        shapes[op.results[0]] = op.operands[0]
    elif function == "ndim":
        asked.add(op.operands[0])
    elif function == "len" and op.operands[0] in shapes:
        asked.add(shapes[op.operands[0]])


def _regions(program: Program) -> list[Region]:
    found = [root.region for root in program.roots]
    seen: set[int] = set()
    for op in program.walk():
        for region in op.regions:
            if id(region) not in seen:
                seen.add(id(region))
                found.append(region)
    return found


def _collect(region: Region, shapes: dict[Value, Value], found: dict[Value, set[int]]) -> None:
    params = set(region.params)
    for op in region.ops:
        if op.name == "py.unpack" and op.operands and op.attrs.get("star") is None:
            base = shapes.get(op.operands[0])
            if base in params:
                found.setdefault(base, set()).add(len(op.results))
