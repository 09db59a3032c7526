"""Primitives that work on each element by itself, under the names of `jax.numpy` where it has them."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.primitives.base import Equation, Row, named, plain
from jaxaudit.ir import Argument

_NAMES = """
x:
    abs:abs acos:arccos acosh:arccosh asin:arcsin asinh:arcsinh atan:arctan atanh:arctanh bessel_i0e bessel_i1e cbrt
    ceil clz conj:conj cos cosh digamma erf erf_inv erfc exp exp2 expm1 floor imag is_finite:isfinite lgamma log log1p
    log2 logistic:sigmoid neg:negative not:logical_not one_minus_square population_count real reciprocal rsqrt sign sin
    sinh sqrt square tan tanh polynomial
x y:
    add add_any:add and:logical_and atan2:arctan2 complex div:divide eq:equal eq_to:equal ge:greater_equal gt:greater
    le:less_equal le_to:less_equal lt:less lt_to:less max:maximum min:minimum mul:multiply mulhi ne:not_equal nextafter
    or:logical_or pow:power rem:fmod shift_left:left_shift shift_right_arithmetic:right_shift
    shift_right_logical:right_shift sub:subtract xor:logical_xor
a b x:
    regularized_incomplete_beta:betainc
a x:
    igamma:gammainc igammac:gammaincc igamma_grad_a random_gamma_grad
m x:
    polygamma
x q:
    zeta
"""

_BITWISE = ("and", "or", "xor", "not")


def _and_or_not(equation: Equation) -> str:
    """Distinguish `&` on numbers from `&` on truth values: one primitive stands for both."""
    first = next((kind for kind in equation.in_types if kind is not None), None)
    numeric = first is not None and first.dtype != "bool"
    return ("bitwise_" if numeric else "logical_") + equation.name


def _integer_power(equation: Equation) -> dict[str, Argument]:
    return {"x": equation.inputs[0], "y": plain(equation.params["y"])}


def _round(equation: Equation) -> dict[str, Argument]:
    return {"x": equation.inputs[0]}


def _table() -> dict[str, Row]:
    rows: dict[str, Row] = {}
    arguments: tuple[str, ...] = ()
    for line in _NAMES.strip().splitlines():
        if not line.startswith(" "):
            arguments = tuple(line.rstrip(":").split())
            continue
        for entry in line.split():
            primitive, _, function = entry.partition(":")
            spell = _and_or_not if primitive in _BITWISE else None
            rows[primitive] = Row("array.map", function or primitive, named(*arguments), spell)
    return rows


ELEMENTWISE: dict[str, Row] = {
    **_table(),
    "integer_pow": Row("array.map", "power", _integer_power),
    "round": Row("array.map", "round", _round),
    "reduce_precision": Row("array.map", "reduce_precision", _round),
}
