"""What kind of object a value surely is: an array of JAX, a mapping, a tree of a module."""

from __future__ import annotations

from collections.abc import Iterable

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, origin
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import COMPUTED, REARRANGED, SELECTED

_OF_JAX = ("jax.numpy.", "jax.nn.", "jax.random.", "jax.lax.", "jax.scipy.", "jax.image.")
_NO_ARRAYS = ("array.shape", "array.at", "array.numpy", "key.seed")
_ARRAYS_OF_ARRAYS = (
    COMPUTED
    | REARRANGED
    | SELECTED.union(("array.select", "array.join", "array.order", "array.scatter", "array.convert"))
)


def is_array(flow: Flow, value: Value, context: Context) -> bool:
    """Whether a value is surely an array: made by a function of JAX, or computed from one."""

    def computed_from(one: Value) -> Iterable[Value]:
        op = origin(flow, one, context).op
        if op is None or op.name not in _ARRAYS_OF_ARRAYS:
            return ()
        # An index may be an array though what it is taken from is none.
        given = {name: argument for name, argument in op.arguments.items() if name != "index"}
        return op.operands if op.name == "py.unpack" else values_in(given)

    ops = (origin(flow, one, context).op for one in walk((value,), computed_from))
    return any(op is not None and _makes_array(op) for op in ops)


def _makes_array(op: Op) -> bool:
    if op.name in _NO_ARRAYS:
        return False
    if op.qualified.startswith(_OF_JAX) and (op.name.startswith("array.") or op.name == "key.draw"):
        return True
    return op.name == "array.reduce" and op.arguments.get("axis") is not None
