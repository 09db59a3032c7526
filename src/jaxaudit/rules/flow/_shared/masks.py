"""Masks: which values are some, what they were made for, and where half of their work is missing."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends, reached
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Dims
from jaxaudit.ir import Op, Program, Value

_COMPARES = frozenset(
    """less less_equal greater greater_equal equal not_equal logical_and logical_or logical_not logical_xor isnan
    isfinite isinf isclose bitwise_and bitwise_or invert""".split()
)
_MASKS = frozenset("tril triu tri make_causal_mask make_attention_mask combine_masks bernoulli one_hot".split())
_SWALLOWS = frozenset(("array.reduce", "array.normalise"))
_SAME_ELEMENTS = frozenset(
    "array.convert array.reshape array.expand array.squeeze array.permute py.item grad.stop".split()
)
_BOUNDS = frozenset("maximum clip add max".split())
_PLAIN = frozenset("square abs log exp power subtract negative".split())
_STEPS = 24


def is_mask(value: Value, flow: Flow, shapes: Shapes) -> bool:
    """Whether a value is a comparison of arrays, or a mask by the function that makes it; cast or not."""
    op = flow.maker(_same_elements(value, flow))
    if op is None:
        return False
    if op.function in _MASKS:
        return True
    compares = op.name == "array.map" and op.function in _COMPARES
    return compares and bool(shapes.of(op.result).dims or _of_arrays(op, flow))


def _same_elements(value: Value, flow: Flow) -> Value:
    """Look through casts and new axes."""
    for _ in range(_STEPS):
        op = flow.maker(value)
        if op is None or op.name not in _SAME_ELEMENTS or not op.operands:
            break
        value = op.operands[0]
    return value


def _of_arrays(op: Op, flow: Flow) -> bool:
    makers = [flow.maker(_same_elements(value, flow)) for value in op.operands]
    return any(made is not None and made.qualified.startswith("jax.") for made in makers)


def reduced_without(note: Op, mask: Value, flow: Flow, shapes: Shapes) -> Op | None:
    """Return a later op that reduces or normalises what the mask must have been made for."""
    ops = flow.places.region_of[note].ops
    later = [op for op in ops[ops.index(note) + 1 :] if op.name in _SWALLOWS and op.operands]
    wanted = shapes.of(mask).dims
    if wanted and not all(dim.constant == 1 for dim in wanted):
        spoken = reached(flow, _compared(mask, flow))
        for op in later:
            dims = shapes.of(op.operands[0]).dims
            if dims is not None and _lines_up(wanted, dims) and op.operands[0] not in spoken:
                return op
    fitted = reached(flow, _sized_by(mask, flow))
    return next((op for op in later if op.operands[0] in fitted), None)


def _compared(mask: Value, flow: Flow) -> list[Value]:
    """Return what a mask was compared from: a reduction of the same data may well be about them."""
    made = flow.maker(_same_elements(mask, flow))
    return [] if made is None else [value for value in made.operands if flow.maker(value) is not None]


def _sized_by(mask: Value, flow: Flow) -> set[Value]:
    """Return the arrays whose shape, and nothing else of them, a mask was made from."""
    sized: set[Value] = set()
    read: set[Value] = set()
    pending = [mask]
    for value in pending:
        op = flow.maker(value)
        if op is None or op.regions or len(pending) > _STEPS:
            read.add(value)
        elif op.name == "array.shape":
            sized.update(op.operands)
        else:
            pending.extend(op.operands)
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
        if len(op.operands) != 2:
            continue
        above, below = (_reduction(value, flow) for value in op.operands)
        mask = None if below is None or below.function != "sum" else below.operands[0]
        if above is None or below is None or mask is None or above.function != "sum" or above is below:
            continue
        if _axis(above) == _axis(below) and is_mask(mask, flow, shapes) and _is_plain(above.operands[0], mask, flow):
            yield op, mask, above


def _axis(op: Op) -> object:
    return op.argument("axis")


def _reduction(value: Value, flow: Flow) -> Op | None:
    """Look through bounds such as `maximum(count, 1)`, to the sum."""
    for _ in range(_STEPS):
        op = flow.maker(value)
        if op is None or op.name == "array.reduce":
            return op if op is not None and op.operands else None
        if op.name in _SAME_ELEMENTS and op.operands:
            value = op.operands[0]
        elif op.name == "array.map" and op.function in _BOUNDS and len(op.operands) == 1:
            value = op.operands[0]
        else:
            return None
    return None


def _is_plain(value: Value, mask: Value, flow: Flow) -> bool:
    """Whether what is summed was computed here, and by nothing that could have masked it."""
    source = _same_elements(mask, flow)
    made = flow.maker(value)
    if made is None or depends(flow, value, (source, mask)):
        return False
    if made.name == "py.call_library":
        return bool(made.loss)
    return made.name == "array.map" and made.function in (
        "square",
        "abs",
        "log",
        "exp",
        "power",
        "subtract",
        "negative",
    )
