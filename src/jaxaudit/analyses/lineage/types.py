"""Whether a value has the type of another by the way it was made, whatever that type is.

`x.at[i].set(v)` has the shape and dtype of `x`, a row of `split(key)` that of `key`, and what a loop of JAX carries
keeps its type, since JAX demands it. So a carry can be sound though nothing is known of its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Argument, Exit, Op, Region, Value

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


def keeps_type(flow: Flow, end: Value, start: Value) -> bool:
    """Tell whether a value surely has the type of another one that it was made from."""
    return start in _Search(flow, _found(flow)).like(end, _DEPTH)


_Found = dict[tuple[Value, int], frozenset[Value]]


@lru_cache(maxsize=2)
def _found(flow: Flow) -> _Found:
    """Keep what was found for each value and depth: bodies inside bodies are asked for again and again."""
    return {}


@dataclass(frozen=True, slots=True)
class _Search:
    flow: Flow
    found: _Found

    def like(self, end: Value, depth: int) -> frozenset[Value]:
        """Give the values that one surely has the type of, itself included, some steps back."""
        known = self.found.get((end, depth))
        if known is None:
            known = self.found[end, depth] = self._like(end, depth)
        return known

    def _like(self, end: Value, depth: int) -> frozenset[Value]:
        own = frozenset((end,))
        op = self.flow.maker(end)
        if op is None or depth == 0:
            return own
        before = [self.like(value, depth - 1) for value in _alike(op, end, self.flow)]
        return own.union(*before, self._through(op, end, depth - 1) if op.regions else ())

    def _through(self, op: Op, end: Value, depth: int) -> frozenset[Value]:
        """Follow a result into the function or the branches that give it."""
        at = op.results.index(end)
        if op.name in ("py.branch", "cond"):
            ways = [region for region in op.regions if region.exit is Exit.FALL]
            outside = op.operands[1:] if op.name == "cond" else ()
            if not ways or any(at >= len(way.results) for way in ways):
                return frozenset()
            return frozenset.intersection(*(self._from_inside(way, at, outside, depth) for way in ways))
        region = op.regions[0]
        if op.name not in _BODIES or at >= len(region.results):
            return frozenset()
        return self._from_inside(region, at, op.operands, depth)

    def _from_inside(self, region: Region, at: int, outside: tuple[Value, ...], depth: int) -> frozenset[Value]:
        inside = self.like(region.results[at], depth)
        pairs = zip(region.params, outside, strict=False)
        return inside.union(*(self.like(given, depth) for param, given in pairs if param in inside))


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
