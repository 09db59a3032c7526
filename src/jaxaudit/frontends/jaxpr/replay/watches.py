"""What is noted of equations: how far indices reach, integers that wrap around, what is not finite, keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.primitives.indexing import INDEXING

Array = Any

_FAR = 2**31 - 1
_EXACT = frozenset(("add", "sub", "mul", "integer_pow", "reduce_sum", "cumsum"))
"""Arithmetic that floats do as well, up to rounding."""
DRAWS = frozenset(("random_bits", "random_gamma"))
MOST_KEYS = 1 << 12


def limits(equation: Any) -> tuple[list[int], list[int]] | None:
    """Return the last index that lies within the operand for each number of an index, and the sizes of these axes."""
    name, params = equation.primitive.name, equation.params
    if name not in INDEXING or name == "slice":
        return None
    shape = equation.invars[0].aval.shape
    if name == "dynamic_slice":
        axes, taken = range(len(shape)), list(params["slice_sizes"])
    elif name == "dynamic_update_slice":
        axes, taken = range(len(shape)), list(equation.invars[1].aval.shape)
    elif name == "gather":
        axes, taken = params["dimension_numbers"].start_index_map, list(params["slice_sizes"])
    else:
        axes, taken = params["dimension_numbers"].scatter_dims_to_operand_dims, _windows(equation)
    return [shape[axis] - taken[axis] for axis in axes], [shape[axis] for axis in axes]


def _windows(equation: Any) -> list[int]:
    """Return how many elements of each axis a scatter writes at an index."""
    numbers, shape = equation.params["dimension_numbers"], equation.invars[0].aval.shape
    single = {*numbers.inserted_window_dims, *getattr(numbers, "operand_batching_dims", ())}
    sizes = iter([equation.invars[2].aval.shape[axis] for axis in numbers.update_window_dims])
    return [1 if axis in single else next(sizes) for axis in range(len(shape))]


def indices(equation: Any, given: Sequence[Array]) -> Array:
    """Return the numbers of an index along the last axis."""
    jnp = compat.jax.numpy
    if "dimension_numbers" in equation.params:
        return jnp.asarray(given[1]).astype(jnp.int32)
    first = 1 if equation.primitive.name == "dynamic_slice" else 2
    return jnp.stack([jnp.asarray(one).astype(jnp.int32) for one in given[first:]], axis=-1)


def reach(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Array | None:
    """Note of an index the largest and smallest number beyond each end of its axis, and those nearest to it."""
    found = limits(equation)
    if found is None or not found[0]:
        return None
    jnp = compat.jax.numpy
    index = indices(equation, given).reshape(-1, len(found[0]))
    last = jnp.asarray(found[0], jnp.int32)
    over, under = index > last, index < 0
    noted = [(over, index), (over, -index), (under, index), (under, -index)]
    return jnp.stack([jnp.max(jnp.where(beyond, one, -_FAR), axis=0, initial=-_FAR) for beyond, one in noted])


def choice(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Array | None:
    """Note of what `switch` brings into its range the largest and smallest number."""
    if equation.primitive.name != "clamp" or str(equation.outvars[0].aval.dtype) != "int32":
        return None
    jnp = compat.jax.numpy
    index = jnp.asarray(given[1])
    return jnp.stack([jnp.max(index, initial=-_FAR), jnp.max(-index, initial=-_FAR)])


def wrapping(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Array | None:
    """Note of integers that wrap around what they should have been, at both ends."""
    found = _wrapped(equation, given, outs)
    if found is None:
        return None
    jnp, (exact, off) = compat.jax.numpy, found
    return jnp.stack([jnp.max(jnp.where(off, one, -jnp.inf), initial=-jnp.inf) for one in (exact, -exact)])


def _wrapped(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> tuple[Array, Array] | None:
    """Return what integers should be, up to rounding, and where they are not."""
    jnp, name = compat.jax.numpy, equation.primitive.name
    kind = str(getattr(equation.outvars[0].aval, "dtype", "")) if equation.outvars else ""
    # Numbers of 32 and 64 bits without a sign are made to wrap around: hashes, random bits.
    if not kind.startswith("int") and kind not in ("uint8", "uint16"):
        return None
    if name == "convert_element_type" and equation.invars[0].aval.dtype != bool:
        exact = jnp.asarray(given[0]).astype(jnp.float32)
        return exact, jnp.abs(exact - outs[0].astype(jnp.float32)) >= 1 + 1e-6 * jnp.abs(exact)
    if name in _EXACT:
        (exact,) = compat.bind(equation, [jnp.asarray(one).astype(jnp.float32) for one in given])
        return exact, jnp.abs(exact - outs[0].astype(jnp.float32)) > 2.0 ** (8 * outs[0].dtype.itemsize - 2)
    return None


def finiteness(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Array | None:
    """Note whether an equation makes NaN of other numbers, and infinities of finite ones."""
    floats = [one for one in outs if _is_float(one)]
    if not floats:
        return None
    jnp = compat.jax.numpy
    before, after = [jnp.asarray(one) for one in given if _is_float(one)], [jnp.asarray(one) for one in floats]
    had_nan, has_nan = (_any(jnp.isnan, one) for one in (before, after))
    had_inf, has_inf = (_any(jnp.isinf, one) for one in (before, after))
    return jnp.stack([has_nan & ~had_nan, has_inf & ~had_inf & ~had_nan]).astype(jnp.int32)


def _is_float(one: Array) -> bool:
    kind = getattr(one, "dtype", None)
    return isinstance(one, float) or (kind is not None and compat.jax.numpy.issubdtype(kind, compat.np.inexact))


def _any(test: Any, arrays: Sequence[Array]) -> Array:
    jnp = compat.jax.numpy
    return sum((jnp.any(test(one)) for one in arrays), start=jnp.asarray(False))


def keys(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Array | None:
    """Note the bits of every key that is drawn with, and that it was."""
    if equation.primitive.name not in DRAWS or not hasattr(given[0], "shape"):
        return None
    jnp = compat.jax.numpy
    bits = compat.jax.random.key_data(given[0])
    bits = bits.reshape(-1, bits.shape[-1])
    if not 0 < bits.shape[0] <= MOST_KEYS:
        return None
    return jnp.concatenate([bits, jnp.ones((bits.shape[0], 1), bits.dtype)], axis=1)


def elsewhere(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Sequence[Array]:
    """Give what an equation would have given, had an index that is out of range been treated in another way."""
    jnp, name = compat.jax.numpy, equation.primitive.name
    if "dimension_numbers" in equation.params:
        modes = compat.lax.GatherScatterMode
        clips = equation.params["mode"] == modes.FILL_OR_DROP
        params = {**equation.params, "mode": modes.CLIP if clips else modes.FILL_OR_DROP}
        if name == "gather":
            params["fill_value"] = None if clips else _other(equation.outvars[0].aval.dtype)
        return compat.bind(equation.replace(params=params), given)
    found = limits(equation)
    assert found is not None
    index = indices(equation, given)
    beyond = jnp.any((index > jnp.asarray(found[0], jnp.int32)) | (index < 0))
    if name == "dynamic_update_slice":
        return [jnp.where(beyond, given[0], outs[0])]
    moved = [jnp.where(beyond & (one > 0), jnp.zeros_like(one), one) for one in given[1:]]
    return compat.bind(equation, [given[0], *moved])


def _other(dtype: Any) -> Any:
    np = compat.np
    return 123.0 if np.issubdtype(dtype, np.floating) else 1


def counted_round(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Sequence[Array]:
    """Give another branch where the number of one is out of range."""
    return [compat.jax.numpy.where(given[1] == outs[0], outs[0], given[2] - outs[0])]


def unwrapped(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Sequence[Array]:
    """Give other numbers where integers wrapped around."""
    found = _wrapped(equation, given, outs)
    return outs if found is None else [compat.jax.numpy.where(found[1], ~outs[0], outs[0])]


def made_finite(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Sequence[Array]:
    """Give finite numbers instead of those that are not."""
    jnp = compat.jax.numpy
    return [jnp.where(jnp.isfinite(one), one, 0) if _is_float(one) else one for one in outs]


def redrawn(key: bytes) -> Callable[[Any, Sequence[Array], Sequence[Array]], Sequence[Array]]:
    """Give other random numbers wherever one key is drawn with, by the bits of that key."""

    def change(equation: Any, given: Sequence[Array], outs: Sequence[Array]) -> Sequence[Array]:
        jnp, bits = compat.jax.numpy, compat.jax.random.key_data(given[0])
        same = (bits == compat.np.frombuffer(key, bits.dtype)).all(axis=-1)
        same = same.reshape(same.shape + (1,) * (outs[0].ndim - same.ndim))
        return [jnp.where(same, one + 1 if _is_float(one) else ~one, one) for one in outs]

    return change
