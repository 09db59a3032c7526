"""The ranges domain: between which numbers the elements of every value lie, and what else is known of them."""

from jaxaudit.analyses.ranges.domain import RangesDomain
from jaxaudit.analyses.ranges.facts import DEEP, Range, Zero
from jaxaudit.analyses.ranges.result import Ranges, range_text

__all__ = ["DEEP", "Range", "Ranges", "RangesDomain", "Zero", "range_text"]
