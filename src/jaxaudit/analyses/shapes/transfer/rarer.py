"""Functions that only some programs use: spectra, differences, grids and counts, by their full names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.dims import ONE, UNKNOWN, ZERO, Dim, constant, product
from jaxaudit.analyses.labels import made_by
from jaxaudit.analyses.shapes.broadcast import broadcast
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, array, as_number, integer, sequence
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.mapped import marked, place_of, resized
from jaxaudit.analyses.shapes.transfer.look import Look, Single, Transfer
from jaxaudit.analyses.shapes.transfer.maps import running_dtype
from jaxaudit.analyses.shapes.transfer.matrices import MATRICES, floating
from jaxaudit.analyses.shapes.transfer.reduce import reduced
from jaxaudit.ir import Argument, Op

_TWO = constant(2)


def _same_dtype(look: Look) -> ShapeFact:
    base = array_like(look.first())
    return array(base.dims, base.dtype)


def _positions(look: Look) -> ShapeFact:
    return array(array_like(look.first()).dims, "int32")


def _convolve(look: Look) -> ShapeFact:
    left, right = (array_like(look.fact(*names)) for names in (("a", "in1"), ("v", "in2")))
    if left.dims is None or right.dims is None or len(left.dims) != len(right.dims):
        return NOTHING
    usual = "valid" if look.op.qualified == "jax.numpy.correlate" else "full"
    mode, like_first = look.raw("mode") or usual, look.op.qualified.startswith("jax.scipy")
    pairs = zip(left.dims, right.dims, strict=True)
    return array(tuple(_overlap(a, b, mode, like_first=like_first) for a, b in pairs), promote((left, right))[0])


def _overlap(first: Dim, second: Dim, mode: Argument, *, like_first: bool) -> Dim:
    """Return in how many places one array meets another along an axis: anywhere, centred, or as a whole."""
    if mode == "full":
        return first + second - ONE
    if mode == "same" and like_first:
        return first
    sizes = first.constant, second.constant
    if sizes[0] is None or sizes[1] is None or mode not in ("same", "valid"):
        return UNKNOWN
    longer, shorter = max(sizes[0], sizes[1]), min(sizes[0], sizes[1])
    return constant(longer if mode == "same" else longer - shorter + 1)


def _interp(look: Look) -> ShapeFact:
    base = array_like(look.fact("x"))
    return array(base.dims, "float32" if base.dtype in ("float32", "int32", "bool") else None)


def _bincount(look: Look) -> ShapeFact:
    size = as_number(look.fact("length"))
    return array((UNKNOWN if size is None else size,), None if look.has("weights") else "int32")


def _histogram(look: Look) -> ShapeFact:
    """Return counts and edges: one edge more than there are bins."""
    given = look.fact("bins") if look.has("bins") else integer(constant(10))
    dims = array_like(given).dims
    bins = dims[0] - ONE if dims is not None and len(dims) == 1 else as_number(given) if dims == () else None
    if bins is None:
        return NOTHING
    return sequence((array((bins,), "float32"), array((bins + ONE,), "float32")))


def _quantile(look: Look) -> ShapeFact:
    base, levels = array_like(look.first()), array_like(look.fact("q")).dims
    keep, axis = look.raw("keepdims"), look.raw("axis")
    dims = reduced(look, base, axis, given=axis is not None, keep=keep)
    return NOTHING if dims is None or levels is None else array((*levels, *dims), floating(base))


def _running(look: Look) -> ShapeFact:
    """Sums along all elements: the axes become one."""
    base = array_like(look.first())
    if look.raw("axis") is not None or base.dims is None:
        return NOTHING
    return array((product(base.dims),), running_dtype(look, base))


def _diff(look: Look) -> ShapeFact:
    base, times, axis = array_like(look.first()), look.raw("n"), look.raw("axis")
    times, axis = 1 if times is None else times, -1 if axis is None else axis
    if base.dims is None or not isinstance(times, int) or not isinstance(axis, int) or look.has("prepend", "append"):
        return NOTHING
    place = place_of(axis, len(base.dims))
    return NOTHING if place is None else resized(base, place, base.dims[place] - constant(times))


def _gradient(look: Look) -> ShapeFact:
    base = array_like(look.first())
    axis = look.raw("axis")
    return array(base.dims, floating(base)) if isinstance(axis, int) or base.rank == 1 else NOTHING


def _append(look: Look) -> ShapeFact:
    left, right = array_like(look.fact("arr")), array_like(look.fact("values"))
    if left.dims is None or right.dims is None or look.raw("axis") is not None:
        return NOTHING
    return array((product(left.dims) + product(right.dims),), promote((left, right))[0])


def _meshgrid(look: Look) -> ShapeFact:
    axes = look.fact("xi").items
    if axes is None or look.raw("sparse") not in (None, False) or look.raw("indexing") not in (None, "xy", "ij"):
        return NOTHING
    given = [array_like(one) for one in axes]
    sizes = [ONE if one.dims == () else one.dims[0] for one in given if one.dims is not None and len(one.dims) <= 1]
    if len(sizes) != len(given):
        return NOTHING
    if look.raw("indexing") != "ij" and len(sizes) > 1:
        sizes[:2] = sizes[1::-1]
    return sequence(tuple(array(tuple(sizes), one.dtype) for one in given))


def _spaced(look: Look) -> ShapeFact:
    size = as_number(look.fact("num")) if look.has("num") else constant(50)
    ends = [array_like(look.fact(name)).dims for name in ("start", "stop")]
    if any(dims != () for dims in ends) or look.has("dtype", "axis"):
        return NOTHING
    made = array((UNKNOWN if size is None else size,), "float32")
    return marked(made, 0, made_by("ordered", look.op))


def _at_least(look: Look) -> ShapeFact:
    given = look.fact("arys").items
    rank = 1 if look.function == "atleast_1d" else 2
    base = array_like(given[0]) if given is not None and len(given) == 1 else NOTHING
    if base.dims is None:
        return NOTHING
    return array((ONE,) * (rank - len(base.dims)) + base.dims, base.dtype)


def _spectrum(look: Look) -> ShapeFact:
    base, function = array_like(look.first()), look.function
    if base.dims is None or look.raw("n", "s") is not None:
        return NOTHING
    if function in ("rfft", "irfft"):
        axis = look.raw("axis")
        place = place_of(-1 if axis is None else axis, len(base.dims)) if isinstance(axis, int | None) else None
        if place is None:
            return NOTHING
        size = base.dims[place]
        new = size // _TWO + ONE if function == "rfft" else (size - ONE) * _TWO
        made = resized(base, place, new)
        return array(made.dims, "complex64" if function == "rfft" else "float32")
    return array(base.dims, "complex64")


def _frequencies(look: Look) -> ShapeFact:
    size = as_number(look.fact("n"))
    if size is None:
        return NOTHING
    return array((size if look.function == "fftfreq" else size // _TWO + ONE,), "float32")


def _choices(look: Look) -> ShapeFact:
    given = look.fact("choicelist").items
    facts = [array_like(one) for one in given or ()]
    shapes = [one.dims for one in facts if one.dims is not None]
    if not facts or len(shapes) != len(facts):
        return NOTHING
    conditions = [array_like(one).dims for one in look.fact("condlist").items or ()]
    if not conditions or any(dims is None for dims in conditions):
        return NOTHING
    otherwise = array_like(look.fact("default")) if look.has("default") else integer(ZERO)
    dims = broadcast((*shapes, *(dims for dims in conditions if dims is not None)))[0]
    return array(dims, promote((*facts, otherwise))[0])


def _found(look: Look) -> ShapeFact:
    """Return the shapes of searches with a size: as many places as were asked for."""
    base, size = array_like(look.first()), as_number(look.fact("size"))
    if size is None or base.dims is None:
        return NOTHING
    match look.function:
        case "nonzero":
            return sequence((array((size,), "int32"),) * max(1, len(base.dims)))
        case "flatnonzero":
            return array((size,), "int32")
        case "argwhere":
            return array((size, constant(len(base.dims))), "int32")
    plain = not look.has("return_index", "return_inverse", "return_counts", "axis")
    return array((size,), base.dtype) if plain else NOTHING


def _triangle(look: Look) -> ShapeFact:
    size, k = as_number(look.fact("n")), look.raw("k")
    if size is None or size.constant is None or not isinstance(k, int | None) or look.has("m"):
        return NOTHING
    n, off = size.constant, k or 0
    below = look.function == "tril_indices"
    count = sum((j <= i + off) if below else (j >= i + off) for i in range(min(n, 512)) for j in range(min(n, 512)))
    return sequence((array((constant(count),), "int32"),) * 2) if n <= 512 else NOTHING


def _diag_indices(look: Look) -> ShapeFact:
    size, rank = as_number(look.fact("n")), look.raw("ndim")
    if size is None or not isinstance(rank, int | None):
        return NOTHING
    return sequence((array((size,), "int32"),) * (2 if rank is None else rank))


def _indices(look: Look) -> ShapeFact:
    dims = shape_of(look.fact("dimensions"))
    if dims is None or look.raw("sparse") not in (None, False):
        return NOTHING
    return array((constant(len(dims)), *dims), None if look.has("dtype") else "int32")


def _gated(look: Look) -> ShapeFact:
    base, axis = array_like(look.first()), look.raw("axis")
    place = place_of(-1 if axis is None else axis, base.rank) if isinstance(axis, int | None) and base.dims else None
    return NOTHING if place is None or base.dims is None else resized(base, place, base.dims[place] // _TWO)


def _attention(look: Look) -> ShapeFact:
    query, value = array_like(look.fact("query")), array_like(look.fact("value"))
    if query.dims is None or value.dims is None or not query.dims or not value.dims:
        return NOTHING
    return array((*query.dims[:-1], value.dims[-1]), query.dtype)


def _sampled_at(look: Look) -> ShapeFact:
    places = look.fact("coordinates").items
    return array(array_like(places[0]).dims, array_like(look.first()).dtype) if places else NOTHING


def _top(look: Look) -> ShapeFact:
    base, size = array_like(look.first()), as_number(look.fact("k"))
    if base.dims is None or not base.dims or look.has("axis"):
        return NOTHING
    best = resized(base, -1, UNKNOWN if size is None else size)
    return sequence((best, array(best.dims, "int32")))


def _shaped(look: Look) -> ShapeFact:
    return array(shape_of(look.fact("shape")), array_like(look.first()).dtype)


def _in_front(look: Look) -> ShapeFact:
    base, sizes = array_like(look.first()), shape_of(look.fact("sizes"))
    return NOTHING if base.dims is None or sizes is None else array((*sizes, *base.dims), base.dtype)


def _simplex(look: Look) -> ShapeFact:
    base = array_like(look.fact("alpha"))
    if base.dims is None:
        return NOTHING
    if look.raw("shape") is None:
        return array(base.dims, "float32")
    shape = shape_of(look.fact("shape"))
    return NOTHING if shape is None else array((*shape, *base.dims[-1:]), "float32")


def _ravelled(look: Look) -> ShapeFact:
    """Return what `ravel_pytree` gives: all elements of a tree in one row, and what puts them back."""
    sizes, dtypes = list[Dim](), list[ShapeFact]()
    for one in _parts(look.raw("pytree")):
        leaf = array_like(look.of(one))
        sizes.append(UNKNOWN if leaf.dims is None else product(leaf.dims))
        dtypes.append(leaf)
    total = sum(sizes, ZERO)
    return sequence((array((total,), promote(dtypes)[0]), NOTHING))


def _parts(tree: Argument) -> Iterator[Argument]:
    if isinstance(tree, Mapping):
        tree = tuple(tree.values())
    if isinstance(tree, tuple):
        for part in tree:
            yield from _parts(part)
    elif tree is not None:
        yield tree


_BY_NAME: Mapping[str, Single] = {
    "jax.flatten_util.ravel_pytree": _ravelled,
    **MATRICES,
    **{f"jax.numpy.{name}": _convolve for name in ("convolve", "correlate")},
    **{f"jax.scipy.signal.{name}": _convolve for name in "convolve convolve2d correlate correlate2d".split()},
    "jax.numpy.interp": _interp,
    "jax.numpy.digitize": _positions,
    "jax.numpy.argpartition": _positions,
    "jax.numpy.partition": _same_dtype,
    "jax.numpy.bincount": _bincount,
    "jax.numpy.histogram": _histogram,
    **{f"jax.numpy.{name}": _quantile for name in ("percentile", "quantile", "nanpercentile", "nanquantile")},
    **dict.fromkeys(("jax.numpy.cumsum", "jax.numpy.cumprod", "cumsum", "cumprod"), _running),
    "jax.numpy.diff": _diff,
    "jax.numpy.gradient": _gradient,
    "jax.numpy.append": _append,
    "jax.numpy.meshgrid": _meshgrid,
    **dict.fromkeys(("jax.numpy.logspace", "jax.numpy.geomspace"), _spaced),
    **dict.fromkeys(("jax.numpy.atleast_1d", "jax.numpy.atleast_2d"), _at_least),
    **{f"jax.numpy.fft.{name}": _spectrum for name in "fft ifft fft2 ifft2 fftn ifftn rfft irfft".split()},
    **dict.fromkeys(("jax.numpy.fft.fftfreq", "jax.numpy.fft.rfftfreq"), _frequencies),
    "jax.numpy.select": _choices,
    **{f"jax.numpy.{name}": _found for name in ("nonzero", "flatnonzero", "argwhere", "unique")},
    **dict.fromkeys(("jax.numpy.tril_indices", "jax.numpy.triu_indices"), _triangle),
    "jax.numpy.diag_indices": _diag_indices,
    "jax.numpy.indices": _indices,
    "jax.nn.glu": _gated,
    "jax.nn.dot_product_attention": _attention,
    "jax.scipy.ndimage.map_coordinates": _sampled_at,
    "jax.lax.top_k": _top,
    **dict.fromkeys(("jax.image.resize", "jax.lax.broadcast_in_dim"), _shaped),
    "jax.lax.broadcast": _in_front,
    "jax.random.dirichlet": _simplex,
}
OPS = frozenset(
    """array.expand array.gather array.reduce array.dot array.linalg array.convolve array.map array.order array.scan
    array.join array.create array.select array.split key.draw""".split()
)
"""The kinds of op that these functions are."""


def is_usual(op: Op) -> bool:
    """Whether a function is not one of these, so that what is usual for its kind of op holds."""
    function = op.qualified
    return function not in _BY_NAME and function not in _ONLY


def with_rarer(usual: Transfer, twin: str = "") -> Transfer:
    """Let a function that is known by its name, or that of its twin, come before what is usual for its kind of op."""

    def transfer(op: Op, look: Look) -> Sequence[ShapeFact | None]:
        function = twin or op.qualified
        known = _BY_NAME.get(function)
        found = NOTHING if known is None or look.has("*", "**") else known(look)
        return usual(op, look) if found is NOTHING and function not in _ONLY else (found,)

    return transfer


_ONLY = frozenset(f"jax.scipy.stats.multivariate_normal.{name}" for name in ("logpdf", "pdf"))
"""Functions of which what is usual for their kind of op does not hold."""
