"""Products, convolutions, windows, and linear algebra."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.primitives.base import Equation, Row, named, number, numbers, plain, taking
from jaxaudit.ir import Argument

Arguments = dict[str, Argument]


def _dot(equation: Equation) -> Arguments:
    (left, right), (left_batch, right_batch) = equation.params["dimension_numbers"]
    pairs = ((numbers(left), numbers(right)), (numbers(left_batch), numbers(right_batch)))
    return {"x": equation.inputs[0], "y": equation.inputs[1], "dimension_numbers": pairs}


def _ragged_dot(equation: Equation) -> Arguments:
    x, y, sizes = equation.inputs[:3]
    return {"x": x, "y": y, "group_sizes": sizes, "dimension_numbers": str(equation.params.get("dimension_numbers"))}


def _convolution(equation: Equation) -> Arguments:
    numbering = equation.params["dimension_numbers"]
    specs = {name: numbers(getattr(numbering, name)) for name in ("lhs_spec", "rhs_spec", "out_spec")}
    return {
        "lhs": equation.inputs[0],
        "rhs": equation.inputs[1],
        "window_strides": numbers(equation.params["window_strides"]),
        "padding": plain(equation.params["padding"]),
        "dimension_numbers": specs,
        "feature_group_count": number(equation.params["feature_group_count"]),
        "batch_group_count": number(equation.params["batch_group_count"]),
    }


def _window(equation: Equation) -> Arguments:
    return {
        "a": equation.inputs[0],
        "window_dimensions": numbers(equation.params["window_dimensions"]),
        "window_strides": numbers(equation.params["window_strides"]),
        "padding": plain(equation.params["padding"]),
    }


def _window_several(equation: Equation) -> Arguments:
    keys = ("window_dimensions", "window_strides", "padding")
    return {"arrays": equation.inputs, **{key: plain(equation.params[key]) for key in keys if key in equation.params}}


_ALGEBRA = """
    cholesky cholesky_update eig eigh eigh_jacobi geqp3 geqrf hessenberg householder_product lu lu_pivots_to_permutation
    ormqr qr schur svd symmetric_product triangular_solve tridiagonal tridiagonal_solve
"""

LINEAR: dict[str, Row] = {
    **{name: Row("array.linalg", name, named("a", "b")) for name in _ALGEBRA.split()},
    "conv_general_dilated": Row("array.convolve", "conv_general_dilated", _convolution),
    "custom_linear_solve": Row("array.linalg", "custom_linear_solve", named()),
    "dot_general": Row("array.dot", "dot_general", _dot),
    "fft": Row("array.linalg", "fft", taking("a", s="fft_lengths")),
    "ragged_dot_general": Row("array.dot", "ragged_dot", _ragged_dot),
    "reduce_window": Row("array.convolve", "reduce_window", _window_several),
    "reduce_window_max": Row("array.convolve", "max_pool", _window),
    "reduce_window_min": Row("array.convolve", "min_pool", _window),
    "reduce_window_sum": Row("array.convolve", "sum_pool", _window),
    "select_and_gather_add": Row("array.convolve", "select_and_gather_add", _window_several),
    "select_and_scatter": Row("array.convolve", "select_and_scatter", _window_several),
    "select_and_scatter_add": Row("array.convolve", "select_and_scatter_add", _window_several),
    "scaled_dot": Row("array.dot", "scaled_dot", named("x", "y")),
}
