"""Has a look at calls of the user's functions, at no cost for all other code and for what has been seen.

Python 3.12 and newer tell of the start of each function, and stop telling where nobody wants to know. Older ones can
only tell of all calls or of none: there we look for as long as there is news, and again when something new begins.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any

from jaxaudit.frontends.jaxpr.places import is_user_file
from jaxaudit.frontends.jaxpr.sightings import Sightings

_TOOLS = (3, 4)
"""Numbers of tools that nobody has reserved."""
_PATIENCE = 150
"""Calls of the user's functions without news, after which an older Python does not tell us of any more."""


class Watch:
    """Looks at calls from `start` to `stop`."""

    def __init__(self, where: str = "") -> None:
        self.seen = Sightings(where)
        self._tool = 0
        self._quiet = 0
        self._looks = False

    def start(self) -> None:
        """Begin to look, in this thread and those that it starts."""
        monitoring: Any = getattr(sys, "monitoring", None)
        self._tool = next((one for one in _TOOLS if monitoring and monitoring.get_tool(one) is None), 0)
        if self._tool:
            monitoring.use_tool_id(self._tool, "jaxaudit")
            monitoring.register_callback(self._tool, monitoring.events.PY_START, self._started)
            monitoring.set_events(self._tool, monitoring.events.PY_START)
        self._looks = True
        self.rouse()

    def rouse(self) -> None:
        """Look again where we had stopped to: a new test begins, or JAX compiles something that it had not met."""
        self._quiet = 0
        if self._looks and not self._tool and sys.getprofile() is None:
            # Whoever profiles the program has the only place there is.
            sys.setprofile(self._called)
            threading.setprofile(self._called)

    def begin(self, where: str) -> None:
        """Return which test runs from now on."""
        self.seen.begin(where)
        if self._tool:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
            monitoring.restart_events()
        self.rouse()

    def stop(self) -> None:
        """Look no more."""
        self._looks = False
        if self._tool:
            monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
            monitoring.set_events(self._tool, 0)
            monitoring.free_tool_id(self._tool)
            self._tool = 0
        else:
            self._rest()

    def _started(self, code: CodeType, offset: int) -> object:
        if not self.seen.wants(code):
            return sys.monitoring.DISABLE  # type: ignore[attr-defined]
        self.seen.see(sys._getframe(1))
        return None

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        if not is_user_file(code.co_filename):
            return
        self._quiet += 1
        if self.seen.wants(code) and self.seen.see(frame):
            self._quiet = 0
        elif self._quiet > _PATIENCE:
            self._rest()

    def _rest(self) -> None:
        # Methods are made anew each time they are read, and are equal.
        if sys.getprofile() == self._called:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
