"""Models that are taken apart and put together again: `eqx.partition` and `combine`, `nnx.split` and `merge`.

The parts are leaves that hold the model they are of, so that what is put together again can be called as the model can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxaudit.frontends.source.classes.members import library_bases
from jaxaudit.frontends.source.interpret.likeness import leaf_by_leaf
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.model import Abstract, Leaf, ObjectBox, Ref, TupleValue
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter

_APART = frozenset(("equinox.filter", "equinox.partition", "flax.nnx.split"))
_TOGETHER = frozenset(("equinox.combine", "flax.nnx.merge"))
_MODELS = ("equinox.Module", "flax.nnx.Module", "flax.nnx.Pytree")
_PART = "equinox.Part"
_GRAPH = "flax.nnx.GraphDef"


def parted(it: Interpreter, name: str, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Return the parts of a model with the model they are of, and the model again when they are put together."""
    if not isinstance(made, Leaf) or not given.positional or given.star is not None:
        return made
    first = given.positional[0]
    if name in _TOGETHER:
        held = first.holds if isinstance(first, Leaf) and first.cls in (_PART, _GRAPH) else None
        return made if held is None else leaf_by_leaf(it, held, made.value, span)
    if name not in _APART or not _is_model(it, first):
        return made
    if name == "equinox.filter":
        return Leaf(made.value, _PART, first)
    split = name == "flax.nnx.split"
    count = 2 if not split else 1 + max(1, len(given.positional) - 1)
    op = it.emit("py.unpack", span, {"base": made.value}, {"count": count, "star": None}, results=count)
    if split:
        return TupleValue((Leaf(op.results[0], _GRAPH, first), *map(Leaf, op.results[1:])))
    return TupleValue(tuple(Leaf(part, _PART, first) for part in op.results))


def _is_model(it: Interpreter, value: Abstract) -> bool:
    if isinstance(value, Leaf):
        return value.cls.startswith(("equinox.nn.", "flax.nnx.")) and value.cls != _GRAPH
    box = it.heap[value] if isinstance(value, Ref) else None
    return isinstance(box, ObjectBox) and any(base in _MODELS for base in library_bases(box.cls))
