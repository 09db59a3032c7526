"""Whether two sets of values are surely two."""

from __future__ import annotations

from collections.abc import Sequence

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import part_of
from jaxaudit.ir import Value


def are_others(flow: Flow, taken: Sequence[Value], meant: Sequence[Value]) -> bool:
    """Whether two sets of values are given side by side: as parameters of one function or loop, or parts of one object.

    What is computed from the other may be where a method takes the gradient on purpose.
    """
    if len(taken) != len(meant):
        return False
    places = {_place(flow, one) for one in (*taken, *meant)}
    parts = {part_of(flow, one, {}, in_turn=True) for one in taken}
    apart = parts.isdisjoint(part_of(flow, one, {}, in_turn=True) for one in meant)
    return apart and len(places) == 1 and None not in places


def _place(flow: Flow, value: Value) -> object:
    """Return what gives a value: a function by its parameters, an object by its attributes."""
    whole, *names = part_of(flow, value, {}, in_turn=True)
    region = flow.places.owner.get(whole) if isinstance(whole, Value) else None
    # Calls that share a body may well hand it one value twice.
    return None if region is None or region.shared else (whole if names else id(region))
