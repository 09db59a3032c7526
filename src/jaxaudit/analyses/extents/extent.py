"""The whole numbers that an index may be: where they begin and end, and whether they get there."""

from __future__ import annotations

from jaxaudit.analyses.dims import ONE, Dim, constant, same
from jaxaudit.ir import Op, Value
from jaxaudit.ir.record import record, replace


@record
class Extent:
    """The whole numbers from `low` up to, but without, `end`."""

    low: Dim
    end: Dim
    source: Op
    """What makes them."""
    reached: bool = True
    """Whether the last of them surely occurs, or may do so by chance; False for a mere bound."""
    over: tuple[Value, int] | None = None
    """The array and the axis whose positions they are."""
    part: bool = False
    """Whether only some of them were picked, perhaps without the last."""
    each: bool = False
    """Whether each single element may be any of them, as with what is drawn, clipped or looked up."""
    further: int = 0
    """How many numbers behind the last may turn up for values that nobody foresaw: those behind the last edge."""
    bottomless: bool = False
    """Whether some may be below `low`, so that only the end is known."""

    @property
    def last(self) -> Dim:
        """The largest of them."""
        return self.end - ONE

    @property
    def single(self) -> Dim | None:
        """The one number that it is; None where there are more."""
        return self.low if same(self.low, self.last) else None

    def moved(self, by: Dim) -> Extent:
        """Return the same numbers with another one added to each."""
        return replace(self, low=self.low + by, end=self.end + by, over=None)

    def scaled(self, by: int) -> Extent:
        """Return multiples of the same numbers."""
        ends = self.low * constant(by), self.last * constant(by)
        low, last = ends if by >= 0 else reversed(ends)
        # What lies behind the last is below the first of the negated ones, and the other way round.
        bottomless = self.further > 0 if by < 0 else self.bottomless
        reached = self.reached and not (by < 0 and self.bottomless)
        further, end = self.further * max(by, 0), last + ONE
        return replace(self, low=low, end=end, reached=reached, over=None, further=further, bottomless=bottomless)

    def divided(self, by: int) -> Extent | None:
        """Return the same numbers divided by a positive one and rounded down."""
        low, last = self.low.constant, self.last.constant
        if low is None or last is None or by <= 0:
            return None
        more = (last + self.further) // by - last // by
        return replace(self, low=constant(low // by), end=constant(last // by + 1), over=None, further=more)

    def below(self, bound: Extent) -> Extent:
        """Return the same numbers where those from the end of a bound on are replaced by its last one."""
        over = (self.end - bound.end).constant
        if over is not None and over + self.further <= 0:
            return self
        # A bound that nothing is known to exceed need not be met.
        reached = self.reached and over is not None and over > 0
        return replace(self, end=bound.end, source=bound.source, reached=reached, over=None, further=0)

    def joined(self, other: Extent) -> Extent | None:
        """Return these numbers and others; None where which of them go further is not known."""
        over, under = (other.end - self.end).constant, (other.low - self.low).constant
        if over is None or under is None:
            return None
        far = other if over > 0 else self
        alike = self.over if over == 0 and self.over == other.over else None
        further = max(self.further, other.further)
        bottomless = self.bottomless or other.bottomless
        low = other.low if under < 0 else self.low
        return replace(far, low=low, over=alike, further=further, bottomless=bottomless)

    def plus(self, other: Extent) -> Extent:
        """Return the sums of these and other numbers; each of two counters runs through all of its own."""
        if other.single is not None or self.single is not None:
            return self.moved(other.low) if other.single is not None else other.moved(self.low)
        reached = self.reached and other.reached and self.source is not other.source
        further, bottomless = self.further + other.further, self.bottomless or other.bottomless
        end = self.last + other.end
        return replace(
            self,
            low=self.low + other.low,
            end=end,
            reached=reached,
            over=None,
            each=self.each and other.each,
            further=further,
            bottomless=bottomless,
        )
