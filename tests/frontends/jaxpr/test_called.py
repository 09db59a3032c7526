"""Steps of the flow are called as the user wrote them, not as JAX calls what it does inside."""

from __future__ import annotations

import operator

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp

from frontends.jaxpr.tracing import trace
from jaxaudit.analyses.facts import Facts
from jaxaudit.reports.axes import thread_axes
from jaxaudit.reports.flow import data_flow
from jaxaudit.reports.inside import traced_view

WHOLE, REAL = jnp.arange(1, 5), jnp.ones(4)
SIGNS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    ">=": operator.ge,
    "!=": operator.ne,
}
BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift}


def steps(function, *args) -> set[str]:
    program = trace(function, *args)
    view = traced_view(program, thread_axes(program, None).ids, Facts(program))
    return {step.what for step in data_flow(view).steps} - {"arguments", "results", "calls"}


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("values", [WHOLE, REAL], ids=["whole", "real"])
def test_operators_are_called_by_their_sign(sign, values):
    assert steps(lambda x: SIGNS[sign](x, x[::-1]), values) == {"[...], " + sign}


@pytest.mark.parametrize("sign", BITS)
def test_operators_on_bits_are_called_by_their_sign(sign):
    assert steps(lambda x: BITS[sign](x, 3), WHOLE) == {sign}
    assert steps(lambda x: BITS[sign](3, x), WHOLE) == {sign}


def test_signs_are_told_from_functions_of_the_same_effect():
    assert steps(lambda x: -x, REAL) == {"-"}
    assert steps(lambda x: ~x, WHOLE) == {"~"}
    assert steps(lambda x: ~(x > 1), REAL) == {">, ~"}
    assert steps(lambda x: jnp.negative(x), REAL) == {"negative"}
    assert steps(lambda x: -jnp.sin(x), REAL) == {"sin, -"}


@pytest.mark.parametrize(
    "name", ["floor_divide", "remainder", "std", "median", "nanmean", "clip", "argsort", "logaddexp", "sinc"]
)
def test_functions_are_called_by_their_own_name(name):
    function = getattr(jnp, name)
    given = {"floor_divide": (3,), "remainder": (3,), "clip": (0, 1), "logaddexp": (1.0,)}.get(name, ())
    assert steps(lambda x: function(x, *given), REAL) == {name}
