"""Other words for one act become the same ops."""

from __future__ import annotations

import pytest

from .reading import ops, shapes

_START = """
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Step(NamedTuple):
    obs: jax.Array
    reward: jax.Array


def flat(x):
    return x.reshape((-1, *x.shape[2:]))

"""
_STEPS = "steps = Step(jnp.zeros((5, 7, 3)), jnp.zeros((5, 7)))\n"


@pytest.mark.parametrize(
    "tree",
    [
        "jax.tree.map(lambda x: x.reshape((-1, *x.shape[2:])), steps)",
        "jax.tree.map(flat, steps)",
        "jax.tree.map(functools.partial(flat), steps)",
        "jax.tree.map(lambda x: flat(x), {'a': steps, 'b': [jnp.ones((2, 2))]})['a']",
        "jax.tree.map(lambda a, b: flat(a + b), (steps,), (Step(steps.obs, 2 * steps.reward),))[0]",
    ],
)
def test_a_function_of_known_leaves_is_called_on_each(tree: str) -> None:
    code = f"{_START}{_STEPS}made = {tree}\nfirst, second = made.obs * 1.0, made.reward * 1.0\n"
    assert (shapes(code, "first"), shapes(code, "second")) == (["35 3"], ["35"])


@pytest.mark.parametrize(
    "function",
    ["lambda x: x + jax.random.normal(key, x.shape)", "lambda x: print(x)", "lambda x: other(x)", "lambda *xs: xs[0]"],
)
def test_what_does_more_than_calculate_stays_a_mapping(function: str) -> None:
    code = f"{_START}def f(key, other):\n    {_STEPS}    return jax.tree.map({function}, steps)\n"
    assert len(ops(code, "tree.map")) == 1


def test_what_may_be_a_tree_is_mapped_over_beside_what_is_an_array() -> None:
    tree = "jax.tree.map(flat, (steps, {'a': params, 'b': other}))"
    code = f"{_START}def f(params, other):\n    {_STEPS}    made = {tree}\n    result = made[0].obs * 1.0\n    return made, result\n"
    assert shapes(code) == ["35 3"]
    (op,) = ops(code, "tree.map")
    assert [one.name for one in next(iter(op.border.trees)).values()] == ["params", "other"]


@pytest.mark.parametrize("trees", ["params", "{'a': params}", "steps, params", "(steps, None), (steps, 1)"])
def test_trees_that_are_not_all_known_stay_whole(trees: str) -> None:
    code = f"{_START}def f(params):\n    {_STEPS}    return jax.tree.map(lambda x, *y: x * 2.0, {trees})\n"
    assert len(ops(code, "tree.map")) == 1


@pytest.mark.parametrize(
    "shape",
    [
        "x.reshape((-1, *x.shape[2:]))",
        "x.reshape(-1, *x.shape[2:])",
        "x.reshape([-1, *x.shape[2:]])",
        "x.reshape((-1,) + x.shape[2:])",
        "jnp.reshape(x, (-1, *x.shape[2:]))",
        "jnp.zeros((35, *x.shape[2:-1], 4))",
        "jnp.broadcast_to(x[0, 0], (*(35,), *x[0, 0].shape))",
    ],
)
def test_sizes_may_be_spread_among_others(shape: str) -> None:
    code = f"{_START}x = jnp.zeros((5, 7, 3, 4))\nresult = {shape} * 1.0\n"
    assert shapes(code) == ["35 3 4"]


def test_what_stands_behind_a_spread_item_is_evaluated() -> None:
    assert len(ops(f"{_START}def f(xs, x):\n    return [*xs, jnp.exp(x)]\n", "array.map")) == 1


@pytest.mark.parametrize("call", ["x / y", "jnp.divide(x, y)", "operator.truediv(x, y)", "jnp.divide(x1=x, x2=y)"])
def test_operands_have_one_name_each(call: str) -> None:
    (op,) = ops(f"import operator\n{_START}def f(x, y):\n    return {call}\n", "array.map")
    assert (op.function, [value.name for value in op.arguments.values()]) == ("divide", ["x", "y"])
    assert list(op.arguments) == ["x", "y"]


def test_select_is_a_chain_of_where() -> None:
    code = f"{_START}def f(c, d, x, y):\n    return jnp.select([c, d], (x, y), 2.0)\n"
    inner, outer = ops(code, "array.select")
    assert (inner.qualified, inner.arguments["y"]) == ("jax.numpy.where", 2.0)
    assert outer.arguments["y"] is inner.result


def test_rules_of_derivatives_may_be_methods() -> None:
    code = """
class Rules:
    def __init__(self, scale):
        self.scale = scale

    def forward(self, x):
        return x * x, (x,)

    def backward(self, saved, g):
        (x,) = saved
        return (self.scale * x * g,)


@jax.custom_vjp
def square(x):
    return x * x


square.defvjp(Rules(2.0).forward, functools.partial(Rules(2.0).backward))
y = square(jnp.ones(3))
"""
    (beside,) = [op for op in ops(_START + code, "py.call") if op.attrs.get("role") == "derivative"]
    assert (beside.attrs["rule"], beside.attrs["taken"]) == ("backward", ("x",))


@pytest.mark.parametrize(
    ("axis", "meant"), [("x.ndim - 1", -1), ("-x.ndim", 0), ("jnp.ndim(x) - 2", -2), ("x.ndim - CORE", -2)]
)
def test_an_axis_is_counted_from_the_end_by_hand(axis: str, meant: int) -> None:
    (total,) = ops(f"{_START}CORE = 2\ndef f(x):\n    return jnp.sum(x, axis={axis})\n", "array.reduce")
    assert total.argument("axis") == meant


def test_an_axis_is_counted_along_another_array() -> None:
    (total,) = ops(f"{_START}def f(x, y):\n    return jnp.sum(x, axis=y.ndim - 1)\n", "array.reduce")
    assert not isinstance(total.argument("axis"), int)
