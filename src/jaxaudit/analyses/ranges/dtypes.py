"""What a dtype alone says of its elements, and what wraps around in it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import inf

from jaxaudit.analyses.ranges.facts import ANY, TRUTH, Range

SMALL: Mapping[str, tuple[float, float]] = {
    "int2": (-2, 1),
    "int4": (-8, 7),
    "int8": (-128, 127),
    "int16": (-32768, 32767),
    "uint2": (0, 3),
    "uint4": (0, 15),
    "uint8": (0, 255),
    "uint16": (0, 65535),
}
"""Integers so small that ordinary values reach their ends."""

WIDE: Mapping[str, tuple[float, float]] = {
    "int32": (-(2.0**31), 2.0**31 - 1),
    "int64": (-(2.0**63), 2.0**63 - 1),
    "uint32": (0, 2.0**32 - 1),
    "uint64": (0, 2.0**64 - 1),
}


EXP_LIMIT: Mapping[str, float] = {"float16": 11.0, "bfloat16": 88.7, "float32": 88.7, "float64": 709.7}
"""Above this the exponential is infinite."""

PRECISE_UP_TO: Mapping[str, int] = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24}
"""Above this, not every whole number can be written down, and adding one may change nothing."""


def is_integer(dtype: str | None) -> bool:
    """Whether a dtype surely holds whole numbers."""
    return dtype == "bool" or dtype in SMALL or dtype in WIDE


def ends(dtype: str | None) -> tuple[float, float] | None:
    """Return the ends of an integer type; None for others."""
    if dtype is None:
        return None
    return SMALL.get(dtype) or WIDE.get(dtype)


@cache
def of_dtype(dtype: str | None) -> Range:
    """Return what a dtype alone says."""
    if dtype == "bool":
        return TRUTH
    if dtype in SMALL:
        low, high = SMALL[dtype]
        return Range(low, high, integer=True)
    if dtype in WIDE:
        return Range(0.0 if dtype.startswith("u") else -inf, inf, integer=True)
    return ANY


def wraps(one: Range, dtype: str | None) -> bool:
    """Whether a range of exact results surely leaves an integer type at one end, as far as ends are known."""
    limits = ends(dtype)
    if limits is None:
        return False
    known_low, known_high = one.low > -inf, one.high < inf
    return (known_low and one.low < limits[0]) or (known_high and one.high > limits[1])


def wrapped(one: Range, dtype: str | None) -> Range:
    """Return the range of results once they are put into a dtype: what does not fit wraps around."""
    limits = ends(dtype)
    if limits is None:
        return one
    unsigned = dtype is not None and dtype.startswith("u")
    small = dtype in SMALL
    over = wraps(one, dtype) or (small and not one.is_bounded) or (unsigned and one.low < 0)
    if over:
        return of_dtype(dtype)._replace(zero=one.zero)
    return one if one.integer else one._replace(integer=True)
