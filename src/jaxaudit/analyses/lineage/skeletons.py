"""Whose structure a tree has: mapping, differentiating and updating change the leaves of a tree and keep its form."""

from __future__ import annotations

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, origin
from jaxaudit.ir import Op, Value

_STEPS = 12

# The argument of a library function whose structure its result has.
_KEEPS = {
    "optax.apply_updates": "params",
    "equinox.apply_updates": "model",
    "optax.incremental_update": "new_tensors",
    "optax.periodic_update": "new_tensors",
}
_UPDATES = ("optax.GradientTransformation.update", "optax.GradientTransformationExtraArgs.update")


def skeleton(flow: Flow, value: Value, context: Context) -> Origin:
    """Follow a tree back as long as its structure is the same, over everything that only changes its leaves."""
    found = origin(flow, value, context)
    for _ in range(_STEPS):
        before = None if found.op is None else _before(flow, found.op, found.value)
        if before is None:
            break
        found = origin(flow, before, found.context)
    return found


def _before(flow: Flow, op: Op, value: Value) -> Value | None:
    if op.name in ("tree.map", "grad"):
        at = op.results.index(value) - len(op.regions[0].results)
        return op.operands[at] if 0 <= at < len(op.operands) and _first_alone(op, at) else None
    if op.name == "py.unpack":
        base = op.arguments.get("base")
        step = flow.maker(base) if isinstance(base, Value) else None
        if step is None or step.text("function") not in _UPDATES:
            return None
        return _argument(step, ("updates", "state")[op.results.index(value)] if len(op.results) == 2 else "")
    return _argument(op, "like" if op.name == "tree.leaf" else _KEEPS.get(op.text("function"), ""))


def _first_alone(op: Op, position: int) -> bool:
    """Tell whether a result stands for the first operand: a tree in one piece, differentiated by itself."""
    if op.name == "tree.map":
        return position == 0 and len(op.results) - len(op.regions[0].results) == 1 and not op.attrs.get("paths")
    options = op.attrs.get("options")
    return not isinstance(options, dict) or options.get("argnums", 0) == 0


def _argument(op: Op, name: str) -> Value | None:
    value = op.arguments.get(name) if name else None
    return value if isinstance(value, Value) else None
