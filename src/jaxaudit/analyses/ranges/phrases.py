"""Writes ranges for people: `[0, 1]`, `>= 0`, `one-hot along axis -1`, `mask`, `sums to 1 along axis -1`."""

from __future__ import annotations

from math import inf

from jaxaudit.analyses.ranges.facts import Range


def number_text(number: float) -> str:
    """Write a number the short way."""
    if abs(number) < 1e15 and number == int(number):
        return str(int(number))
    return f"{number:.4g}"


def interval_text(one: Range) -> str:
    """Write the interval; empty where both ends are open."""
    if one.low == one.high:
        return f"= {number_text(one.low)}" if one.low == one.low and abs(one.low) < inf else str(one.low)
    if one.is_bounded:
        return f"[{number_text(one.low)}, {number_text(one.high)}]"
    if one.low > -inf:
        return "> 0" if one.low == 0 and one.nonzero else f">= {number_text(one.low)}"
    if one.high < inf:
        return "< 0" if one.high == 0 and one.nonzero else f"<= {number_text(one.high)}"
    return "not 0" if one.nonzero else ""


def range_text(one: Range) -> str:
    """Write what is known of a value's elements; empty where that is nothing."""
    bounded, sums, *flags = _parts(one)
    return ", ".join(part for part in (bounded, sums, *flags) if part) if bounded or sums else ""


def _parts(one: Range) -> tuple[str, ...]:
    bounded = interval_text(one)
    if one.one_hot is not None:
        bounded = f"one-hot along axis {one.one_hot}"
    elif one.is_mask and one.low != one.high:
        bounded = "mask"
    elif one.integer and one.low != one.high:
        bounded = f"integer {bounded}" if bounded else ""
    sums = f"sums to 1 along axis {one.sums_to_one}" if one.sums_to_one is not None and one.one_hot is None else ""
    return (bounded, sums, "" if one.finite else "may be infinite", "may be NaN" if one.nan else "")
