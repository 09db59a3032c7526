"""How the dims of several arrays go together."""

from __future__ import annotations

from collections.abc import Sequence

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, differ, same
from jaxaudit.analyses.shapes.facts import Dims, shown
from jaxaudit.analyses.shapes.result import Fit


def broadcast(shapes: Sequence[Dims | None]) -> tuple[Dims | None, Fit]:
    """Return the shape that shapes broadcast to; without it where the rank of one is unknown."""
    known = [dims for dims in shapes if dims is not None]
    worst = Fit.FITS if len(known) == len(shapes) else Fit.OPEN
    result: Dims = ()
    for dims in known:
        result, fit = _pair(result, dims)
        if fit is Fit.CLASHES:
            return None, fit
        worst = worst if fit is Fit.FITS else fit
    return (result if len(known) == len(shapes) else None), worst


def _pair(first: Dims, second: Dims) -> tuple[Dims, Fit]:
    rank = max(len(first), len(second))
    a = (ONE,) * (rank - len(first)) + first
    b = (ONE,) * (rank - len(second)) + second
    dims: list[Dim] = []
    worst = Fit.FITS
    for left, right in zip(a, b, strict=True):
        dim, fit = meet(left, right)
        if fit is Fit.CLASHES:
            return (), fit
        worst = worst if fit is Fit.FITS else fit
        dims.append(dim)
    return tuple(dims), worst


def meet(left: Dim, right: Dim) -> tuple[Dim, Fit]:
    """Broadcast two sizes."""
    if same(left, right):
        return left.labelled(right.labels), Fit.FITS
    if right == ONE:
        return left, Fit.FITS
    if left == ONE:
        return right, Fit.FITS
    if differ(left, right):
        return UNKNOWN, Fit.CLASHES
    if left.constant is not None:
        return left, Fit.OPEN
    return (right if right.constant is not None else UNKNOWN), Fit.OPEN


def equal(left: Dim, right: Dim) -> Fit:
    """Whether two sizes that must be equal are."""
    if same(left, right):
        return Fit.FITS
    return Fit.CLASHES if differ(left, right) else Fit.OPEN


def shape_text(dims: Dims | None) -> str:
    """Write a shape for people."""
    if dims is None:
        return "(unknown shape)"
    return "(" + ", ".join(map(shown, dims)) + (",)" if len(dims) == 1 else ")")
