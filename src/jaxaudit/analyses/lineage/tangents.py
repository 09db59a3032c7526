"""Which values change smoothly with others: the way that derivatives take through a program.

Used where a rule asks whether a derivative has to pass an op. Integers, comparisons, `stop_gradient` and functions with
a derivative of their own end the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Op, Region, Value

_MOST = 4000
_ENDS = frozenset(
    "grad.stop array.shape array.order array.at py.test py.format py.print py.to_python py.operator".split()
)
_STEPS = frozenset(
    "equal not_equal less less_equal greater greater_equal isnan isinf isfinite isclose logical_and logical_or "
    "logical_not sign floor ceil round".split()
)
_OWN_DERIVATIVE = frozenset("custom_vjp custom_jvp transform abstract callback shard_map".split())
_INTEGERS = ("int", "uint", "bool")


def smooth_in(flow: Flow, values: Iterable[Value]) -> set[Value]:
    """Return the values that a derivative with respect to some values has to pass."""
    seen = set(values)
    pending = list(seen)
    for value in pending:
        if len(pending) > _MOST:
            break
        fresh = [made for made in (*_onwards(flow, value), *_outwards(flow, value)) if made not in seen]
        seen.update(fresh)
        pending.extend(fresh)
    return seen


def _onwards(flow: Flow, value: Value) -> Iterator[Value]:
    for op in flow.readers.get(value, ()):
        if op.name in _ENDS or _is_step(op):
            if op.name == "array.order" and op.function == "sort":
                yield from op.results
            continue
        if op.regions and op.name not in _OWN_DERIVATIVE:
            for region in op.regions:
                yield from _params(op, region, value)
        else:
            yield from op.results


def _is_step(op: Op) -> bool:
    function = op.function
    if op.name == "array.convert":
        return str(op.arguments.get("dtype", function)).rpartition(".")[2].startswith(_INTEGERS)
    return op.name == "array.map" and function in _STEPS


def _params(op: Op, region: Region, value: Value) -> Iterator[Value]:
    """Return the parameters that stand for an operand: the last ones, where an op has operands of its own in front."""
    skipped = len(op.operands) - len(region.params)
    if op.name in ("py.loop", "py.while"):
        skipped = -1
    for at, operand in enumerate(op.operands):
        if operand is value and 0 <= at - skipped < len(region.params):
            yield region.params[at - skipped]


def _outwards(flow: Flow, value: Value) -> Iterator[Value]:
    for region in flow.leaving.get(value, ()):
        holder = flow.places.holder.get(id(region))
        for op in (holder,) if holder is not None else flow.callers.get(id(region), ()):
            # The condition of a loop gives a truth value and nothing else.
            if op.name != "while" or op.regions[-1] is region:
                pairs = zip(region.results, op.results, strict=False)
                yield from (made for end, made in pairs if end is value)
