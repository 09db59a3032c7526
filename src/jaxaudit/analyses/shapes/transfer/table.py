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
    reduce,
)
from jaxaudit.analyses.shapes.transfer.look import Transfer

TABLE: Mapping[str, Transfer] = {
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
