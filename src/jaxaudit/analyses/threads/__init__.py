"""Axis threads of traced programs: which axes are one, and what happens to each on its way."""

from jaxaudit.analyses.threads.relation import Slot
from jaxaudit.analyses.threads.weave import Station, Thread, Woven, weave

__all__ = ["Slot", "Station", "Thread", "Woven", "weave"]
