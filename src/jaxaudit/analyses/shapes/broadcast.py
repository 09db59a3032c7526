"""How the dims of several arrays go together."""

from __future__ import annotations

from collections.abc import Sequence

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, differ, same
from jaxaudit.analyses.shapes.facts import Dims, ShapeFact, shown
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir.record import record


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
    # Of two sizes that may be the same, what is known of both is known of what they make.
    return right if right.constant is not None else Dim(None, left.labels & right.labels), Fit.OPEN


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


@record
class Match:
    """The outcome of a comparison; where the two clash, how each of them is written."""

    fit: Fit
    first: str = ""
    second: str = ""


def compare(first: ShapeFact, second: ShapeFact, *, yielding: bool) -> Match:
    """Compare two types; with `yielding`, a weak dtype on either side takes on the other."""
    if first.dims is None or second.dims is None:
        return Match(Fit.OPEN)
    pairs = list(zip(first.dims, second.dims, strict=False))
    if len(first.dims) != len(second.dims) or any(differ(a, b) for a, b in pairs):
        return Match(Fit.CLASHES, shape_text(first.dims), shape_text(second.dims))
    if first.dtype is None or second.dtype is None:
        return Match(Fit.OPEN)
    if first.dtype != second.dtype:
        soft = first.weak or (yielding and second.weak)
        if first.weak and not yielding and _widens(first.dtype, second.dtype) and all(same(a, b) for a, b in pairs):
            # JAX starts the loop again with the dtype that the body made of a Python number.
            return Match(Fit.FITS)
        return Match(Fit.OPEN if soft else Fit.CLASHES, first.dtype, second.dtype)
    return Match(Fit.FITS if all(same(a, b) for a, b in pairs) else Fit.OPEN)


def _widens(number: str, other: str) -> bool:
    """Whether a Python number takes on another dtype: whole ones any, others those that are not whole."""
    if number.startswith("int"):
        return not other.startswith("bool")
    return number.startswith("float") and other.startswith(("float", "bfloat", "complex"))
