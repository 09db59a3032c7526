"""All transfer functions of the shapes domain by op name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, array
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
    made = create.TABLE[op.name](op, look)
    row = lookup(f"jax.{op.qualified}") if all(fact is None or fact is NOTHING for fact in made) else None
    transfer = None if row is None else _USUAL.get(row.op)
    alike = made if transfer is None else transfer(op, look)
    # NumPy computes in types of its own.
    return [NOTHING if fact is None else array(fact.dims) for fact in alike] if alike is not made else made


_HERE = {**_USUAL, "array.numpy": _on_host}
_PLACED = {name: meshes.placed(transfer) if name in meshes.OPS else transfer for name, transfer in _HERE.items()}
_RARER = {name: rarer.with_rarer(transfer) if name in rarer.OPS else transfer for name, transfer in _PLACED.items()}
TABLE: Mapping[str, Transfer] = {
    name: any_rank.for_any_rank(transfer) if name in any_rank.OPS else transfer for name, transfer in _RARER.items()
}
