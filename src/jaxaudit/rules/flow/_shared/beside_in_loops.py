"""What a loop starts with side by side: `obs, state = reset(key)`, and then `seen, state, reward = step(state)`.

Two parts of a loop's state come from one call, and each turn renews one of them with the result of a call in the same
place. The result in the place of the other one is its successor, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import taken_apart
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop, Part
from jaxaudit.ir.record import record


@record
class Beside:
    """A part of a loop's state that stands still, the result that would renew it, and the part beside it that moves."""

    param: Value
    unread: Value
    moving: Value
    call: Op


def unread_beside(loop: Loop, flow: Flow) -> Iterator[Beside]:
    """Return what a loop should hand on in the place of a part of its state, by what it does with the one beside it."""
    slots = [(one.param, one.start, after) for one, (_, after) in zip(loop.carried, loop.successors, strict=False)]
    for moving, first, after in slots:
        start, call = _part(flow, first), _part(flow, after) if after is not moving else None
        made = None if call is None else flow.maker(call.whole)
        if start is None or call is None or made is None or call.at != start.at or moving not in made.operands:
            continue
        for at, beside in taken_apart(flow, start.whole).items():
            newer = taken_apart(flow, call.whole).get(at)
            if at == start.at or newer is None or flow.is_read(newer):
                continue
            # A loop of Python reads what does not change from outside.
            still = [one for one, begin, following in slots if begin is beside and following is one] or [beside]
            yield from (Beside(one, newer, moving, made) for one in still if _is_used(one, loop, flow))


def _part(flow: Flow, value: Value) -> Part | None:
    found = origin(flow, value, {}, in_turn=True)
    return Part.of(found.op, found.value)


def _is_used(value: Value, loop: Loop, flow: Flow) -> bool:
    """Whether something in the turns of a loop reads a value."""
    homes = (flow.places.region_of[op] for op in flow.readers.get(value, ()) if op.name != "py.return")
    return any(flow.places.within(home, loop.body) for home in homes)
