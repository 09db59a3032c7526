"""All transfer functions of the ranges domain by op name."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.ranges.look import Transfer
from jaxaudit.analyses.ranges.transfer import create, layout, maps, python, reduce, select

TABLE: Mapping[str, Transfer] = {
    **python.TABLE,
    **create.TABLE,
    **maps.TABLE,
    **reduce.TABLE,
    **layout.TABLE,
    **select.TABLE,
}
