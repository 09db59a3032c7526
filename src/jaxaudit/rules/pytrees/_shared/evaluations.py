"""Runs of a model that belong to no training, and layers in them that behave as in training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import holders, reached, walk
from jaxaudit.analyses.uses import EFFECTS, Uses
from jaxaudit.ir import Op
from jaxaudit.libraries.flax_layers import MODES, SWITCHING
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.spans import Span

AVERAGING = frozenset(f"{name}.__call__" for name in playing("module.averages", "module.own_averages"))
"""Calls of layers that keep running averages."""


class Evaluation(NamedTuple):
    """A run of a model without a gradient, of which a layer behaves as in training."""

    run: Op
    layer: Op
    trained: Op
    """The gradient that the same layer is run for."""
    is_sure: bool
    """Whether it changes its averages in place, or other runs tell that it can behave otherwise."""


def in_training_mode(facts: Facts) -> Iterator[Evaluation]:
    """Return every run of a model that is trained elsewhere, whose layers take it for training."""
    flow = facts.flow
    modes = {op: mode for op in facts.program.calling(*AVERAGING) if (mode := is_training(op, flow)) is not None}
    runs = {op: list(walk((op,), lambda one: _around(flow, one))) for op, mode in modes.items() if mode}
    gradients = {op.span: grad for op, ways in runs.items() for one in ways if (grad := gradient_around(flow, one))}
    training = {one.span for ways in runs.values() for one in ways if gradient_around(flow, one) is not None}
    told: set[Span] = set()
    for op, ways in runs.items():
        apart = (one for one in ways if gradient_around(flow, one) is None and one.span not in training | {op.span})
        run = next(apart, None)
        if run is not None and run.span not in told and op.span in gradients and _is_used_apart(run, facts):
            told.add(run.span)
            own = plays(op.qualified.removesuffix(".__call__"), "module.own_averages")
            otherwise = any(one.span == op.span and not mode for one, mode in modes.items())
            yield Evaluation(run, op, gradients[op.span], own or otherwise)


def is_training(op: Op, flow: Flow, until: Op | None = None) -> bool | None:
    """Whether a layer behaves as in training; None where that is not known, and may be switched `until` some op."""
    made = flow.maker(op.operands[0]) if op.operands else None
    for name, training in MODES.items():
        given = op.arguments.get(name, None if made is None else made.arguments.get(name))
        if isinstance(given, bool):
            return given is training
        if given is not None:
            return None
    layer = op.qualified.removesuffix(".__call__")
    own = plays(layer, "module.own_averages") or plays(layer, "module.own_draws")
    order = flow.places.order
    calls = (one for tail in SWITCHING for one in flow.program.called(tail))
    switched = any(until is None or order[one] < order[until] for one in calls)
    return True if own and not switched else None


def _around(flow: Flow, op: Op) -> Iterator[Op]:
    """Return the ops that run the region of an op, up to the gradient that is taken of it."""
    return (one for one in holders(flow, flow.places.region_of[op]) if one.name != "grad")


def gradient_around(flow: Flow, op: Op) -> Op | None:
    """Return a gradient that is taken of what an op is part of."""
    around = walk((op,), lambda one: holders(flow, flow.places.region_of[one]))
    return next((one for one in around if one.name == "grad"), None)


def _is_used_apart(run: Op, facts: Facts) -> bool:
    """Whether what a run gives is used, and for no gradient."""
    flow, uses = facts.flow, facts.get(Uses)
    if not any(uses.becomes(one) & EFFECTS for one in run.results):
        return False
    regions = [region for one in facts.program.named("grad") for region in one.regions]
    homes = (flow.places.region_of_value(one) for one in reached(flow, run.results))
    return not any(flow.places.within(home, region) for home in homes for region in regions)
