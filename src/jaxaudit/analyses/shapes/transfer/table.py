"""All transfer functions of the shapes domain by op name."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.shapes.transfer import (
    create,
    dot,
    index,
    keys,
    layout,
    library,
    maps,
    pieces,
    python,
    rarer,
    reduce,
)
from jaxaudit.analyses.shapes.transfer.look import Transfer

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
}
TABLE: Mapping[str, Transfer] = {
    name: rarer.with_rarer(transfer) if name in rarer.OPS else transfer for name, transfer in _USUAL.items()
}
