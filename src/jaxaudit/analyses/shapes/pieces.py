"""Pieces of an axis that a loop cuts off one after the other: all have one size, but the last may be shorter."""

from __future__ import annotations

from jaxaudit.analyses.dims import UNKNOWN, Dim, constant, same
from jaxaudit.analyses.labels import Label


def piece(first: Dim, last: Dim, size: Dim) -> Dim:
    """Return the size of `x[i * n : (i + 1) * n]` or `x[i : i + n]` in a loop over `i`; unknown where it is none."""
    gap, bounds = last - first, _bounds(first)
    if gap.constant is None or gap.constant < 1 or bounds is None:
        return UNKNOWN
    stop, step = bounds
    if step != gap.constant:
        return UNKNOWN
    rest = _last(stop, step, size)
    if rest is not None and rest >= step:
        return gap
    return Dim(None, frozenset((Label("piece", factors=(gap, UNKNOWN if rest is None else constant(rest))),)))


def _bounds(first: Dim) -> tuple[Dim, int] | None:
    """Return where a multiple of a loop variable stops, and by how much it grows from turn to turn."""
    if first.terms is None or len(first.terms) != 1 or len(first.terms[0][0]) != 1:
        return None
    (atom,), factor = first.terms[0]
    step = None if atom.turns is None else atom.turns[1].constant
    if atom.turns is None or step is None or factor < 1:
        return None
    return atom.turns[0] * constant(factor), step * factor


def _last(stop: Dim, step: int, size: Dim) -> int | None:
    """Return how many rows are left for the last turn; None where that depends on sizes that are not known."""
    if same(stop, size) and stop.constant is None:
        return None
    if stop.constant is None or size.constant is None or stop.constant < 1:
        return None
    start = (stop.constant - 1) // step * step
    return size.constant - start


def shortest(dim: Dim) -> int | None:
    """Return how many rows the last of several pieces has, where this axis is a piece and that is known."""
    return next((label.factors[1].constant for label in dim.labels if label.kind == "piece"), None)
