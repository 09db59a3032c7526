"""Mistakes that a reduction over everything hides: it leaves one number, whatever the axes were."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES

_HIDES = ADDITIONS | AVERAGES | {"norm"}


def hiding_reduction(op: Op, flow: Flow, shapes: Shapes) -> Op | None:
    """Return the reduction over everything that leaves no trace of the second axis."""

    def step(value: Value) -> Iterator[Value]:
        readers = flow.readers.get(value, ())
        return (made for one in readers if one.name == "array.map" and len(one.operands) == 1 for made in one.results)

    readers = (one for value in walk(op.results, step) for one in flow.readers.get(value, ()))
    return next((one for one in readers if one.function in _HIDES and _reduces_all(one, shapes)), None)


def _reduces_all(op: Op, shapes: Shapes) -> bool:
    """Whether a reduction names no axis, or all of them, as a trace does."""
    axis, dims = op.argument("axis"), shapes.of(op.operands[0]).dims
    return axis is None or (isinstance(axis, tuple) and dims is not None and len(axis) == len(dims))
