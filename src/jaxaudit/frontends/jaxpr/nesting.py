"""Under which calls each run of equations stands, outermost first: the user's functions and the transformations.

The frames of an equation name the user's functions it was made in; its scopes name the transformations. A call of a
transformation stands at one of those frames, and the next frame is the function that it was given.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import NamedTuple

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.files import USER, layer_of, shown
from jaxaudit.frontends.jaxpr.frames import Place, span_at
from jaxaudit.frontends.jaxpr.records import Records
from jaxaudit.frontends.jaxpr.runs import RANDOM, Run
from jaxaudit.frontends.jaxpr.sites import Around, Key, Site
from jaxaudit.spans import Span


@dataclass(slots=True, eq=False)
class Call:
    """One call of a function of the user's; the equations that it made have the same object."""

    code: CodeType
    at: compat.Frame
    """The frame that makes the call."""
    span: Span
    """The place of the call."""
    under: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The function's name; a method that makes objects callable goes by its class."""
        name = (
            self.code.co_qualname.rpartition("<locals>.")[2] if self.code.co_name == "__call__" else self.code.co_name
        )
        return name.removesuffix(".__call__").replace("<lambda>", "lambda")


Step = Key | Call

_COMPREHENSIONS = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")
"""Frames that are no functions to the user."""


@dataclass(slots=True)
class _Spot:
    """An instruction that calls a function, forwards or backwards, and how far its latest call has come."""

    call: Call
    backward: bool
    last: int | None = None
    """The last instruction of the callee that was met."""
    run: Run | None = None
    """The run that stood there itself."""

    def reach(self, offset: int, run: Run | None) -> Call:
        """Go on to an instruction of the callee; a new call when it must have been left in between."""
        call = self.call
        if self.last is not None and _starts_over(
            (call.code, offset), run, self.last, self.run, backward=self.backward
        ):
            call = self.call = Call(call.code, call.at, call.span, call.under)
        self.last, self.run = offset, run
        return call


class _Reached(NamedTuple):
    """A call on the way to some equations: where it stands, and which instruction of the callee they are at."""

    spot: _Spot
    offset: int
    itself: bool
    """True for the innermost call: the equations are made by this very instruction."""


@dataclass(slots=True)
class Nesting:
    """Reads the calls around the runs of one jaxpr, in order."""

    function: compat.Function
    records: Records
    spots: dict[tuple[int, int, int, bool], _Spot] = field(default_factory=dict)
    """By the identities of the callee and the caller, and the caller's instruction; the calls keep both alive."""
    ways: dict[int, tuple[Site, tuple[Key | _Reached, ...]]] = field(default_factory=dict)
    """The way to each site, by its identity."""
    before: tuple[Step, ...] = ()

    def stack(self, run: Run, site: Site) -> tuple[Step, ...]:
        """Return the steps from the jaxpr's own function down to a run; if equal, the same object as before."""
        known = self.ways.get(id(site))
        if known is None:
            known = self.ways[id(site)] = (site, self._way(site))
        steps = tuple(
            [
                one if isinstance(one, Key) else one.spot.reach(one.offset, run if one.itself else None)
                for one in known[1]
            ]
        )
        if steps != self.before:
            self.before = steps
        return self.before

    def _way(self, site: Site) -> tuple[Key | _Reached, ...]:
        chain = self._chain(site)
        waiting = list(site.around.keys)
        steps: list[Key | _Reached] = []
        for place, callee in zip(chain, [*chain[1:], None], strict=True) if chain else ():
            passed = self._passed(place.span, waiting)
            steps += passed
            if callee is not None and not passed and not self._is_control(place.span, site.around):
                # What a library draws by itself may be many draws of one call.
                itself = callee is chain[-1] and not site.origin.library
                steps.append(_Reached(self._spot(place.frame, callee.frame[0], site.around), callee.frame[1], itself))
        return (*waiting, *steps)

    def _chain(self, site: Site) -> Sequence[Place]:
        """Return the user's frames, outermost first, from the function on that the jaxpr was traced from."""
        chain = [place for place in site.origin.users[::-1] if place.frame[0].co_name not in _COMPREHENSIONS]
        if not self._is_users:
            return chain if compat.CUTS_TRACEBACKS else ()
        for position, ((code, _), _) in enumerate(chain):
            if code.co_firstlineno == self.function.line and code.co_filename == self.function.path:
                return chain[position:] if position else chain
        return ()

    @property
    def _is_users(self) -> bool:
        return bool(self.function.path) and layer_of(self.function.path) == USER

    def _passed(self, span: Span, waiting: list[Key]) -> list[Key]:
        """Take those transformations that were called at a place."""
        passed: list[Key] = []
        while waiting and self.records.by_uid[waiting[0].uid].span == span:
            passed.append(waiting.pop(0))
        return passed

    def _is_control(self, span: Span, around: Around) -> bool:
        """A function that was given to `cond` or `scan` is called by them."""
        return around.control is not None and around.control.span == span

    def _spot(self, frame: compat.Frame, callee: CodeType, around: Around) -> _Spot:
        place = (id(callee), id(frame[0]), frame[1], around.turned)
        spot = self.spots.get(place)
        if spot is None:
            call = Call(callee, frame, span_at(*frame), ("transpose",) if around.backward else ())
            spot = self.spots[place] = _Spot(call, around.turned)
        return spot


def _starts_over(callee: compat.Frame, run: Run | None, last: int, before: Run | None, *, backward: bool) -> bool:
    """Whether a function was called anew: it is at an earlier instruction, and no loop of its own led there.

    A backward pass goes through the instructions from the last to the first.
    """
    code, offset = callee
    if backward:
        offset, last = last, offset
    drawn_again = run is not None and before is not None and run.kind == before.kind == RANDOM
    if offset > last or (offset == last and not drawn_again):
        return False
    return not any(target <= offset and last <= jump for target, jump in _loops(code))


@cache
def _loops(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Return the loops of a function as stretches of instructions."""
    jumps = [(one.argval, one.offset) for one in dis.get_instructions(code) if "BACKWARD" in one.opname]
    return tuple((target, jump) for target, jump in jumps if isinstance(target, int))


def place_of(call: Call) -> Span:
    """Return the place of the function that is called."""
    line = call.code.co_firstlineno
    return Span(shown(call.code.co_filename), line, 0, line, 0)
