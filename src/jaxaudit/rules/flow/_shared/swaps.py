"""Steps of an optimizer whose arguments stand in each other's place, by what they were computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.builder import values_in

_PLACES = ("updates", "state", "params")


def exchanged(op: Op, flow: Flow) -> tuple[str, str] | None:
    """Return what stands where another argument belongs in `tx.update(gradients, state, params)`, and where it stands.

    The parameters are what the gradients that are given here were taken of.
    """
    given = {place: frozenset(values_in(op.arguments.get(place))) for place in _PLACES}
    for place in _PLACES:
        grad = derivative(flow, op.arguments.get(place))
        taken = frozenset() if grad is None else _origins(flow, [grad.operands[at] for at in grad.differentiated or ()])
        if not taken:
            continue
        if place == "params" and _within(flow, given["updates"], taken):
            return "the parameters", "the gradients"
        # Where the parameters are in their place as well, both only come from one object that was not taken apart.
        if place == "updates" and _within(flow, given["state"], taken) and not _within(flow, given["params"], taken):
            return "the parameters", "the state"
        if place == "state":
            return "the gradients", "the state"
    return None


def derivative(flow: Flow, argument: Argument) -> Op | None:
    """Return the derivative that all of an argument comes from."""
    makers = {origin(flow, value, {}).op for value in values_in(argument)}
    made = makers.pop() if len(makers) == 1 else None
    if made is None or made.name != "grad":
        return None
    own = frozenset(made.results[: len(made.regions[0].results)])
    return None if own & _origins(flow, values_in(argument)) else made


def _origins(flow: Flow, values: Iterable[Value]) -> frozenset[Value]:
    return frozenset(origin(flow, value, {}).value for value in values)


def _within(flow: Flow, values: Collection[Value], taken: frozenset[Value]) -> bool:
    found = _origins(flow, values)
    return bool(found) and found <= taken
