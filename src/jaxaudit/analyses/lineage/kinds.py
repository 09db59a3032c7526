"""What kind of object a value surely is: an array of JAX, a mapping, a tree of a module."""

from __future__ import annotations

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, origin
from jaxaudit.ir import Value
from jaxaudit.ir.builder import values_in

_MAKES = ("jax.numpy.", "jax.nn.", "jax.random.", "jax.lax.", "jax.scipy.", "jax.image.")
_KEEPS = frozenset(
    "array.map array.reduce array.scan array.normalise array.select array.reshape array.permute array.expand "
    "array.squeeze array.join array.move array.gather array.order array.dot array.linalg array.scatter "
    "array.convert py.item py.unpack".split()
)
_DEPTH = 8


def is_array(flow: Flow, value: Value, context: Context, depth: int = _DEPTH) -> bool:
    """Whether a value is surely an array: made by a function of JAX, or computed from one."""
    op = origin(flow, value, context).op
    if op is None or depth == 0:
        return False
    function = op.qualified
    if op.name in ("array.shape", "array.at", "array.numpy", "key.seed"):
        return False
    if function.startswith(_MAKES) and (op.name.startswith("array.") or op.name == "key.draw"):
        return True
    if op.name == "array.reduce" and op.arguments.get("axis") is not None:
        return True
    found = op.operands if op.name == "py.unpack" else _operands(op.arguments)
    return op.name in _KEEPS and any(is_array(flow, one, context, depth - 1) for one in found)


def _operands(arguments: object) -> list[Value]:
    # An index may be an array though what it is taken from is none.
    wanted = {name: one for name, one in dict(arguments).items() if name != "index"}  # type: ignore[call-overload]
    return list(values_in(wanted))
