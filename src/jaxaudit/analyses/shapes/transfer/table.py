"""All transfer functions of the shapes domain by op name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, array, sequence
from jaxaudit.analyses.shapes.transfer import (
    any_rank,
    create,
    dot,
    index,
    keys,
    layout,
    library,
    maps,
    meshes,
    pieces,
    python,
    rarer,
    reduce,
)
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer
from jaxaudit.ir import Op
from jaxaudit.ir.ops import MOVING
from jaxaudit.libraries.lookup import lookup

_USUAL: Mapping[str, Transfer] = {
    **python.TABLE,
    **create.TABLE,
    **maps.TABLE,
    **reduce.TABLE,
    **layout.TABLE,
    **pieces.TABLE,
    **index.TABLE,
    **dot.TABLE,
    **keys.TABLE,
    **library.TABLE,
    **meshes.TABLE,
}


def _on_host(op: Op, look: Look) -> Sequence[ShapeFact | None]:
    """Return what a function of NumPy makes: the shape that the function of JAX with its name would give."""
    made, twin = create.TABLE[op.name](op, look), f"jax.{op.qualified}"
    row = lookup(twin) if all(fact is None or fact is NOTHING for fact in made) else None
    transfer = None if row is None else _USUAL.get(row.op)
    if row is None or transfer is None:
        return made
    transfer = rarer.with_rarer(transfer, twin)
    found = (any_rank.for_any_rank(transfer, row.op) if row.op in any_rank.OPS else transfer)(op, look)
    # What only puts elements elsewhere leaves them what they are.
    return found if row.op in MOVING or row.op == "array.join" else [_untyped(fact) for fact in found]


def _untyped(fact: ShapeFact | None) -> ShapeFact:
    """Leave the dtypes out: NumPy computes in types of its own."""
    if fact is not None and fact.items is not None:
        return sequence(tuple(map(_untyped, fact.items)))
    return NOTHING if fact is None else array(fact.dims, outline=fact.outline)


_HERE = {**_USUAL, "array.numpy": _on_host}
_PLACED = {name: meshes.placed(transfer) if name in meshes.OPS else transfer for name, transfer in _HERE.items()}
_RARER = {name: rarer.with_rarer(transfer) if name in rarer.OPS else transfer for name, transfer in _PLACED.items()}
TABLE: Mapping[str, Transfer] = {
    name: any_rank.for_any_rank(transfer, name) if name in any_rank.OPS else transfer
    for name, transfer in _RARER.items()
}
