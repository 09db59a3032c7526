"""Sizes that are multiplied with each other, and scans whose length repeats an axis that they carry.

Whoever computes `TOTAL // (NUM_ENVS * NUM_STEPS)` counts elements of an array with both axes. Where the loop that
collects this array runs `NUM_ENVS` times over a carry of `NUM_ENVS` rows, and `NUM_STEPS` becomes the length of nothing
at all, the loop was meant to run `NUM_STEPS` times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.labels import named
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Size, Value
from jaxaudit.ir.ops import NOTES
from jaxaudit.ir.record import record


@record
class RepeatedLength:
    """A scan that runs as often as its carry has rows, while another size was to be its length."""

    scan: Op
    length: Size
    meant: Size
    counted: Op
    """Where the two are multiplied."""
    carried: Value


def repeated_lengths(flow: Flow, shapes: Shapes) -> Iterator[RepeatedLength]:
    """Return the scans whose length was written down, is an axis of their carry and leaves its partner unused."""
    program = flow.program
    products = list(program.named("py.sizes"))
    if not products:
        return
    used: set[tuple[str, str]] = set()
    for op in program.named("scan"):
        length = _length(op, flow)
        carried = _carried(op, length, shapes) if isinstance(length, Size) else None
        if not isinstance(length, Size) or carried is None:
            continue
        meetings = [(product, meant) for product in products if (meant := _partner(product, length)) is not None]
        used = used or (_used(program) if meetings else set())
        for product, meant in meetings:
            if (meant.name, meant.scope) not in used:
                yield RepeatedLength(op, length, meant, product, carried)


def _length(op: Op, flow: Flow) -> object:
    """Return how often a scan runs: its `length`, or how many keys or numbers were made for it to go over."""
    inputs = op.operands[op.carry or 0 :]
    if not inputs:
        return op.length
    makers = [flow.maker(value) for value in inputs]
    counts = [None if maker is None else _count(maker) for maker in makers]
    return counts[0] if all(isinstance(count, Size) and count == counts[0] for count in counts) else None


def _count(maker: Op) -> object:
    if maker.name == "key.split":
        return maker.argument("num")
    return maker.argument("stop", "start") if maker.function == "arange" and len(maker.arguments) == 1 else None


def _used(program: Program) -> set[tuple[str, str]]:
    """Return every size that something is made with."""
    return {(size.name, size.scope) for op in program.walk() if op.name not in NOTES for size in _sizes_of(op)}


def _sizes_of(op: Op) -> Iterator[Size]:
    pending: list[object] = [*op.arguments.values(), *op.noted]
    while pending:
        one = pending.pop()
        if isinstance(one, Size):
            yield one
        elif isinstance(one, tuple):
            pending.extend(one)
        elif isinstance(one, Mapping):
            pending.extend(one.values())


def _carried(op: Op, length: Size, shapes: Shapes) -> Value | None:
    for value in op.operands:
        for dim in shapes.of(value).dims or ():
            if any((label.name, label.scope) == (length.name, length.scope) for label in named(dim.labels)):
                return value
    return None


def _partner(product: Op, size: Size) -> Size | None:
    left, right = product.left, product.right
    if not isinstance(left, Size) or not isinstance(right, Size) or left.scope != right.scope:
        return None
    names = {left.name: right, right.name: left}
    return names.get(size.name) if left.scope == size.scope and left.name != right.name else None
