"""Reductions along axes, and what orders elements by their values."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.dims import ONE, UNKNOWN
from jaxaudit.analyses.labels import made_by
from jaxaudit.analyses.shapes.dtypes import inexact, promote, summed
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array
from jaxaudit.analyses.shapes.literals import array_dims, array_like, axes_in
from jaxaudit.analyses.shapes.mapped import marked, place_of
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.einops import is_pattern, patterned
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer, single
from jaxaudit.ir import Argument
from jaxaudit.ir.functions import (
    ADDITIONS,
    AVERAGES,
    EXTREMES,
    NORMS,
    PICKED_POSITIONS,
    PRODUCTS,
    QUANTIFIERS,
    SOLVERS,
    SPREADS,
    WHOLE_COMPARISONS,
)

_SUMMED = ADDITIONS | PRODUCTS
_AVERAGED = AVERAGES | SPREADS | {"median", "nanmedian", "logsumexp", "logmeanexp"}
_KNOWN = _SUMMED | _AVERAGED | EXTREMES | QUANTIFIERS | {"count_nonzero"}


def reduced(look: Look, base: ShapeFact, axis: Argument, *, given: bool, keep: Argument) -> Dims | None:
    """Return the shape after a reduction over axes; all of them where none is named."""
    if base.dims is None:
        return () if not given and keep is None else None
    rank = len(base.dims)
    axes = tuple(range(rank)) if axis is None else axes_in(axis)
    if axes is None or not isinstance(keep, bool | None):
        return (UNKNOWN,) * rank if keep is True else None
    places = {place_of(one, rank) for one in axes}
    if None in places:
        wrong = next(one for one in axes if place_of(one, rank) is None)
        look.judge(Fit.CLASHES, f"axis {wrong} of an array with {rank} {'axis' if rank == 1 else 'axes'}")
        return None
    if keep:
        return tuple(ONE if i in places else dim for i, dim in enumerate(base.dims))
    return tuple(dim for i, dim in enumerate(base.dims) if i not in places)


def _reduce(look: Look) -> ShapeFact:
    if is_pattern(look):
        return patterned(look)
    if look.function in WHOLE_COMPARISONS:
        return array((), "bool")
    if look.function not in _KNOWN or look.raw("returned", "return_sign") not in (None, False):
        return NOTHING
    base = array_like(look.first())
    given = look.has("axis", "axes") and look.raw("axis", "axes") is not None
    dims = reduced(look, base, look.raw("axis", "axes"), given=given, keep=look.raw("keepdims"))
    return array(dims, look.dtype("dtype") if look.has("dtype") else _dtype(look.function, base))


def _dtype(function: str, base: ShapeFact) -> str | None:
    if function in QUANTIFIERS:
        return "bool"
    if function == "count_nonzero":
        return "int32"
    if function in _SUMMED:
        return summed(base.dtype)
    return inexact(base.dtype, False)[0] if function in _AVERAGED else base.dtype


def _order(look: Look) -> ShapeFact:
    base, function = array_like(look.first()), look.function
    if function in PICKED_POSITIONS:
        given = look.raw("axis") is not None
        dims = reduced(look, base, look.raw("axis"), given=given, keep=look.raw("keepdims"))
        return array(dims, None if look.has("index_dtype") else "int32")
    if function in ("sort", "argsort") and not look.has("num_keys"):
        if look.has("axis") and look.raw("axis") is None:
            return NOTHING
        axis = look.raw("axis") if look.has("axis") else -1
        made = array(base.dims, base.dtype if function == "sort" else "int32")
        return marked(made, axis, made_by("ordered", look.op)) if isinstance(axis, int) else made
    if function == "searchsorted":
        return array(array_dims(look.fact("v")), "int32")
    return NOTHING


def _linalg(look: Look) -> ShapeFact:
    base, function = array_like(look.first()), look.function
    dtype = inexact(base.dtype, False)[0]
    if function in NORMS:
        given = look.raw("axis") is not None
        dims = reduced(look, base, look.raw("axis"), given=given, keep=look.raw("keepdims"))
        # Of a stack of matrices the norm with an order and without an axis is refused.
        return array(dims, dtype if dtype != "complex64" else None)
    if function == "matrix_power" and base.rank is not None and base.rank >= 2:
        return array(base.dims, dtype if dtype == base.dtype else None)
    if function in ("inv", "cholesky", "pinv") and base.dims is not None and len(base.dims) >= 2:
        return array(base.dims if function != "pinv" else None, dtype)
    if function == "det" and base.dims is not None and len(base.dims) >= 2:
        return array(base.dims[:-2], dtype)
    if function == "eigvalsh" and base.dims is not None and len(base.dims) >= 2:
        return array(base.dims[:-1], dtype)
    if function not in SOLVERS:
        return NOTHING
    given = look.fact("b")
    return array(given.dims, inexact(*promote([base, given]))[0] if base.dtype and given.dtype else None)


TABLE: Mapping[str, Transfer] = {
    "array.reduce": single(_reduce),
    "array.order": single(_order),
    "array.linalg": single(_linalg),
}
