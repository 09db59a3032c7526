"""Whether a value has the type of another by the way it was made, whatever that type is.

`x.at[i].set(v)` has the shape and dtype of `x`, a row of `split(key)` that of `key`, and what a loop of JAX carries
keeps its type, since JAX demands it. So a carry can be sound though nothing is known of its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Argument, Exit, Op, Value

_DEPTH = 12
_FIRST = frozenset("roll flip fliplr flipud sort stop_gradient cumsum cumprod cummax cummin permutation".split())
"""Functions whose result is like their first argument."""
_LIKE: Mapping[str, str] = {
    "optax.apply_updates": "params",
    "equinox.apply_updates": "model",
    "optax.incremental_update": "old_tensors",
    "flax.training.train_state.TrainState.apply_gradients": "self",
}
"""Library functions that give something like one of their arguments."""
_BODIES = frozenset(("py.call", "jit", "checkpoint"))
_PARTS = frozenset(("optax.GradientTransformation.update", "optax.GradientTransformationExtraArgs.update"))


def keeps_type(flow: Flow, end: Value, start: Value, depth: int = _DEPTH) -> bool:
    """Tell whether a value surely has the type of another one that it was made from."""
    if end is start:
        return True
    op = flow.maker(end)
    if op is None or depth == 0:
        return False
    return any(keeps_type(flow, value, start, depth - 1) for value in _alike(op, end, flow)) or (
        bool(op.regions) and _through(flow, op, end, start, depth - 1)
    )


def _alike(op: Op, end: Value, flow: Flow) -> list[Value]:
    """Give the operands that a result has the type of."""
    function = op.text("function")
    last = function.rpartition(".")[2]
    found: Sequence[Argument] = ()
    if op.name == "array.scatter":
        found = [op.arguments.get("base", op.arguments.get("operand"))]
    elif op.name == "array.select" and function in ("jax.lax.select", "jax.lax.select_n"):
        found = [value for name, value in op.arguments.items() if name not in ("pred", "which", "condition")]
    elif op.name in ("grad.stop", "key.fold_in", "key.clone") or last in _FIRST:
        found = list(op.operands[:1])
    elif op.name == "tree.leaf":
        found = [op.arguments.get("like")]
    elif function in _LIKE:
        found = [op.arguments.get(_LIKE[function])]
    elif op.name in ("py.unpack", "py.item"):
        found = _part(op, end, flow)
    elif op.name in ("scan", "fori", "while"):
        found = _carried(op, end)
    return [value for value in found if isinstance(value, Value)]


def _part(op: Op, end: Value, flow: Flow) -> list[Value]:
    """Give what a row of split keys, or the new state of an optimizer, is like."""
    base = op.arguments.get("base")
    made = flow.maker(base) if isinstance(base, Value) else None
    if made is None:
        return []
    if made.name == "key.split" and (op.name == "py.unpack" or isinstance(op.arguments.get("index"), int)):
        return [value for value in made.operands[:1] if op.attrs.get("star") is None]
    position = op.results.index(end) if op.name == "py.unpack" else op.arguments.get("index")
    state = made.arguments.get("state")
    return [state] if made.text("function") in _PARTS and position == 1 and isinstance(state, Value) else []


def _carried(op: Op, end: Value) -> list[Value]:
    at = op.results.index(end)
    first = 2 if op.name == "fori" else 0
    count = op.attrs.get("carry") if op.name == "scan" else len(op.operands) - first
    return [op.operands[first + at]] if isinstance(count, int) and at < count and first + at < len(op.operands) else []


def _through(flow: Flow, op: Op, end: Value, start: Value, depth: int) -> bool:
    """Follow a result into the function or the branches that give it."""
    at = op.results.index(end)
    if op.name in ("py.branch", "cond"):
        ways = [region for region in op.regions if region.exit is Exit.FALL]
        outside = op.operands[1:] if op.name == "cond" else ()
        return bool(ways) and all(
            at < len(way.results) and _from_inside(flow, way.results[at], way.params, outside, start, depth)
            for way in ways
        )
    region = op.regions[0]
    if op.name not in _BODIES or at >= len(region.results):
        return False
    return _from_inside(flow, region.results[at], region.params, op.operands, start, depth)


def _from_inside(
    flow: Flow, end: Value, params: tuple[Value, ...], outside: tuple[Value, ...], start: Value, depth: int
) -> bool:
    if keeps_type(flow, end, start, depth):
        return True
    pairs = zip(params, outside, strict=False)
    return any(keeps_type(flow, end, param, depth) and keeps_type(flow, given, start, depth) for param, given in pairs)
