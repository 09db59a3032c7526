"""Who else reads a leaf of the parameters: other functions, or this one after an update."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.gradients import Leaf
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import entered, left, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ARITHMETIC
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
_OPTIMIZER = ARITHMETIC | {"square", "sqrt"}
"""What optimizers and moving averages do with a parameter."""


def inner_path(leaf: Leaf) -> str:
    """Return where in its tree a leaf stands: `['w']` of `params['w']`."""
    start = min((at for at in map(leaf.name.find, "[.") if at > 0), default=0)
    return leaf.name[start:]


def operand_of(op: Op, leaf: Leaf) -> Value:
    """Return what a leaf is outside the differentiated function."""
    return op.operands[op.regions[0].params.index(leaf.param)]


def is_read(flow: Flow, op: Op, leaf: Leaf) -> bool:
    """Whether anything reads the leaf but this gradient and the optimizer's arithmetic."""

    def inside(value: Value) -> Iterator[Value]:
        calls = (one for one in flow.readers.get(value, ()) if one is not op and one.name in ("py.call", "jit"))
        return (param for one in calls for param in entered(one, value))

    names = walk((operand_of(op, leaf),), inside)
    return any(reader.name in _NETWORK for one in names for reader in flow.readers.get(one, ()) if reader is not op)


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

    def onwards(value: Value) -> Iterator[Value]:
        yield from (one for reader in readers(value) for one in _versions(flow, reader, value))
        yield from left(flow, value)

    def readers(value: Value) -> Iterator[Op]:
        return (one for one in flow.readers.get(value, ()) if one is not op and one.name not in _LOOKS)

    return any(
        next(_versions(flow, reader, value), None) is None
        for value in walk((operand,), onwards)
        for reader in readers(value)
    )


def _versions(flow: Flow, op: Op, value: Value) -> Iterator[Value]:
    """Return what an op that only hands on or updates a value makes of it, or calls it inside."""
    if op.name == "tree.map":
        yield from op.results
    elif op.name == "py.container":
        yield from _contained(flow, op, op.operands.index(value))
    elif op.name in LOOPS or op.name in BODIES:
        yield from entered(op, value)
    elif op.name in ("array.convert", "array.select") or (op.name == "array.map" and op.function in _OPTIMIZER):
        yield from op.results
    elif op.name == "py.join" or (op.name == "py.call_library" and takes_trees(op.qualified)):
        yield from op.results


def _contained(flow: Flow, op: Op, at: int) -> Iterator[Value]:
    """Return the newer version of one leaf of a tree that a function is mapped over, else the tree as a whole."""
    for reader in flow.readers.get(op.result, ()):
        made = reader.results[len(reader.regions[0].results) :] if reader.name == "tree.map" else ()
        yield made[at] if len(made) == len(op.operands) else op.result
