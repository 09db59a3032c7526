"""Under which calls each run of equations stands, outermost first: the user's functions and the transformations.

The frames of an equation name the user's functions it was made in; its scopes name the transformations. A call of a
transformation stands at one of those frames, and the next frame is the function that it was given.
"""

from __future__ import annotations

import dis
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import NamedTuple

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.files import USER, layer_of, shown
from jaxaudit.frontends.jaxpr.frames import span_at
from jaxaudit.frontends.jaxpr.records import Records
from jaxaudit.frontends.jaxpr.runs import RANDOM, Run
from jaxaudit.frontends.jaxpr.sites import Around, Key, Site
from jaxaudit.spans import Span


class Call(NamedTuple):
    """One call of a function of the user's."""

    code: CodeType
    at: compat.Frame
    """The frame that makes the call."""
    turn: int
    """Tells calls apart that the same instruction makes one after the other."""
    under: tuple[str, ...] = ()

    @property
    def span(self) -> Span:
        """The place of the call."""
        return span_at(*self.at)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.code.co_name.replace("<lambda>", "lambda")


Step = Key | Call


@dataclass(slots=True)
class Nesting:
    """Reads the calls around the runs of one jaxpr, in order."""

    function: compat.Function
    records: Records
    turns: dict[tuple[CodeType, compat.Frame], int] = field(default_factory=dict)
    seen: dict[tuple[CodeType, compat.Frame], tuple[int, Run]] = field(default_factory=dict)
    """For each call: the last instruction of the callee that was met, and in which run."""

    def stack(self, run: Run, site: Site) -> tuple[Step, ...]:
        """Give the steps from the jaxpr's own function down to a run."""
        chain = self._chain(site)
        if not chain:
            return site.around.keys
        waiting = list(site.around.keys)
        steps: list[Step] = []
        for frame, callee in zip(chain, [*chain[1:], None], strict=True):
            passed = self._passed(frame, waiting)
            steps += passed
            if callee is not None and not passed and not self._is_control(frame, site.around):
                steps.append(self._call(frame, callee, run, site.around))
        return (*waiting, *steps) if waiting else tuple(steps)

    def _chain(self, site: Site) -> list[compat.Frame]:
        """Give the user's frames, outermost first, from the function on that the jaxpr was traced from."""
        chain = [frame for frame in reversed(site.frames) if layer_of(frame[0].co_filename) == USER]
        if not self.function.path or layer_of(self.function.path) != USER:
            return chain
        for position, (code, _) in enumerate(chain):
            if code.co_firstlineno == self.function.line and code.co_filename == self.function.path:
                return chain[position:]
        return []

    def _passed(self, frame: compat.Frame, waiting: list[Key]) -> list[Key]:
        """Take those transformations that were called at a frame."""
        span = span_at(*frame)
        passed: list[Key] = []
        while waiting and self.records.by_uid[waiting[0].uid].span == span:
            passed.append(waiting.pop(0))
        return passed

    def _is_control(self, frame: compat.Frame, around: Around) -> bool:
        """A function that was given to `cond` or `scan` is called by them."""
        return around.control is not None and around.control.span == span_at(*frame)

    def _call(self, frame: compat.Frame, callee: compat.Frame, run: Run, around: Around) -> Call:
        place = (callee[0], frame)
        before = self.seen.get(place)
        if before is not None and _starts_over(callee, run, *before):
            self.turns[place] = self.turns.get(place, 0) + 1
        self.seen[place] = (callee[1], run)
        under = ("transpose",) if around.backward else ()
        return Call(callee[0], frame, self.turns.get(place, 0), under)


def _starts_over(callee: compat.Frame, run: Run, last: int, before: Run) -> bool:
    """Tell whether a function was called anew: it is at an earlier instruction, and no loop of its own led there."""
    code, offset = callee
    drawn_again = offset == last and run.kind == before.kind == RANDOM and run.start != before.start
    if offset > last or (offset == last and not drawn_again):
        return False
    return not any(target <= offset and last <= jump for target, jump in _loops(code))


@cache
def _loops(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Give the loops of a function as stretches of instructions."""
    jumps = [(one.argval, one.offset) for one in dis.get_instructions(code) if "BACKWARD" in one.opname]
    return tuple((target, jump) for target, jump in jumps if isinstance(target, int))


def place_of(call: Call) -> Span:
    """Give the place of the function that is called."""
    line = call.code.co_firstlineno
    return Span(shown(call.code.co_filename), line, 0, line, 0)
