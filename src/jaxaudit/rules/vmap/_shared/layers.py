"""Layers and what becomes of their outputs."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import last, readers
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.values import texts_in
from jaxaudit.libraries.meanings import BATCHWISE
from jaxaudit.libraries.packages import FOR_ONE_EXAMPLE, package

_AXIS_OPTIONS = ("axis_name", "cross_replica_axis")


def is_layer(op: Op) -> bool:
    """Whether an op calls a layer of a library."""
    return op.qualified.endswith(".__call__")


def has_outputs_last(layer: Op, shapes: Shapes) -> bool:
    """Whether the last axis of what a layer gives surely is that of its outputs: channels may stand in front."""
    return package(layer.qualified) not in FOR_ONE_EXAMPLE or shapes.of(layer.result).rank == 1


def layer_behind(value: Value, reader: Op, flow: Flow) -> Op | None:
    """Return the layer or product that made a value, as it is or behind activations, where only one op reads it."""

    def made_for(link: tuple[Value, Op]) -> Op | None:
        read, by = link
        # A layer that is mapped over the steps gives its outputs behind them.
        found = origin(flow, read, {}, in_element=True)
        if found.stacked:
            # What a loop carries on is read in its next turn.
            return None
        others = {one for here in (read, found.value) for one in flow.readers.get(here, ())} - {by}
        return found.op if all(one.name == "py.return" for one in others) else None

    def before(link: tuple[Value, Op]) -> tuple[Value, Op] | None:
        made = made_for(link)
        activates = made is not None and made.name == "array.map" and len(made.operands) == 1
        return (made.operands[0], made) if made is not None and activates else None

    made = made_for(last((value, reader), before))
    return made if made is not None and (made.name == "array.dot" or is_layer(made)) else None


def layer_ahead(value: Value, flow: Flow) -> Op | None:
    """Return the layer that alone reads a value, as it is or behind activations."""

    def following(one: Value) -> Value | None:
        reading = [op for op in readers(flow, one) if op.name != "py.return" and not op.regions]
        activates = len(reading) == 1 and reading[0].name == "array.map" and len(reading[0].operands) == 1
        return reading[0].result if activates else None

    reading = [op for op in readers(flow, last(value, following)) if op.name != "py.return" and not op.regions]
    return reading[0] if len(reading) == 1 and is_layer(reading[0]) else None


def takes_statistics(layer: Op, flow: Flow) -> bool:
    """Whether a layer surely takes the statistics of a batch here, and of what it is given alone.

    An option that names an axis lets it see the other elements of a map.
    """
    given = _batchwise(layer, flow)
    return not any(given.get(name) is not None for name in _AXIS_OPTIONS) and given.get("use_running_average") is False


def axes_of_statistics(layer: Op, flow: Flow) -> tuple[str, ...]:
    """Return the names of the axes over which a layer surely averages its statistics here."""
    given = _batchwise(layer, flow)
    learns = given.get("use_running_average") is False or given.get("is_training") is True
    # A layer that is told nothing when it is called, and is made for one example, learns until it is told otherwise.
    plain = package(layer.qualified) in FOR_ONE_EXAMPLE and given.get("inference", False) is False
    return tuple(name for option in _AXIS_OPTIONS for name in texts_in(given.get(option)) if learns or plain)


def _batchwise(layer: Op, flow: Flow) -> Mapping[str, Argument]:
    """Return the options of a layer that takes the statistics of a batch, and of its call; none of any other op."""
    owner = layer.arguments.get("self")
    made = flow.maker(owner) if is_layer(layer) and isinstance(owner, Value) else None
    return {} if made is None or made.function not in BATCHWISE else {**made.arguments, **layer.arguments}
