"""Integers of NumPy's that have 64 bits and come into JAX with 32: where that loses something, in the numbers of a run.

JAX says nothing of it: what is beyond comes out at the other end. Each place is looked at a few times.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.places import caller
from jaxaudit.frontends.jaxpr.protocol import Replayed

_CONVERTING = (("numpy", "asarray"), ("numpy", "array"), ("", "device_put"))
_MOST_LOOKS, _MOST_ELEMENTS = 3, 1 << 22
_LAST = 2**31 - 1


class Narrowed:
    """Looks at what is converted; `found` is what did not fit."""

    def __init__(self) -> None:
        self.found: list[Replayed] = []
        self._looks: dict[tuple[int, int], int] = {}

    def install(self) -> None:
        """Look at the functions that convert; JAX must have been imported just now."""
        jax = the_jax()
        for module, name in _CONVERTING:
            owner = getattr(jax, module) if module else jax
            setattr(owner, name, self._converting(name, getattr(owner, name)))

    def _converting(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def convert(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if args and type(args[0]) in _host_types():
                frame = sys._getframe(1)
                at = (id(frame.f_code), frame.f_lasti)
                looks = self._looks[at] = self._looks.get(at, 0) + 1
                if looks <= _MOST_LOOKS and not _is_asked(args, kwargs):
                    self.note(name, [(args[0], getattr(result, "dtype", None))])
            return result

        return convert

    def note(self, function: str, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Look at values of NumPy's and the dtypes that they get in JAX."""
        for value, dtype in pairs:
            beyond = _beyond(value) if type(value) in _host_types() and str(dtype) == "int32" else None
            place = caller() if beyond is not None else None
            if place is not None and all(place not in one.places for one in self.found):
                text = f"{beyond} does not fit in `int32`"
                self.found.append(Replayed(function, f"1 call of `{function}`", "host", text, (place,)))


@functools.cache
def _host_types() -> tuple[type, ...]:
    numpy = sys.modules["numpy"]
    return (numpy.ndarray, numpy.int64)


def _is_asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call names a dtype of less than 64 bits."""
    asked = args[1] if len(args) > 1 else kwargs.get("dtype")
    try:
        return asked is not None and sys.modules["numpy"].dtype(asked).itemsize < 8
    except TypeError:
        return False


def _beyond(value: Any) -> int | None:
    """Return the number of 64 bits that is farthest beyond 32; None where all fit."""
    if str(value.dtype) != "int64" or not 0 < value.size <= _MOST_ELEMENTS:
        return None
    high, low = int(value.max()), int(value.min())
    if high <= _LAST and low >= -_LAST - 1:
        return None
    return high if high > -low else low
