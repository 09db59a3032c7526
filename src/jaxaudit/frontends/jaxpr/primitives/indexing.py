"""Primitives that read or write by index. A slice with constant bounds is written as Python would: `a[1:3, 0]`."""

from __future__ import annotations

from collections.abc import Sequence

from jaxaudit.frontends.jaxpr.primitives.base import Equation, Row, numbers, plain
from jaxaudit.ir import Argument

Arguments = dict[str, Argument]

WHOLE: Argument = {"start": None, "stop": None, "step": None}
"""The index `:`."""


def python_index(parts: Sequence[Argument]) -> Argument:
    """Write an index for each axis the short way: without trailing `:`, and alone when there is one."""
    kept = list(parts)
    while kept and kept[-1] == WHOLE:
        kept.pop()
    if not kept:
        return WHOLE
    return kept[0] if len(kept) == 1 else tuple(kept)


def static_index(equation: Equation, dropped: Sequence[int] = ()) -> Argument:
    """Return the index of a slice with constant bounds.

    Axes that are squeezed away afterwards are indexed by number.
    """
    params, shape = equation.params, equation.shape()
    starts, stops = numbers(params["start_indices"]), numbers(params["limit_indices"])
    steps = numbers(params["strides"]) if params["strides"] is not None else (1,) * len(shape)
    parts: list[Argument] = []
    for axis, (start, stop, step, size) in enumerate(zip(starts, stops, steps, shape, strict=True)):
        if axis in dropped:
            parts.append(start)
        elif (start, stop, step) == (0, size, 1):
            parts.append(WHOLE)
        else:
            parts.append({"start": start, "stop": stop, "step": step})
    return python_index(parts)


def _dynamic_slice(equation: Equation) -> Arguments:
    sizes = numbers(equation.params["slice_sizes"])
    return {"a": equation.inputs[0], "start_indices": equation.inputs[1:], "slice_sizes": sizes}


def _dimension_numbers(equation: Equation) -> Argument:
    fields = getattr(equation.params["dimension_numbers"], "_asdict", None)
    found = equation.params["dimension_numbers"]
    if fields is not None:
        return plain(fields())
    return {name: plain(getattr(found, name)) for name in getattr(found, "__dataclass_fields__", ())}


def _gather(equation: Equation) -> Arguments:
    sizes = numbers(equation.params["slice_sizes"])
    return {
        "a": equation.inputs[0],
        "indices": equation.inputs[1],
        "slice_sizes": sizes,
        "dimension_numbers": _dimension_numbers(equation),
    }


def _scatter(equation: Equation) -> Arguments:
    base, index, value = equation.inputs[:3]
    return {"base": base, "index": index, "value": value, "dimension_numbers": _dimension_numbers(equation)}


def _dynamic_update(equation: Equation) -> Arguments:
    base, value, *index = equation.inputs
    return {"base": base, "index": tuple(index), "value": value}


INDEXING: dict[str, Row] = {
    "slice": Row("py.item", "", lambda equation: {"base": equation.inputs[0], "index": static_index(equation)}),
    "dynamic_slice": Row("array.gather", "dynamic_slice", _dynamic_slice),
    "dynamic_update_slice": Row("array.scatter", "dynamic_update_slice", _dynamic_update),
    "gather": Row("array.gather", "take", _gather),
    "scatter": Row("array.scatter", "set", _scatter),
    "scatter-add": Row("array.scatter", "add", _scatter),
    "scatter-max": Row("array.scatter", "max", _scatter),
    "scatter-min": Row("array.scatter", "min", _scatter),
    "scatter-mul": Row("array.scatter", "multiply", _scatter),
    "scatter-sub": Row("array.scatter", "subtract", _scatter),
}
