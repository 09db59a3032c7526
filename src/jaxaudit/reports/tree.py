"""The lines that show what stands in what: `├─`, `└─` and `│`, or ASCII where the terminal has nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxaudit.reports.model import Transformation
from jaxaudit.reports.snippet import Look


class Branch(NamedTuple):
    """A row with the guides before it, and those before what is said below it."""

    row: Transformation
    guide: str
    below: str


def branches(rows: Sequence[Transformation], look: Look) -> Iterator[Branch]:
    """Return the rows of a stack with their guides; rows come in order, each below the one it is nested in."""
    fork, corner, bar = ("├─ ", "└─ ", "│  ") if look.unicode else ("|- ", "`- ", "|  ")
    last = _last_rows(rows)
    open_bars: list[bool] = []
    for place, row in enumerate(rows):
        del open_bars[row.depth :]
        ends = place in last
        before = "".join(bar if open_ else "   " for open_ in open_bars[1:])
        own = "" if row.depth == 0 else corner if ends else fork
        follows = "" if row.depth == 0 else "   " if ends else bar
        yield Branch(row, before + own, before + follows)
        while len(open_bars) < row.depth:
            open_bars.append(False)
        open_bars.append(not ends)


def _last_rows(rows: Sequence[Transformation]) -> set[int]:
    """Find the rows after which nothing of the same depth comes before their parent ends, in one pass from the back."""
    last: set[int] = set()
    waiting: set[int] = set()
    for place in range(len(rows) - 1, -1, -1):
        depth = rows[place].depth
        if depth not in waiting:
            last.add(place)
        waiting = {one for one in waiting if one <= depth} | {depth}
    return last
