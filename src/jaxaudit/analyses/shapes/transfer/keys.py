"""Random keys and what is drawn from them."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.dims import constant
from jaxaudit.analyses.shapes.broadcast import broadcast
from jaxaudit.analyses.shapes.dtypes import named_dtype
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array
from jaxaudit.analyses.shapes.literals import array_dims, shape_of
from jaxaudit.analyses.shapes.mapped import place_of, without_axis
from jaxaudit.analyses.shapes.transfer.look import Look, Single, Transfer, single

_FLOATS = frozenset(
    "normal uniform gumbel exponential laplace logistic cauchy maxwell truncated_normal beta gamma loggamma "
    "rademacher t pareto chisquare".split()
)
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys("normal gumbel exponential laplace logistic cauchy maxwell rademacher bits".split(), ()),
    "uniform": ("minval", "maxval"),
    "randint": ("minval", "maxval"),
    "truncated_normal": ("lower", "upper"),
    "bernoulli": ("p",),
    "beta": ("a", "b"),
    "gamma": ("a",),
    "loggamma": ("a",),
    "poisson": ("lam",),
    "t": ("df",),
    "chisquare": ("df",),
    "pareto": ("b",),
}
"""Samplers whose draws have the shape asked for, else that of their parameters together."""


def _seed(look: Look) -> ShapeFact:
    seed = look.fact("seed")
    if seed.dims != () and look.op.operands:
        return NOTHING
    return array((), "key<fry>") if look.op.typed else array((constant(2),), "uint32")


def _split(look: Look) -> ShapeFact:
    key = look.fact("key")
    if key.dims is None:
        return NOTHING
    if look.raw("num") is None:
        return array((constant(2), *key.dims), key.dtype)
    count = shape_of(look.fact("num"))
    if count is None:
        # An unknown `num` is nearly always one number, but may be a shape.
        return NOTHING
    return array((*count, *key.dims), key.dtype)


def _drawn(look: Look, parameters: tuple[str, ...], dtype: str | None) -> ShapeFact:
    given = [look.raw(name) for name in parameters]
    shapes = [array_dims(look.of(value)) for value in given if value is not None]
    if look.raw("shape") is not None:
        shape = shape_of(look.fact("shape"))
        # Parameters with more axes than the shape asks for make a larger array than that.
        larger = shape is not None and any(dims is not None and len(dims) > len(shape) for dims in shapes)
        return array(None if larger else shape, dtype)
    dims, _ = broadcast(shapes)
    return array(dims, dtype)


def _categorical(look: Look) -> ShapeFact:
    logits, axis = look.fact("logits"), look.raw("axis")
    if look.raw("shape") is not None:
        return array(shape_of(look.fact("shape")), "int32")
    made = without_axis(logits, axis if isinstance(axis, int) else -1)
    return array(made.dims, "int32") if axis is None or isinstance(axis, int) else NOTHING


def _permutation(look: Look) -> ShapeFact:
    given = look.fact("x")
    if given.number is not None:
        return array((given.number,), "int32")
    return array(given.dims, given.dtype) if given.dims else NOTHING


def _choice(look: Look) -> ShapeFact:
    given = look.fact("a")
    shape = shape_of(look.fact("shape")) if look.raw("shape") is not None else ()
    if shape is None or look.raw("axis") not in (None, 0):
        return NOTHING
    if given.number is not None:
        return array(shape, "int32")
    return array(_rows(shape, given.dims), given.dtype)


def _rows(shape: Dims, dims: Dims | None) -> Dims | None:
    return None if not dims else (*shape, *dims[1:])


def _multivariate(look: Look) -> ShapeFact:
    mean = look.fact("mean")
    if look.raw("shape") is None or not mean.dims or place_of(-1, mean.rank) is None:
        return array(mean.dims, None) if look.raw("shape") is None else NOTHING
    shape = shape_of(look.fact("shape"))
    return array(None if shape is None else (*shape, mean.dims[-1]), None)


_OTHERS: Mapping[str, Single] = {
    "categorical": _categorical,
    "permutation": _permutation,
    "shuffle": _permutation,
    "choice": _choice,
    "multivariate_normal": _multivariate,
}


def draw(look: Look) -> ShapeFact:
    """Return what a function of `jax.random` draws."""
    if not look.op.qualified.startswith("jax.random.") or look.has("*", "**"):
        return NOTHING
    function = look.function
    if function in _OTHERS:
        return _OTHERS[function](look)
    if function not in _PARAMETERS:
        return NOTHING
    return _drawn(look, _PARAMETERS[function], _dtype(look, function))


def _dtype(look: Look, function: str) -> str | None:
    if look.raw("dtype") is not None:
        return named_dtype(look.raw("dtype"))
    if function == "bernoulli":
        return "bool"
    if function in ("randint", "poisson"):
        return "int32"
    return "float32" if function in _FLOATS and function != "rademacher" else None


_NUMPY = frozenset("normal uniform integers randint standard_normal random random_sample choice".split())


def _numpy(look: Look) -> ShapeFact:
    """Return what NumPy's generators draw: as many numbers as `size` says."""
    if look.has("*", "**") or (look.function == "choice" and look.fact("a").number is None):
        return NOTHING
    dtype = "int32" if look.function in ("integers", "randint", "choice") else "float32"
    if look.function in ("randn", "rand"):
        return array(shape_of(look.fact("args")) if look.has("args") else (), dtype)
    if look.function not in _NUMPY or not look.has("size"):
        return NOTHING
    return array(() if look.raw("size") is None else shape_of(look.fact("size")), dtype)


TABLE: Mapping[str, Transfer] = {
    "py.random": single(_numpy),
    "key.seed": single(_seed),
    "key.split": single(_split),
}
