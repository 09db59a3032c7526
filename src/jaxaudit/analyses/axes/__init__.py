"""What each axis is: where axes meet, where the meeting is a mistake, and the way each axis takes."""

from jaxaudit.analyses.axes.conflicts import Axes, Cause, Conflict, axes_of, nested
from jaxaudit.analyses.axes.meetings import Meeting, Side

__all__ = ["Axes", "Cause", "Conflict", "Meeting", "Side", "axes_of", "nested"]
