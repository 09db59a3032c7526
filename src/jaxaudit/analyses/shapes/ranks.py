"""Ranks that code gives away: `batch, time = x.shape` says that `x` has two axes."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.ir import Argument, Declared, Op, Program, Region, Size, Value


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
    known = {value: ranks.pop() for value, ranks in found.items() if len(ranks) == 1}
    known |= {value: rank for value, rank in written_ranks(program).items() if value not in known}
    return {value: rank for value, rank in known.items() if value not in asked}


def asserted_axes(program: Program) -> dict[Value, Declared]:
    """Give the axes that `chex.assert_shape` and `chex.assert_rank` fix where a value is made."""
    found: dict[Value, Declared] = {}
    for region in _regions(program):
        own = set(region.params)
        for op in region.ops:
            own.update(op.results)
            if op.name == "py.call_library" and op.text("function") in _ASSERTIONS:
                for value, names in _asserted(op):
                    if value in own:
                        found[value] = Declared(names, f"{op.span.path}:asserts", "assertion", op.span)
    return found


_ASSERTIONS = ("chex.assert_shape", "chex.assert_rank")


def _asserted(op: Op) -> Iterator[tuple[Value, tuple[str, ...]]]:
    given = list(op.arguments.values())
    if len(given) < 2:
        return
    values = given[0] if isinstance(given[0], tuple) else (given[0],)
    wanted = [_entries(given[1])] * len(values)
    if op.text("function") == "chex.assert_rank" and isinstance(given[1], tuple) and len(given[1]) == len(values):
        # A set of ranks says that either will do.
        wanted = [_entries(one) if isinstance(one, int) else None for one in given[1]]
    elif op.text("function") == "chex.assert_rank" and isinstance(given[1], tuple):
        return
    for value, names in zip(values, wanted, strict=True):
        if isinstance(value, Value) and names is not None:
            yield value, names


def _entries(expected: Argument) -> tuple[str, ...] | None:
    """Give the names of the sizes that are expected; as many empty ones as a rank says."""
    if isinstance(expected, int) and not isinstance(expected, bool):
        return ("",) * expected if 0 <= expected < 12 else None
    known = isinstance(expected, tuple) and all(one is None or isinstance(one, int | Value) for one in expected)
    if not known or not isinstance(expected, tuple):
        return None
    return tuple(one.name if isinstance(one, Size | Value) else "" for one in expected)


def written_ranks(program: Program) -> dict[Value, int]:
    """Give the ranks that the letters of `einsum` and the axes of a transpose ask of a value where it is made."""
    found: dict[Value, set[int]] = {}
    for region in _regions(program):
        own = set(region.params)
        for op in region.ops:
            own.update(op.results)
            for value, rank in _written(op):
                if value in own:
                    found.setdefault(value, set()).add(rank)
    return {value: ranks.pop() for value, ranks in found.items() if len(ranks) == 1}


def _written(op: Op) -> Iterator[tuple[Value, int]]:
    text, given = op.arguments.get("subscripts"), op.arguments.get("operands")
    if op.name == "array.dot" and isinstance(text, str) and isinstance(given, tuple) and "." not in text:
        parts = text.replace(" ", "").partition("->")[0].split(",")
        if len(parts) == len(given):
            yield from ((one, len(part)) for one, part in zip(given, parts, strict=True) if isinstance(one, Value))
    elif op.name == "array.permute" and op.operands:
        axes = op.arguments.get("axes")
        if isinstance(axes, tuple) and len(axes) == 1 and isinstance(axes[0], tuple):
            axes = axes[0]
        # Tensors of other libraries swap two axes so: those numbers say nothing of the rank.
        if isinstance(axes, tuple) and len(axes) > 1 and {*axes} == {*range(len(axes))}:
            yield op.operands[0], len(axes)


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
