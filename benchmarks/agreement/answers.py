"""What is written down of a value that a program computes: plain data that can be kept as JSON.

An array is `["array", shape, dtype, how]`, where `how` is `traced`, `jax` or `numpy`; a Python number or text
`["value", it]`; a container is `["tuple", items]`, `["list", items]`, `["dict", entries]` or `["record", name,
items]`; anything else `["object", its class]`, or `["function", its file, its line]`. Eagerly, an array also has the
lowest and the highest of its elements, and keys a number that is the same for the same key.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

import jax
import numpy as np

_DEEPEST, _LONGEST, _LARGEST = 4, 48, 100_000


def answer(value: Any, depth: int = 0) -> list[Any]:
    """Describe a value."""
    if isinstance(value, jax.Array):
        how = "traced" if isinstance(value, jax.core.Tracer) else "jax"
        return ["array", list(value.shape), str(value.dtype), how]
    if isinstance(value, jax.ShapeDtypeStruct):
        return ["array", list(value.shape), str(value.dtype), "other"]
    if isinstance(value, np.ndarray | np.generic):
        return ["array", list(value.shape), str(value.dtype), "numpy"]
    if isinstance(value, int) and not isinstance(value, bool):
        # A member of an `IntEnum` is a number too.
        return ["value", int(value)]
    if value is None or type(value) in (bool, str):
        return ["value", value if not isinstance(value, str) else value[:40]]
    if type(value) in (float, complex):
        return ["value", repr(value)]
    if isinstance(value, tuple | list | dict) and (depth == _DEEPEST or len(value) > _LONGEST):
        return ["object", type(value).__name__]
    if type(value) in (tuple, list):
        return [type(value).__name__, [answer(one, depth + 1) for one in value]]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return ["record", type(value).__name__, [answer(one, depth + 1) for one in value]]
    if type(value) is dict:
        return ["dict", [[_name(key), answer(one, depth + 1)] for key, one in value.items()]]
    if isinstance(code := getattr(getattr(value, "__func__", value), "__code__", None), CodeType):
        return ["function", code.co_filename, code.co_firstlineno]
    return ["function", "", 0] if callable(value) else ["object", type(value).__name__]


def _name(key: object) -> object:
    return key if isinstance(key, str | int) else repr(key)[:40]


def elements(value: Any) -> list[Any] | None:
    """Return what the elements of an array are: lowest and highest, with what is not finite aside; keys by content."""
    value = _concrete(value)
    if value is None or value.size > _LARGEST:
        return None
    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        return ["key", np.asarray(jax.random.key_data(value)).tobytes().hex()] if value.ndim == 0 else None
    array = np.asarray(value)
    if array.dtype == np.uint32 and array.shape == (2,):
        return ["key", array.tobytes().hex()]
    if array.dtype.kind not in "biuf":
        return None
    array = array.astype(np.float64).ravel()
    finite = array[np.isfinite(array)]
    ends = [float(finite.min()), float(finite.max())] if finite.size else [None, None]
    return ["range", *ends, bool(np.isnan(array).any()), bool(np.isinf(array).any())]


def _concrete(value: Any) -> Any:
    """Return the array behind a tracer of `vmap` or `grad` that runs at once; None where there is none yet."""
    while isinstance(value, jax.core.Tracer):
        value = next((getattr(value, name) for name in ("val", "primal") if hasattr(value, name)), None)
    if isinstance(value, bool | int | float):
        value = np.asarray(value)
    return value if isinstance(value, jax.Array | np.ndarray | np.generic) else None
