"""Models that are taken apart and put together again: `eqx.partition` and `combine`, `nnx.split` and `merge`.

The parts are leaves that hold the model they are of, so that what is put together again can be called as the model can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxaudit.frontends.source.classes.members import library_bases
from jaxaudit.frontends.source.interpret.likeness import leaf_by_leaf
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.boxes import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Ref, TupleValue
from jaxaudit.libraries.classes import bases
from jaxaudit.libraries.rows import Row
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter

_APART = frozenset(("model.filter", "model.partition", "model.split"))
_MODELS = bases("model")
_PART = "<part of a model>"
"""The class of what holds the model that it is a part of."""


def parted(it: Interpreter, row: Row, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Return the parts of a model with the model they are of, and the model again when they are put together."""
    if not isinstance(made, Leaf) or not given.positional or given.star is not None:
        return made
    first = given.positional[0]
    if "model.join" in row.roles:
        held = first.holds if isinstance(first, Leaf) and first.cls == _PART else None
        return made if held is None else leaf_by_leaf(it, held, made.value, span)
    if not row.roles & _APART or not _is_model(it, first):
        return made
    if "model.filter" in row.roles:
        return Leaf(made.value, _PART, first)
    split = "model.split" in row.roles
    count = 2 if not split else 1 + max(1, len(given.positional) - 1)
    op = it.emit("py.unpack", span, {"base": made.value}, {"count": count, "star": None}, results=count)
    if split:
        return TupleValue((Leaf(op.results[0], _PART, first), *map(Leaf, op.results[1:])))
    return TupleValue(tuple(Leaf(part, _PART, first) for part in op.results))


def _is_model(it: Interpreter, value: Abstract) -> bool:
    if isinstance(value, Leaf):
        return any(value.cls.startswith(f"{library}.") for library in ("equinox.nn", "flax.nnx"))
    box = it.heap[value] if isinstance(value, Ref) else None
    return isinstance(box, ObjectBox) and not _MODELS.isdisjoint(library_bases(box.cls))
