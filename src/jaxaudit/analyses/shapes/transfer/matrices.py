"""Matrices: diagonals, products of two kinds, and decompositions, by their full names."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, constant, same
from jaxaudit.analyses.shapes.broadcast import broadcast
from jaxaudit.analyses.shapes.dtypes import inexact, promote, summed
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array, sequence
from jaxaudit.analyses.shapes.literals import array_like
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.analyses.shapes.transfer.look import Look, Single


def _smaller(first: Dim, second: Dim) -> Dim:
    if same(first, second):
        return first
    if first.constant is None or second.constant is None:
        return UNKNOWN
    return first if first.constant < second.constant else second


def floating(fact: ShapeFact) -> str | None:
    """Return the dtype that a function of real numbers makes of an array."""
    return inexact(fact.dtype, False)[0]


def _diag(look: Look) -> ShapeFact:
    base, k = array_like(look.first()), look.raw("k", "offset")
    if base.dims is None or k not in (None, 0) or not 1 <= len(base.dims) <= 2:
        return NOTHING
    dims = base.dims * 2 if len(base.dims) == 1 else (_smaller(*base.dims),)
    return array(dims, base.dtype)


def _diagonal(look: Look) -> ShapeFact:
    base = array_like(look.first())
    if base.dims is None or len(base.dims) < 2 or look.raw("offset") not in (None, 0):
        return NOTHING
    first, second = (place_of(_axis(look, i), len(base.dims)) for i in (0, 1))
    if first is None or second is None or first == second:
        return NOTHING
    rest = tuple(dim for i, dim in enumerate(base.dims) if i not in (first, second))
    if look.function == "trace":
        return array(rest, summed(base.dtype))
    return array((*rest, _smaller(base.dims[first], base.dims[second])), base.dtype)


def _axis(look: Look, which: int) -> int:
    given = look.raw(f"axis{which + 1}")
    return given if isinstance(given, int) else which


def _kron(look: Look) -> ShapeFact:
    left, right = array_like(look.fact("a")), array_like(look.fact("b"))
    if left.dims is None or right.dims is None or len(left.dims) != len(right.dims):
        return NOTHING
    return array(tuple(a * b for a, b in zip(left.dims, right.dims, strict=True)), promote((left, right))[0])


def _cross(look: Look) -> ShapeFact:
    left, right = array_like(look.fact("a", "x1")), array_like(look.fact("b", "x2"))
    three = constant(3)
    if left.dims is None or right.dims is None or look.has("axis", "axisa", "axisb", "axisc"):
        return NOTHING
    if left.dims[-1:] != (three,) or right.dims[-1:] != (three,):
        return NOTHING
    return array(broadcast((left.dims, right.dims))[0], promote((left, right))[0])


def _matrices(look: Look) -> ShapeFact:
    """Decompositions of one matrix or a stack of them, which give several arrays."""
    base, function = array_like(look.first()), look.function
    if base.dims is None or len(base.dims) < 2:
        return NOTHING
    *stack, rows, columns = base.dims
    dtype, few = floating(base), _smaller(rows, columns)
    if function == "pinv":
        return array((*stack, columns, rows), dtype)
    if function == "slogdet":
        return sequence((array(tuple(stack), dtype),) * 2)
    if function == "eigh":
        return sequence((array((*stack, rows), dtype), array(base.dims, dtype)))
    if function == "qr":
        shapes = ((*stack, rows, few), (*stack, few, columns))
        return (
            sequence(tuple(array(one, dtype) for one in shapes)) if look.raw("mode") in (None, "reduced") else NOTHING
        )
    return _singular(look, tuple(stack), (rows, columns, few), dtype)


def _singular(look: Look, stack: Dims, sizes: tuple[Dim, Dim, Dim], dtype: str | None) -> ShapeFact:
    rows, columns, few = sizes
    values = array((*stack, few), dtype)
    if look.raw("compute_uv") is False:
        return values
    full = look.raw("full_matrices")
    if not isinstance(full, bool | None) or look.has("compute_uv", "subset_by_index"):
        return NOTHING
    left, right = (few, few) if full is False else (rows, columns)
    return sequence((array((*stack, rows, left), dtype), values, array((*stack, right, columns), dtype)))


def _same(look: Look) -> ShapeFact:
    base = array_like(look.first())
    return array(base.dims, floating(base))


def _covariance(look: Look) -> ShapeFact:
    base = array_like(look.first())
    if base.dims is None or len(base.dims) != 2 or look.has("y"):
        return NOTHING
    size = base.dims[1 if look.raw("rowvar") is False else 0]
    return NOTHING if size == ONE else array((size, size), floating(base))


def _density(look: Look) -> ShapeFact:
    """A density of vectors gives a number for each of them."""
    given = [array_like(look.fact(*names)).dims for names in (("x",), ("mean", "extra1"))]
    shapes = [dims[:-1] for dims in given if dims is not None]
    return array(broadcast(tuple(shapes))[0] if len(shapes) == 2 else None, "float32")


MATRICES: Mapping[str, Single] = {
    "jax.numpy.diag": _diag,
    **dict.fromkeys(("jax.numpy.diagonal", "jax.numpy.trace", "diagonal", "trace"), _diagonal),
    "jax.numpy.kron": _kron,
    **dict.fromkeys(("jax.numpy.cross", "jax.numpy.linalg.cross"), _cross),
    **{f"jax.numpy.linalg.{name}": _matrices for name in ("pinv", "slogdet", "eigh", "qr", "svd")},
    "jax.scipy.linalg.expm": _same,
    **dict.fromkeys(("jax.numpy.cov", "jax.numpy.corrcoef"), _covariance),
    **{f"jax.scipy.stats.multivariate_normal.{name}": _density for name in ("logpdf", "pdf")},
}
