"""Ranks that code gives away: `batch, time = x.shape` says that `x` has two axes."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.shapes.subscripts import subscripts
from jaxaudit.ir import REST, Op, Program, Region, Value


def unpacked_ranks(program: Program) -> dict[Value, int]:
    """Return the rank of every parameter whose whole shape is unpacked on the way through its own function.

    Code that asks for the rank treats several ranks, so nothing is said there.
    """
    shapes: dict[Value, Value] = {}
    asked: set[Value] = set()
    found: dict[Value, set[int]] = {}
    for op in program.named("array.shape"):
        if op.operands:
            _note_question(op, shapes, asked)
    for region in program.regions():
        _collect(region, shapes, found)
    known = {value: ranks.pop() for value, ranks in found.items() if len(ranks) == 1}
    known |= {value: rank for value, rank in written_ranks(program).items() if value not in known}
    return {value: rank for value, rank in known.items() if value not in asked}


def written_ranks(program: Program) -> dict[Value, int]:
    """Return the ranks that the letters of `einsum` and the axes of a transpose ask of a value where it is made."""
    found: dict[Value, set[int]] = {}
    written = {op for op in program.named("array.dot", "array.permute") if next(_written(op), None) is not None}
    for region in program.regions() if written else ():
        if written.isdisjoint(region.ops):
            continue
        own = set(region.params)
        for op in always(region):
            own.update(op.results)
            for value, rank in _written(op):
                if value in own:
                    found.setdefault(value, set()).add(rank)
    return {value: ranks.pop() for value, ranks in found.items() if len(ranks) == 1}


def _written(op: Op) -> Iterator[tuple[Value, int]]:
    written = subscripts(op) if op.name == "array.dot" else None
    if written is not None:
        pairs = zip(written.operands, written.inputs, strict=True)
        yield from ((one, len(names)) for one, names in pairs if isinstance(one, Value) and REST not in names)
    elif op.name == "array.permute" and op.operands:
        axes = op.arguments.get("axes")
        if isinstance(axes, tuple) and len(axes) == 1 and isinstance(axes[0], tuple):
            axes = axes[0]
        # Tensors of other libraries swap two axes so: those numbers say nothing of the rank.
        if isinstance(axes, tuple) and len(axes) > 1 and {*axes} == {*range(len(axes))}:
            yield op.operands[0], len(axes)


def methods_of_objects(program: Program) -> frozenset[Value]:
    """Return what methods such as `mean` give of objects that nothing shows to be arrays.

    A distribution has a `mean` as well, and a table of another library a `sum`: neither need be a number. What array
    functions and operators make is an array, so their methods are its own.
    """
    arrays: set[Value] = set()
    found: set[Value] = set()
    for op in program.walk():
        if op.operands and _is_method(op) and op.operands[0] not in arrays:
            found.update(op.results)
        elif op.name.startswith(_MAKE_ARRAYS):
            arrays.update(op.results)
    return frozenset(found)


_MAKE_ARRAYS = ("array.", "key.", "grad.stop", "collective", "device.place")


def _is_method(op: Op) -> bool:
    return op.name in ("array.reduce", "array.order") and "." not in op.qualified


def measured(program: Program) -> frozenset[Value]:
    """Return the arrays whose shape the code reads."""
    asked = (op for op in program.named("array.shape") if op.operands)
    return frozenset(op.operands[0] for op in asked if op.function == "shape")


def _note_question(op: Op, shapes: dict[Value, Value], asked: set[Value]) -> None:
    function = op.function
    if function == "shape":
        shapes[op.results[0]] = op.operands[0]
    elif function == "ndim":
        asked.add(op.operands[0])
    elif function == "len" and op.operands[0] in shapes:
        asked.add(shapes[op.operands[0]])


def always(region: Region) -> Iterator[Op]:
    """Return the ops of a region that every way through it meets: those before the first way that leaves it early."""
    for op in region.ops:
        yield op
        if _may_leave(op):
            return


def _may_leave(op: Op) -> bool:
    if op.name not in ("py.branch", "py.loop", "py.while"):
        return False
    return any(inner.name == "py.return" or _may_leave(inner) for region in op.regions for inner in region.ops)


def _collect(region: Region, shapes: dict[Value, Value], found: dict[Value, set[int]]) -> None:
    params = set(region.params)
    for op in always(region):
        if op.name == "py.unpack" and op.operands and op.star is None:
            base = shapes.get(op.operands[0])
            if base in params:
                found.setdefault(base, set()).add(len(op.results))
