"""Arrays that were flattened in different orders and then meet row by row.

`(steps, envs)` flattened has the environments next to each other, `(envs, steps)` the steps. Both have as many rows,
and row 7 of the one is not row 7 of the other. A label on the flat axis keeps what it was made of, also through a
shuffle.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from jaxaudit.analyses.axes.meetings import MEETING, Meeting, meetings
from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.labels import Label, in_lines
from jaxaudit.analyses.regroup import is_one
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.ir.record import record

_FLAT = ("product", "picked")


@record
class Mixed:
    """Two flat axes that meet and were made in different orders."""

    meeting: Meeting
    left: Label
    right: Label

    @property
    def flattened(self) -> tuple[Op | None, Op | None]:
        """The reshapes that made the two axes."""
        return self.left.op, self.right.op


def mixed_orders(program: Program, shapes: Shapes) -> Iterator[tuple[Meeting, Mixed | None]]:
    """Return every meeting of two flat axes of the same factors; with the mistake where their orders differ."""
    # Exact types alone say nothing of the order in which an axis was made.
    for op in program.named(*MEETING) if shapes.look is None else ():
        for context in shapes.contexts(op):
            for meeting in meetings(op, context) if _may_mix(op, context) else ():
                pairs = product(_flat(meeting.left.dim), _flat(meeting.right.dim))
                orders = [(order, pair) for pair in pairs if (order := _order(*(one.factors for one in pair)))]
                crossed = [Mixed(meeting, *pair) for order, pair in orders if order != sorted(order)]
                if orders:
                    yield meeting, crossed[0] if len(crossed) == len(orders) else None


def _may_mix(op: Op, context: Context) -> bool:
    """Whether two operands have flat axes at all."""
    dims = (context.of(value).dims for value in op.operands)
    return sum(any(dim.labels and _flat(dim) for dim in known or ()) for known in dims) > 1


def _flat(dim: Dim) -> list[Label]:
    """Return how a flat axis was made; it has several such labels once rows have met that were flattened alike."""
    return [label for label in in_lines(dim.labels) if label.kind in _FLAT]


def _order(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> list[int] | None:
    """Return where each factor of the one stands in the other; None where that is not clear."""
    if len(left) != len(right):
        return None
    places = [[at for at, other in enumerate(right) if is_one(dim, other)] for dim in left]
    order = [found[0] for found in places if len(found) == 1]
    return order if len(order) == len(left) and len(set(order)) == len(left) else None
