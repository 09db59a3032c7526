"""What rules read of the axes of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxaudit.analyses.axes.conflicts import Cause, Conflict, Judge, met
from jaxaudit.analyses.axes.meetings import MEETING, Meeting, written
from jaxaudit.analyses.axes.threads import Thread, threads_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op


@dataclass(frozen=True, slots=True)
class Axes:
    """The meetings of named axes, those of them that are mistakes, and the way of each axis."""

    agreed: Mapping[Op, Meeting]
    """Ops where all axes that meet are one thing, with one of the meetings."""
    conflicts: Sequence[Conflict]
    threads: Sequence[Thread]
    places: Places

    def caused(self, *causes: Cause) -> list[Conflict]:
        """Return the conflicts that came about in one of these ways."""
        return [conflict for conflict in self.conflicts if conflict.cause in causes]


def axes_of(facts: Facts) -> Axes:
    """Judge every meeting of axes, in one walk over the program."""
    program, places, shapes = facts.program, facts.places, facts.get(Shapes)
    if shapes.look is not None:
        # Exact types without names: no axis has a name that could meet another.
        return Axes({}, (), (), places)
    judge = Judge(places, shapes)
    agreed: dict[Op, Meeting] = {}
    conflicts: list[Conflict] = []
    for op in program.named(*MEETING):
        meetings = (written(places, meeting) for meeting in met(op, shapes))
        found = [(meeting, judge.judge(meeting)) for meeting in meetings]
        conflicts.extend(conflict for _, conflict in found if conflict is not None)
        if found and all(conflict is None for _, conflict in found):
            agreed[op] = found[0][0]
    return Axes(agreed, conflicts, threads_of(program, shapes), places)
