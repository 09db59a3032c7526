"""Which values change smoothly with others: the way that derivatives take through a program.

Used where a rule asks whether a derivative has to pass an op. Integers, comparisons, `stop_gradient` and functions with
a derivative of their own end the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import entered, left, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ELEMENTS_IN_ORDER, FLAT, is_discrete
from jaxaudit.ir.ops import CUSTOM_DERIVATIVES

_ENDS = frozenset("grad.stop array.shape array.at py.test py.format py.print py.to_python py.operator".split())
_OWN_DERIVATIVE = CUSTOM_DERIVATIVES | {"transform", "abstract", "callback", "shard_map"}


def smooth_in(flow: Flow, values: Iterable[Value]) -> set[Value]:
    """Return the values that a derivative with respect to some values has to pass."""
    return set(walk(values, lambda value: (*_onwards(flow, value), *left(flow, value))))


def _onwards(flow: Flow, value: Value) -> Iterator[Value]:
    for op in flow.readers.get(value, ()):
        if op.name in _ENDS or _is_flat(op):
            continue
        if op.regions and op.name not in _OWN_DERIVATIVE:
            yield from entered(op, value)
        else:
            yield from op.results


def _is_flat(op: Op) -> bool:
    if op.name == "array.convert":
        return is_discrete(op.arguments.get("dtype", op.function))
    if op.name == "array.order":
        return op.function not in ELEMENTS_IN_ORDER
    return op.name == "array.map" and op.function in FLAT
