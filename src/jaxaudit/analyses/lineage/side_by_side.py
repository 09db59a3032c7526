"""Two computations walked side by side, op by op, as far as they do the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import Origin, origin
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Value

Pair = tuple[Origin, Origin]


def side_by_side(
    flow: Flow, first: Origin, second: Origin, goes_on: Callable[[Origin, Origin], bool], *, in_turn: bool = False
) -> Iterator[Pair]:
    """Walk two computations side by side, and return what each was given where `goes_on` says that they end.

    With `in_turn` the second one is not followed out of the turn of a loop.
    """
    origins: dict[tuple[Value, Value], Pair] = {(first.value, second.value): (first, second)}

    def step(pair: tuple[Value, Value]) -> Iterator[tuple[Value, Value]]:
        one, other = origins[pair]
        if one.op is None or other.op is None or not goes_on(one, other):
            return
        for before, beside in zip(one.op.operands, other.op.operands, strict=False):
            below = origin(flow, before, one.context), origin(flow, beside, other.context, in_turn=in_turn)
            found = below[0].value, below[1].value
            origins.setdefault(found, below)
            yield found

    return (origins[pair] for pair in walk(tuple(origins), step) if not goes_on(*origins[pair]))
