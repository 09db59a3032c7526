"""How far indices reach, and the numbers in them that stand for nothing."""

from jaxaudit.analyses.extents.clipped import Clipped, clipped
from jaxaudit.analyses.extents.extent import Extent
from jaxaudit.analyses.extents.look import counts_from_end, extents, met, size_of
from jaxaudit.analyses.extents.sentinels import Sentinel, is_asked_for, sentinels

__all__ = [
    "Clipped",
    "Extent",
    "Sentinel",
    "clipped",
    "counts_from_end",
    "extents",
    "is_asked_for",
    "met",
    "sentinels",
    "size_of",
]
