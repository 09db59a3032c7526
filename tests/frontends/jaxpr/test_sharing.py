"""Calls that do the same share one region, and calls that do not stay apart."""

from __future__ import annotations

from itertools import pairwise

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp
from jax import lax

from frontends.jaxpr.tracing import ops, trace, violations
from jaxaudit.analyses.threads import weave
from jaxaudit.ir import Program

X = jnp.ones((4, 3))
W = jnp.ones((3, 3))


def layer(x, w, scale=1.0):
    y = jnp.tanh(x @ w)
    return y * scale + x


def bodies(program: Program, function: str) -> list[int]:
    """Number the regions of the calls of a function, in order."""
    found = [id(op.regions[0]) for op in ops(program, "py.call") if op.qualified == function]
    return [sorted(set(found), key=found.index).index(one) for one in found]


def test_layers_that_do_the_same_share_one_region():
    def main(x, ws):
        for w in ws:
            x = layer(x, w)
        return x

    program = trace(main, X, [W] * 5)
    assert bodies(program, "layer") == [0] * 5
    assert len(ops(program, "array.dot")) == 1
    calls = ops(program, "py.call")
    assert all(op.regions[0].shared for op in calls)
    for before, after in pairwise(calls):
        assert before.result in after.operands
    assert [op.operands[1].name for op in calls] == [f"ws[{i}]" for i in range(5)]


def test_backward_passes_of_layers_are_shared_too():
    def loss(ws, x):
        for w in ws:
            x = layer(x, w)
        return x.sum()

    def main(ws, x):
        return jax.grad(loss)(ws, x)

    calls = [op for op in ops(trace(main, [W] * 4, X), "py.call") if op.qualified == "layer"]
    for backward in (False, True):
        found = [id(op.regions[0]) for op in calls if bool(op.attrs.get("backward")) is backward]
        # The first and the last layer may differ from those between them in what they hand on.
        assert len(found) >= 4
        assert len(set(found)) < len(found)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        pytest.param(lambda x, w: [(x, w, 2.0), (x, w, 3.0)], [0, 1], id="other constants"),
        pytest.param(lambda x, w: [(x, w), (x[:2], w)], [0, 1], id="other shapes"),
        pytest.param(lambda x, w: [(x, w), (x.astype(jnp.bfloat16), w)], [0, 1], id="other dtypes"),
        pytest.param(lambda x, w: [(x, w), (x + 1, w)], [0, 0], id="other values"),
        pytest.param(lambda x, w: [(x, w), (x, w, 1.0, True)], [0, 1], id="other equations"),
    ],
)
def test_only_what_differs_in_nothing_but_values_is_shared(calls, expected):
    def body(x, w, scale=1.0, flag=False):
        y = (x @ w) * scale
        return y - 1 if flag else y

    def main(x, w):
        return [body(*args) for args in calls(x, w)]

    assert bodies(trace(main, X, W), "body") == expected


def test_the_order_of_operands_counts():
    def difference(x, y):
        return jnp.sin(x) - y

    def main(x, y):
        out = []
        for a, b in ((x, y), (y, x), (x, x)):
            out.append(difference(a, b))
        return out

    program = trace(main, X, X + 1)
    first, second, third = (op for op in ops(program, "py.call") if op.qualified == "difference")
    assert first.regions == second.regions
    assert first.operands == second.operands[::-1]
    assert third.regions != first.regions


def test_what_is_left_behind_counts():
    def both(x):
        return jnp.sin(x), jnp.cos(x)

    def main(x):
        total = x
        for i in range(3):
            first, second = both(total)
            total = first if i else first + second
        return total

    assert bodies(trace(main, X), "both") == [0, 1, 1]


def test_calls_that_draw_stay_apart():
    def noisy(x, key):
        return jnp.tanh(x) + jax.random.normal(key, x.shape)

    def main(x, key):
        for _ in range(3):
            x = noisy(x, key)
        return x

    program = trace(main, X, jax.random.key(0))
    assert bodies(program, "noisy") == [0, 1, 2]
    assert {rule for _, rule in violations(program)} & {"key-reused", "same-key-in-loop"}


def test_inner_jaxprs_are_compared_by_what_they_do():
    def cell(x, w):
        first = jnp.sin(x)
        return lax.scan(lambda c, _: (jnp.tanh(c @ w), None), first, None, length=4)[0]

    def main(x, ws):
        for w in ws:
            x = cell(x, w)
        return x

    program = trace(main, X, [W] * 3)
    assert bodies(program, "cell") == [0] * 3
    assert len(ops(program, "scan")) == 1


def test_axes_of_different_calls_stay_apart():
    def update(p):
        return jnp.tanh(p) * 0.5

    def both(a, b):
        return [update(one) for one in (a, b)]

    program = trace(both, jnp.ones((6, 6)), jnp.ones((6, 6)))
    assert bodies(program, "update") == [0, 0]
    woven = weave(program)
    region = program.roots[0].region
    first, second = (woven.of(value) for value in region.params)
    assert len({*first, *second}) == 4
    assert [woven.of(value) for value in region.results] == [first, second]
