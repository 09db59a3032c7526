"""Primitives that make, reduce, arrange and order arrays, with axes and sizes resolved."""

from __future__ import annotations

from math import prod

from jaxaudit.frontends.jaxpr.primitives.base import Build, Equation, Row, named, number, plain, sizes, taking
from jaxaudit.ir import Argument

Arguments = dict[str, Argument]


def _along(param: str, *further: str) -> Build:
    """Make the builder of something that works along the one axis in a parameter."""

    def build(equation: Equation) -> Arguments:
        rest = {name: plain(equation.params[name]) for name in further if name in equation.params}
        return {"a": equation.inputs[0], "axis": number(equation.params[param]), **rest}

    return build


def _several(param: str) -> Build:
    """Make the builder of something that takes any number of arrays."""
    return lambda equation: {"arrays": equation.inputs, "axis": sizes(equation.params[param])}


def _grows(equation: Equation) -> str:
    """Distinguish new axes of size one from copies of the elements."""
    return "expand_dims" if prod(equation.shape()) == prod(equation.out_shape) else "broadcast_to"


def _broadcast_to(equation: Equation) -> Arguments:
    rank, inner = len(equation.out_shape), len(equation.shape())
    kept = tuple(range(rank - inner, rank))
    return {"a": equation.inputs[0], "shape": equation.out_shape, "broadcast_dimensions": kept}


def _iota(equation: Equation) -> Arguments:
    dimension = number(equation.params["dimension"])
    return {"shape": equation.out_shape, "dimension": dimension, "dtype": str(equation.params["dtype"])}


def _filled(equation: Equation) -> Arguments:
    return {"shape": equation.out_shape}


def _convert(equation: Equation) -> Arguments:
    out = equation.out_type
    return {"a": equation.inputs[0], "dtype": out.dtype if out is not None else None}


def _pad(equation: Equation) -> Arguments:
    array, value = equation.inputs[:2]
    return {"array": array, "constant_values": value, "pad_width": plain(equation.params["padding_config"])}


def _select(equation: Equation) -> Arguments:
    which, *cases = equation.inputs
    if len(cases) == 2:
        return {"condition": which, "x": cases[1], "y": cases[0]}
    return {"condition": which, "cases": tuple(cases)}


def _top_k(equation: Equation) -> Arguments:
    axis = equation.params.get("axis", equation.params.get("reduction_dimension", -1))
    return {"a": equation.inputs[0], "k": plain(equation.params["k"]), "axis": number(axis)}


def _arg(equation: Equation) -> Arguments:
    return {"a": equation.inputs[0], "axis": number(equation.params["axes"][0])}


def _reductions() -> dict[str, Row]:
    names = {"and": "all", "or": "any", "xor": "bitwise_xor", "max": "max", "min": "min", "prod": "prod", "sum": "sum"}
    rows = {
        f"reduce_{name}": Row("array.reduce", function, taking("a", axis="axes")) for name, function in names.items()
    }
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        rows[name] = Row("array.scan", name, _along("axis", "reverse"))
    return rows


_BROADCAST = taking("a", shape="shape", broadcast_dimensions="broadcast_dimensions")

ARRAYS: dict[str, Row] = {
    **_reductions(),
    "argmax": Row("array.order", "argmax", _arg),
    "argmin": Row("array.order", "argmin", _arg),
    "approx_top_k": Row("array.order", "top_k", _top_k),
    "bitcast_convert_type": Row("array.convert", "view", _convert),
    "broadcast_in_dim": Row("array.expand", "broadcast_to", _BROADCAST, _grows),
    "broadcast_to": Row("array.expand", "broadcast_to", _broadcast_to),
    "clamp": Row("array.select", "clip", named("min", "x", "max")),
    "concatenate": Row("array.join", "concatenate", _several("dimension")),
    "convert_element_type": Row("array.convert", "astype", _convert),
    "copy": Row("array.convert", "copy", named("a")),
    "dim_as_value": Row("array.shape", "size", named()),
    "dimension_size": Row("array.shape", "size", named("a")),
    "empty": Row("array.create", "empty", _filled),
    "empty2": Row("array.create", "empty", _filled),
    "iota": Row("array.create", "arange", _iota),
    "iota_2x32_shape": Row("array.create", "arange", _filled),
    "pad": Row("array.move", "pad", _pad),
    "reduce": Row("array.reduce", "reduce", _several("dimensions")),
    "reshape": Row("array.reshape", "reshape", taking("a", shape="new_sizes")),
    "rev": Row("array.move", "flip", taking("a", axis="dimensions")),
    "select_n": Row("array.select", "where", _select),
    "sort": Row("array.order", "sort", _several("dimension")),
    "split": Row("array.split", "split", taking("ary", sizes="sizes", axis="axis")),
    "squeeze": Row("array.squeeze", "squeeze", taking("a", axis="dimensions")),
    "stack": Row("array.join", "stack", _several("axis")),
    "tile": Row("array.expand", "tile", taking("A", reps="reps")),
    "top_k": Row("array.order", "top_k", _top_k),
    "transpose": Row("array.permute", "transpose", taking("a", axes="permutation")),
    "zeros_like": Row("array.create", "zeros_like", named("a")),
}
