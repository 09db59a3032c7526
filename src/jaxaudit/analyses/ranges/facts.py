"""What is known of the elements of one value: an interval, and flags that an interval cannot say.

Every finite element lies in `[low, high]`, up to rounding; `finite` and `nan` say what else there may be. Inputs are
taken for ordinary numbers: finite, not NaN, and integers of 32 bits and more for small enough not to wrap around where
no bound is known. Facts are immutable and compare by content.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
from typing import NamedTuple

from jaxaudit.ir import Value

Axes = frozenset[int]
"""Axes counted from the end, so that new axes in front change nothing."""

DEEP = -1e4
"""A number so far below that its exponential is zero next to ordinary ones: it stands for minus infinity."""
EVERYWHERE: Axes = frozenset({0})
"""Stands for all axes of an array whose rank is not known."""


class Zero(NamedTuple):
    """How a value comes to be zero, where that is known: the reason is a clause that a person can check."""

    reason: str
    ordinary: bool
    """True when ordinary inputs do it; False when it takes a coincidence, such as an empty mask or equal elements."""
    along: Axes = frozenset()
    """Axes along which all elements are zero together, so that their sum is zero too."""
    noted: bool = False
    """True for a coincidence that is well known to happen in practice."""
    fixed: bool = False
    """True when it is known which element is zero, so that a part of the array need not have it."""
    assumed: bool = False
    """True when it takes inputs of a sign that nothing shows them to have: `max(x, 0)` of anything at all."""
    blocks: bool = False
    """True when a choice made it zero, as `where` and `relu` do: whatever gradient arrives there goes no further."""


EMPTY_BIN = Zero("nothing may fall into a bin", ordinary=False, noted=True)
"""Frequencies have zeros as a rule, though nobody can tell where."""


class Relation(NamedTuple):
    """One array is made from another by a reduction, and they meet again element by element."""

    kind: str
    """`max`, `min`, `sum`, `length` (the euclidean norm), or `above` for anything that is at least as large."""
    other: Value
    axes: Axes | None
    """The axes that were reduced; None for all of them."""
    aligned: bool
    """False while the reduced axes are missing, so that broadcasting may pair the wrong elements."""


class Filler(NamedTuple):
    """Some places of an array are not used, and the same stands at each of them."""

    places: Hashable
    """What left them unused: two arrays that were filled up by one and the same thing have the same unused places."""
    what: Hashable
    """A number, or an array and which of its rows it is."""
    sure: bool
    """Whether there are unused places as a rule, rather than when there happen to be fewer entries than room."""
    alike: int = 0
    """How many axes, counted from the end, what stands there has itself."""


class Range(NamedTuple):
    """All fields at their defaults means an ordinary number nothing else is known of."""

    low: float = -inf
    high: float = inf
    integer: bool = False
    """Every element is a whole number."""
    finite: bool = True
    """No element is infinite."""
    nan: bool = False
    """An element may be NaN."""
    nonzero: bool = False
    """No element is zero; only worth saying where the interval holds zero."""
    zero: Zero | None = None
    """Why some element is zero, where that is known; an interval alone only says that it may be."""
    sinks: str = ""
    """Why some element is so far below the others that its exponential is zero; empty where it is not known."""
    sums_to_one: int | None = None
    """The axis along which the elements are probabilities."""
    one_hot: int | None = None
    """The axis along which at most one element is one and all others are zero."""
    peak: Axes | None = None
    """In each slice along these axes some element reaches the highest value."""
    relation: Relation | None = None
    """How this compares with another array that it was reduced from."""
    unit: bool = False
    """A vector along some axis was divided by its own length."""
    counts: bool = False
    """Sums of masks: how many there are of something."""
    filler: Filler | None = None
    """What stands at the places that are not used."""

    @property
    def has_zero(self) -> bool:
        """Whether an element may be zero, as far as is known."""
        return self.low <= 0.0 <= self.high and not self.nonzero

    @property
    def is_mask(self) -> bool:
        """Whether all elements are zero or one."""
        return self.integer and self.low >= 0 and self.high <= 1

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are known."""
        return self.low > -inf and self.high < inf

    @property
    def constant(self) -> float | None:
        """The number that every element is; None where they may differ."""
        return self.low if self.low == self.high and not self.nan else None


ANY = Range()
"""An ordinary number nothing else is known of."""
WILD = Range(finite=False, nan=True)
"""What comes out of something that is not modelled."""
TRUTH = Range(0.0, 1.0, integer=True)


def between(low: float, high: float, *, integer: bool = False) -> Range:
    """Return the range of ordinary numbers between two ends."""
    return Range(low, high, integer)


def exactly(number: float) -> Range:
    """Return the range of a constant."""
    if number != number:
        return Range(nan=True)
    finite = abs(number) != inf
    return Range(number, number, finite and number == int(number), finite, nonzero=number != 0)


def plain(one: Range) -> Range:
    """Drop what speaks of other values or of axes: it means nothing on the other side of a region's border."""
    if one.peak is None and one.relation is None and one.sums_to_one is None and one.one_hot is None:
        return one
    return one._replace(sums_to_one=None, one_hot=None, peak=None, relation=None)


def given(one: Range) -> Range:
    """Return what a function is called with: that some element was zero in one call says little about another."""
    made = carried(one)
    return made if one.filler is None else made._replace(filler=one.filler)


def part(one: Range) -> Range:
    """Return what is known of some elements of an array: one that was zero at a fixed place may not be among them."""
    one = plain(one)
    return one._replace(zero=None) if one.zero is not None and one.zero.fixed else one


def carried(one: Range) -> Range:
    """Return what a loop carries: that some element was zero in one turn says little about another."""
    one = plain(one)
    kept = one.zero is None and not one.sinks and one.filler is None
    return one if kept else one._replace(zero=None, sinks="", filler=None)


def unrelated(one: Range) -> Range:
    """Drop what speaks of other values, and keep what speaks of axes."""
    return one if one.peak is None and one.relation is None else one._replace(peak=None, relation=None)


def join(first: Range, second: Range) -> Range:
    """Return the range that covers both."""
    if first is second or first == second:
        return first
    low, high = min(first.low, second.low), max(first.high, second.high)
    never = (first.nonzero or not first.has_zero) and (second.nonzero or not second.has_zero)
    return Range(
        low,
        high,
        first.integer and second.integer,
        first.finite and second.finite,
        first.nan or second.nan,
        nonzero=never,
        zero=_either(first.zero, second.zero),
        sinks=min(filter(None, (first.sinks, second.sinks)), default=""),
        sums_to_one=first.sums_to_one if first.sums_to_one == second.sums_to_one else None,
        one_hot=first.one_hot if first.one_hot == second.one_hot else None,
        relation=first.relation if first.relation == second.relation else None,
        unit=first.unit and second.unit,
        counts=first.counts and second.counts,
        filler=first.filler if first.filler == second.filler else None,
    )


def _either(first: Zero | None, second: Zero | None) -> Zero | None:
    """Return the better known way to zero.

    Of two alike the one that comes first in order, so that order is no matter.
    """
    found = sorted(
        (one for one in (first, second) if one is not None),
        key=lambda one: (not one.ordinary, one.assumed, one.reason, sorted(one.along), *one[3:]),
    )
    return found[0] if found else None


_STEPS = (-inf, -1.0, 0.0, 1.0, inf)


def widen(old: Range, new: Range) -> Range:
    """Return a range that covers both and whose ends move in few steps."""
    both = join(old, new)
    low = both.low if both.low >= old.low else max(step for step in _STEPS if step <= both.low)
    high = both.high if both.high <= old.high else min(step for step in _STEPS if step >= both.high)
    if (low, high) == (both.low, both.high):
        return both
    return both._replace(low=low, high=high, nonzero=both.nonzero)


def meet(one: Range, low: float, high: float, *, nonzero: bool = False) -> Range:
    """Return the part of a range between two ends; the range itself where nothing is left."""
    low, high = max(one.low, low), min(one.high, high)
    if low > high:
        return one
    never = one.nonzero or nonzero or low > 0 or high < 0
    return one._replace(low=low, high=high, nonzero=never, zero=None if never else one.zero)


def as_integer(one: Range) -> Range:
    """Return a range whose elements are known to be whole numbers, as those of an integer dtype are."""
    return one._replace(integer=True, finite=True, nan=False)
