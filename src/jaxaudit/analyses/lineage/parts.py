"""Whether one value is a named part of another: `variables["params"]` of `variables`."""

from __future__ import annotations

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, same
from jaxaudit.analyses.lineage.skeletons import skeleton
from jaxaudit.ir import Op, Value

_DEEPEST = 4


def part_of(flow: Flow, part: Value, whole: Value, context: Context) -> str:
    """Give the key under which the structure of one value lies in that of another, or an empty text.

    Only keys that are texts count: a row of an array is found by a number.
    """
    outer = skeleton(flow, whole, context)
    inner = skeleton(flow, part, context)
    keys = ""
    for _ in range(_DEEPEST):
        base, index = _taken(inner.op)
        if base is None:
            return ""
        keys = f"[{index!r}]{keys}"
        inner = skeleton(flow, base, inner.context)
        if same(flow, inner, outer):
            return keys
    return ""


def _taken(op: Op | None) -> tuple[Value | None, str]:
    if op is None or op.name != "py.item":
        return None, ""
    base, index = op.arguments.get("base"), op.arguments.get("index")
    return (base, index) if isinstance(base, Value) and isinstance(index, str) else (None, "")
