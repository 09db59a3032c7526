"""Whether two values have the same type in JAX's sense: the same dims and the same dtype."""

from __future__ import annotations

from dataclasses import dataclass

from jaxaudit.analyses.dims import differ, same
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.analyses.shapes.facts import ShapeFact
from jaxaudit.analyses.shapes.result import Fit


@dataclass(frozen=True, slots=True)
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
