"""Random keys and what is drawn from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from jaxaudit.analyses.dims import constant
from jaxaudit.analyses.labels import made_by
from jaxaudit.analyses.shapes.broadcast import broadcast
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array, as_number
from jaxaudit.analyses.shapes.literals import array_dims, array_like, shape_of, shaped
from jaxaudit.analyses.shapes.mapped import without_axis
from jaxaudit.analyses.shapes.outlines import changed
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer, single


def _seed(look: Look) -> ShapeFact:
    """Return a new key: a seed is one number, so whatever is not known to be more than that is one."""
    if look.fact("seed").dims:
        return NOTHING
    return array((), "key<fry>") if look.op.typed else array((constant(2),), "uint32")


def _split(look: Look) -> ShapeFact:
    """Return the keys that a key is split into: an axis of them, before those that a key of its kind has."""
    count = (constant(2),) if look.raw("num") is None else _count(look)
    return NOTHING if count is None else changed(look.fact("key"), lambda dims: (*count, *dims))


def _count(look: Look) -> Dims | None:
    """Return the axes of new keys that `num` asks for."""
    num = look.fact("num")
    count = shape_of(num)
    if count is None:
        # An unknown `num` is nearly always one number, but may be a shape; what is calculated with is none.
        number = None if num.outline is None else as_number(num)
        count = None if number is None else (number,)
    return None if count is None else tuple(one.labelled(made_by("alike", look.op)) for one in count)


def _dtype_told(look: Look, default: str | None) -> str | None:
    """Return the dtype that a call asks for, else the default, unless the object that is called was told another."""
    if look.raw("dtype") is not None:
        return look.dtype("dtype")
    maker = look.fact("self").layer
    return default if maker is None or "dtype" not in maker.names else None


def _constants(look: Look, shape: str) -> ShapeFact:
    return shaped(look.fact(shape), _dtype_told(look, "float32"))


def _drawn(look: Look, shape: str, *parameters: str, dtype: str | None) -> ShapeFact:
    """Return a draw of the shape asked for, else of that which the parameters have together."""
    given = [look.raw(name) for name in parameters]
    shapes = [array_dims(look.of(value)) for value in given if value is not None]
    dtype = _dtype_told(look, dtype)
    if look.raw(shape) is None:
        return array(broadcast(shapes)[0], dtype)
    asked = shape_of(look.fact(shape))
    if asked is None and not shapes:
        return shaped(look.fact(shape), dtype)
    # Parameters with more axes than the shape asks for make a larger array than that.
    if asked is None or any(dims is not None and len(dims) > len(asked) for dims in shapes):
        return array(None, dtype)
    return array(tuple(dim.labelled(made_by("drawn", look.op)) for dim in asked), dtype)


def _classes(look: Look, scores: str, over: str, shape: str) -> ShapeFact:
    logits, axis = look.fact(scores), look.raw(over)
    if look.raw(shape) is not None:
        return array(shape_of(look.fact(shape)), "int32")
    made = without_axis(logits, axis if isinstance(axis, int) else -1)
    return array(made.dims, "int32") if axis is None or isinstance(axis, int) else NOTHING


def _permuted(look: Look, name: str) -> ShapeFact:
    given, mark = look.fact(name), made_by("alike", look.op)
    if given.number is not None:
        return array((given.number.labelled(mark),), "int32")
    return array(given.dims, given.dtype) if given.dims else NOTHING


def _chosen(look: Look, name: str, axis: str, shape: str) -> ShapeFact:
    given = look.fact(name)
    asked = shape_of(look.fact(shape)) if look.raw(shape) is not None else ()
    if asked is None or look.raw(axis) not in (None, 0):
        return NOTHING
    if given.number is not None:
        return array(asked, "int32")
    return array((*asked, *given.dims[1:]) if given.dims else None, given.dtype)


def _vectors(look: Look, name: str, shape: str) -> ShapeFact:
    mean = look.fact(name)
    if look.raw(shape) is None or not mean.dims:
        return array(mean.dims, None) if look.raw(shape) is None else NOTHING
    asked = shape_of(look.fact(shape))
    return array(None if asked is None else (*asked, mean.dims[-1]), None)


FUNCTIONS: Mapping[str, Callable[..., ShapeFact]] = {
    "floats": partial(_drawn, dtype="float32"),
    "integers": partial(_drawn, dtype="int32"),
    "truths": partial(_drawn, dtype="bool"),
    "words": partial(_drawn, dtype=None),
    "constants": _constants,
    "classes": _classes,
    "permuted": _permuted,
    "chosen": _chosen,
    "vectors": _vectors,
}
"""What is drawn, by the names that rows use."""

_NUMPY = {
    **dict.fromkeys("normal uniform standard_normal random random_sample".split(), "float32"),
    **dict.fromkeys("exponential gamma beta lognormal laplace".split(), "float32"),
    **dict.fromkeys("integers randint choice poisson binomial".split(), "int32"),
}
"""The generators of NumPy that take a `size`, with what they draw."""
_VARYING = frozenset("loc scale mean sigma shape a b lam n p low high".split())
"""Their parameters that may differ from number to number."""


def _numpy(look: Look) -> ShapeFact:
    """Return what NumPy's generators draw: as many numbers as `size` says."""
    if look.has("*", "**") or (look.function == "choice" and look.fact("a").number is None):
        return NOTHING
    if look.function in ("randn", "rand"):
        return array(shape_of(look.fact("args")) if look.has("args") else (), "float32")
    if look.function == "permutation":
        return _permuted(look, "x")
    if look.function not in _NUMPY:
        return NOTHING
    dtype = _dtype_told(look, _NUMPY[look.function])
    if look.raw("size") is not None:
        return array(shape_of(look.fact("size")), dtype)
    if look.function == "choice":
        return array((), dtype)
    # As many numbers as there are parameters for them; a single one is a number of Python's where it is no integer.
    dims, _ = broadcast([array_like(look.of(one)).dims for name, one in look.op.arguments.items() if name in _VARYING])
    if dims == ():
        return array(dims, dtype if dtype == "float32" else None, weak=dtype == "float32")
    return array(dims, dtype)


TABLE: Mapping[str, Transfer] = {"py.random": single(_numpy), "key.seed": single(_seed), "key.split": single(_split)}
