"""What is taken for granted of a field of an object from outside: it is like what the code stores there itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from jaxaudit.analyses.dims import UNKNOWN, Dim, variable
from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, exact, forget, join
from jaxaudit.ir import ArrayType, Value


def assumed(known: ShapeFact | None, stored: Sequence[Value | ArrayType], read: Read[ShapeFact]) -> ShapeFact | None:
    """Return the fact of a field: its rank, and those sizes that are the same wherever it is stored; or its layer."""
    fact = NOTHING if known is None else known
    if fact.dims is not None or fact.items is not None or fact.each is not None or fact.layer is not None:
        return known
    facts = [exact(one) if isinstance(one, ArrayType) else read(one) for one in stored]
    if facts and all(one.layer is not None for one in facts):
        layer = forget(reduce(join, facts), lambda atom: atom.born == 0)
        return known if layer.layer is None else layer
    arrays = [one for one in facts if one.dims is not None]
    shapes = [one.dims for one in arrays if one.dims is not None]
    if not shapes or len({len(dims) for dims in shapes}) != 1:
        return known
    dtypes = {one.dtype for one in arrays}
    counts = all(isinstance(one, ArrayType) and one.dtype == "int32" for one in stored)
    return ShapeFact(
        dims=tuple(_common(column, fact, at) for at, column in enumerate(zip(*shapes, strict=True))),
        dtype=dtypes.pop() if len(dtypes) == 1 else None,
        weak=all(one.weak for one in arrays),
        number=variable(fact.symbol, "number", fact.born) if counts and fact.symbol else None,
    )


def _common(sizes: Sequence[Dim], field: ShapeFact, at: int) -> Dim:
    """Return the size of an axis where it is one number; variables of other functions say nothing here.

    A field that is read twice has the same size both times.
    """
    first = sizes[0]
    if first.constant is not None and all(size.constant == first.constant for size in sizes):
        return first
    return variable(f"{field.symbol}.shape[{at}]", "size", field.born) if field.symbol else UNKNOWN
