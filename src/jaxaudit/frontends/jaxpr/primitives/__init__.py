"""The lowering table: every primitive of JAX has a row here, or stands on the list of what is not modelled."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.frontends.jaxpr.primitives.arrays import ARRAYS
from jaxaudit.frontends.jaxpr.primitives.base import Equation, Row
from jaxaudit.frontends.jaxpr.primitives.devices import DEVICES
from jaxaudit.frontends.jaxpr.primitives.elementwise import ELEMENTWISE
from jaxaudit.frontends.jaxpr.primitives.indexing import INDEXING
from jaxaudit.frontends.jaxpr.primitives.linear import LINEAR
from jaxaudit.frontends.jaxpr.primitives.unmodelled import UNMODELLED

ROWS: Mapping[str, Row] = {**ELEMENTWISE, **ARRAYS, **INDEXING, **LINEAR, **DEVICES}
"""The row of every primitive that becomes one op without regions."""

__all__ = ["ROWS", "UNMODELLED", "Equation", "Row"]
