"""Who else reads a leaf of the parameters: other functions, or this one after an update."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.gradients import Leaf
from jaxaudit.analyses.lineage import Flow
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ARITHMETIC
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import BODIES, CONTRACTIONS, LOOPS, NOTES
from jaxaudit.libraries.lookup import takes_trees

_NETWORK = CONTRACTIONS | {
    "array.gather",
    "array.normalise",
    "py.call_unknown",
    "py.call_library",
    "grad",
    "scan",
    "vmap",
}
_LOOKS = NOTES | {"py.return", "py.print", "py.format", "py.to_python", "py.rebind"}
_CARRIES = frozenset(("py.join", "py.call_library"))
_OPTIMIZER = ARITHMETIC | {"square", "sqrt"}
"""What optimizers and moving averages do with a parameter."""
_DEEPEST = 8
_MOST = 400


def inner_path(leaf: Leaf) -> str:
    """Return where in its tree a leaf stands: `['w']` of `params['w']`."""
    start = min((at for at in map(leaf.name.find, "[.") if at > 0), default=0)
    return leaf.name[start:]


def operand_of(op: Op, leaf: Leaf) -> Value:
    """Return what a leaf is outside the differentiated function."""
    return op.operands[op.regions[0].params.index(leaf.param)]


def is_read(flow: Flow, op: Op, leaf: Leaf) -> bool:
    """Whether anything reads the leaf but this gradient and the optimizer's arithmetic."""
    operand = operand_of(op, leaf)
    return any(_computes(reader, operand, flow, 0) for reader in flow.readers.get(operand, ()) if reader is not op)


def _computes(op: Op, value: Value, flow: Flow, depth: int) -> bool:
    """Whether an op makes more of a leaf than elementwise arithmetic, as optimizers and moving averages do."""
    if op.name not in ("py.call", "jit"):
        return op.name in _NETWORK
    inside = [param for param, given in zip(op.regions[0].params, op.operands, strict=False) if given is value]
    return depth > _DEEPEST or any(
        _computes(reader, param, flow, depth + 1) for param in inside for reader in flow.readers.get(param, ())
    )


def is_read_elsewhere(flow: Flow, op: Op, leaf: Leaf) -> bool:
    """Whether another function reads the leaf or a newer version of it, such as one that only evaluates."""
    path, operand = inner_path(leaf), operand_of(op, leaf)
    if flow.program.front_end == "jaxpr":
        roots = [root.region for root in flow.program.roots if operand not in root.region.params]
        if any(value.name.endswith(path) and value in flow.readers for root in roots for value in root.params):
            return True
    elif any(one.name in ("py.item", "py.attr") and path.endswith(_step(one)) for one in flow.program.walk()):
        return True
    return _is_read_later(flow, op, operand)


def _step(op: Op) -> str:
    """Write how an op takes something out of a tree."""
    return f".{op.label}" if op.name == "py.attr" else f"[{op.arguments.get('index')!r}]"


def _is_read_later(flow: Flow, op: Op, operand: Value) -> bool:
    """Follow a leaf through updates, calls and loops to anything that computes with it."""
    seen, stack = {operand}, [operand]
    while stack and len(seen) < _MOST:
        value = stack.pop()
        for reader in flow.readers.get(value, ()):
            if reader is op or reader.name in _LOOKS:
                continue
            following = list(_versions(flow, reader, value))
            if not following:
                return True
            stack.extend(one for one in following if one not in seen)
            seen.update(following)
        left = list(_left(flow, value))
        stack.extend(one for one in left if one not in seen)
        seen.update(left)
    return False


def _versions(flow: Flow, op: Op, value: Value) -> Iterator[Value]:
    """Return what an op that only hands on or updates a value makes of it, or calls it inside."""
    if op.name == "tree.map":
        yield from op.results
    elif op.name == "py.container":
        yield from _contained(flow, op, op.operands.index(value))
    elif op.name in LOOPS:
        yield from (param for region in op.regions for param, start, _ in Loop(op).carried_in(region) if start is value)
    elif op.name in BODIES:
        for region in op.regions:
            yield from (param for param, given in zip(region.params, op.operands, strict=False) if given is value)
    elif op.name in ("array.convert", "array.select") or (op.name == "array.map" and op.function in _OPTIMIZER):
        yield from op.results
    elif op.name in _CARRIES and (op.name != "py.call_library" or takes_trees(op.qualified)):
        yield from op.results


def _contained(flow: Flow, op: Op, at: int) -> Iterator[Value]:
    """Return the newer version of one leaf of a tree that a function is mapped over, else the tree as a whole."""
    for reader in flow.readers.get(op.result, ()):
        made = reader.results[len(reader.regions[0].results) :] if reader.name == "tree.map" else ()
        yield made[at] if len(made) == len(op.operands) else op.result


def _left(flow: Flow, value: Value) -> Iterator[Value]:
    """Return what a value is outside the regions that give it back."""
    for region in flow.leaving.get(value, ()):
        holder = flow.places.holder.get(id(region))
        at = region.results.index(value)
        for op in flow.callers.get(id(region), ()) if holder is None else (holder,):
            if at < len(op.results):
                yield op.results[at]
