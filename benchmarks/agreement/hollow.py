"""Lets JAX trace everything and compute nothing: what a compiled function gives is zeros of the right types.

Nearly all the time that a small program takes is the compiler's, and types do not depend on numbers. Where a program
asks for a number that decides what it does next (`if x > 0`, `int(n)`), it ends there with `AskedError`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import jax
import numpy as np
from jax._src import pjit
from jax._src.array import ArrayImpl


class AskedError(BaseException):
    """A program that needs a number."""


@contextlib.contextmanager
def hollow() -> Iterator[None]:
    """Compute nothing inside."""
    compute = pjit._pjit_call_impl_python
    questions = {name: getattr(ArrayImpl, name) for name in ("__bool__", "__int__", "__index__")}
    pjit._pjit_call_impl_python = _empty
    for name in questions:
        setattr(ArrayImpl, name, _refuse)
    try:
        yield
    finally:
        pjit._pjit_call_impl_python = compute
        for name, method in questions.items():
            setattr(ArrayImpl, name, method)


def _refuse(self: Any) -> Any:
    raise AskedError(f"it asks for a number of {self.dtype}{list(self.shape)}")


def _empty(*args: Any, jaxpr: Any, **options: Any) -> tuple[list[Any], None, None, list[Any]]:
    return [_zeros(aval) for aval in jaxpr.out_avals], None, None, []


def _zeros(aval: Any) -> Any:
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        rule = aval.dtype._impl
        return jax.random.wrap_key_data(_array((*aval.shape, *rule.key_shape), "uint32", False), impl=rule.name)
    return _array(aval.shape, str(aval.dtype), bool(aval.weak_type))


@cache
def _array(shape: tuple[int, ...], dtype: str, weak: bool) -> Any:
    made = jax.device_put(np.zeros(shape, jax.numpy.dtype(dtype)))
    made.aval = made.aval.update(weak_type=weak)
    return made
