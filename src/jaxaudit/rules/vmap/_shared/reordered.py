"""Elements of a batch whose own entries a mapped function reorders, where it was to reorder the batch."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, nothing, sources, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import REORDERED, REORDERINGS, SORTED
from jaxaudit.ir.ops import KEEPING
from jaxaudit.rules.vmap._shared.layers import is_layer

_ENTRY_BY_ENTRY = through_ops("array.map", "array.select", *KEEPING)


def reordered_inputs(facts: Facts) -> Iterator[tuple[Op, Op]]:
    """Return what reorders the only axis of an element, with a layer that also sees it as it was.

    Each entry of what a layer is given meets weights of its own, so entries that change places are no other example.
    """
    for op in mapped_ops(facts):
        array = op.operands[-1] if op.function in REORDERED - SORTED and op.operands else None
        axis = op.argument("axis")
        by_default = axis is None and op.function in REORDERINGS
        if array is None or not (axis == 0 or by_default) or isinstance(op.argument("shift"), Value):
            continue
        known = [context.of(array).dims for context in facts.get(Shapes).contexts(op)]
        if not known or any(dims is None or len(dims) != 1 for dims in known):
            continue
        before = layers_given(array, facts.flow, without=op)
        layer = next((one for one in layers_given(op.result, facts.flow) if _is_among(one, before, facts.flow)), None)
        if layer is not None:
            yield op, layer


def layers_given(value: Value, flow: Flow, without: Op | None = None) -> list[Op]:
    """Return the layers and products that are given a value, as it is or entry by entry."""
    ways = walk((value,), lambda one: ahead(flow, one, lambda op: op is not without and _ENTRY_BY_ENTRY(op)))
    return [op for one in ways for op in flow.readers.get(one, ()) if is_layer(op) or op.name == "array.dot"]


def _is_among(layer: Op, others: list[Op], flow: Flow) -> bool:
    """Whether a layer, or another call of it with the same weights, is one of some."""
    weights = sources(flow, layer.operands, nothing)
    return layer in others or any(not weights.isdisjoint(sources(flow, one.operands, nothing)) for one in others)
