"""Masks: which values are some, what they were made for, and where half of their work is missing."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import elements_of, maker_of_elements
from jaxaudit.analyses.queries import depends, last, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import BOUNDS, EVEN, LINEAR, LOG_SPACE, LOGIC, MASKS, TRUTHS
from jaxaudit.ir.interfaces import moved


def is_mask(value: Value, flow: Flow, shapes: Shapes) -> bool:
    """Whether a value is a comparison of arrays, or a mask by the function that makes it; cast or not."""
    op = maker_of_elements(flow, value)
    if op is None or op.function in MASKS:
        return op is not None
    if op.name != "array.map" or op.function not in TRUTHS | LOGIC:
        return False
    makers = [maker_of_elements(flow, one) for one in op.operands]
    of_arrays = any(made is not None and made.qualified.startswith("jax.") for made in makers)
    return bool(shapes.of(op.result).dims) or of_arrays


def reduced_without(note: Op, mask: Value, flow: Flow, shapes: Shapes) -> Op | None:
    """Return a later op that reduces or normalises what the mask must have been made for."""
    ops = flow.places.region_of[note].ops
    later = [op for op in ops[ops.index(note) + 1 :] if op.name in ("array.reduce", "array.normalise") and op.operands]
    wanted = shapes.of(mask).dims
    if wanted and not all(dim.constant == 1 for dim in wanted):
        compared = _compared(mask, flow)
        for op in later:
            dims = shapes.of(op.operands[0]).dims
            if dims is not None and _lines_up(wanted, dims) and not depends(flow, op.operands[0], compared):
                return op
    sized = _sized_by(mask, flow)
    return next((op for op in later if depends(flow, op.operands[0], sized)), None)


def _compared(mask: Value, flow: Flow) -> list[Value]:
    """Return what a mask was compared from: a reduction of the same data may well be about them."""
    made = maker_of_elements(flow, mask)
    return [] if made is None else [value for value in made.operands if flow.maker(value) is not None]


def _sized_by(mask: Value, flow: Flow) -> set[Value]:
    """Return the arrays whose shape, and nothing else of them, a mask was made from."""

    def before(value: Value) -> tuple[Value, ...]:
        op = flow.maker(value)
        return () if op is None or op.regions or op.name == "array.shape" else op.operands

    sized, read = set[Value](), set[Value]()
    for value in walk((mask,), before):
        op = flow.maker(value)
        if op is None or op.regions:
            read.add(value)
        elif op.name == "array.shape":
            sized.update(op.operands)
    return sized - read


def _lines_up(mask: Dims, dims: Dims) -> bool:
    """Whether a mask could be applied to an array: it goes with its last axes, or with its first."""
    return len(dims) >= len(mask) and any(
        all(one.constant == 1 or (one - other).constant == 0 for one, other in zip(mask, part, strict=True))
        for part in (dims[-len(mask) :], dims[: len(mask)])
    )


def half_applied(program: Program, flow: Flow, shapes: Shapes) -> Iterator[tuple[Op, Value, Op]]:
    """Return every mean that counts by a mask and sums without it: the quotient, the mask, and the sum."""
    for op in program.mapping("divide"):
        above, below = (_sum(value, flow) for value in op.operands) if len(op.operands) == 2 else (None, None)
        if above is None or below is None or above is below or above.argument("axis") != below.argument("axis"):
            continue
        mask = below.operands[0]
        if is_mask(mask, flow, shapes) and _is_unmasked(above.operands[0], mask, flow):
            yield op, mask, above


def _sum(value: Value, flow: Flow) -> Op | None:
    """Return the sum that a value is, or that it is a bound on: `maximum(count, 1)`."""

    def before(one: Value) -> Value | None:
        op = flow.maker(one)
        bounded = op is not None and len(op.operands) == 1 and (op.function in BOUNDS or op.function == "add")
        return op.operands[0] if op is not None and bounded else moved(op)

    op = flow.maker(last(value, before))
    return op if op is not None and op.name == "array.reduce" and op.function == "sum" and op.operands else None


def _is_unmasked(value: Value, mask: Value, flow: Flow) -> bool:
    """Whether what is summed was computed here, and by nothing that could have masked it."""
    made = flow.maker(value)
    if made is None or depends(flow, value, (elements_of(flow, mask), mask)):
        return False
    if made.name == "py.call_library":
        return made.loss
    return made.name == "array.map" and made.function in EVEN | LOG_SPACE | LINEAR | {"exp"}
