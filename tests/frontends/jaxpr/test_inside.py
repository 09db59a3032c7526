"""The data flow under `vmap`: shapes as the mapped function sees them, and what steps do beside making values."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp

from frontends.jaxpr.tracing import trace
from jaxaudit.analyses.facts import Facts
from jaxaudit.reports.axes import thread_axes
from jaxaudit.reports.boundaries import boundaries
from jaxaudit.reports.flow import data_flow
from jaxaudit.reports.inside import View, traced_view


def view_of(function, *args) -> View:
    program = trace(function, *args)
    return traced_view(program, thread_axes(program, None).ids, Facts(program))


def made(function, *args) -> dict[str, str]:
    """Return the type of every value that has a name."""
    return {value.name: value.type for step in data_flow(view_of(function, *args)).steps for value in step.makes}


def pair(x, xs, w):
    distance = xs - x
    near = jax.lax.stop_gradient(jnp.sum(distance**2, axis=-1))
    doubled = xs * 2.0

    def body(carry, row):
        carry = carry + row @ w
        return carry, carry.sum()

    last, sums = jax.lax.scan(body, jnp.zeros(3) + x.sum(), xs)
    return near.sum() + last.sum() + sums.sum() + doubled.sum()


def mapped(xs, w):
    result = jax.vmap(pair, in_axes=(0, None, None))(xs, xs, w)
    return result.mean()


XS, W = jnp.ones((7, 4)), jnp.ones((4, 3))


def test_values_under_vmap_have_the_shape_that_the_function_sees():
    found = made(mapped, XS, W)
    assert found["distance"] == "f32[7,4]"
    assert found["near"] == "f32[7]"
    assert found["doubled"] == "f32[7,4]"
    assert (found["carry"], found["last"], found["sums"]) == ("f32[3]", "f32[3]", "f32[7]")
    assert found["result"] == "f32[7]"


def test_nested_maps_take_one_axis_each():
    def main(a, b):
        inner = jax.vmap(lambda x, y: x * y, in_axes=(0, None))
        return jax.vmap(inner, in_axes=(None, 1), out_axes=1)(a, b)

    rows = boundaries(view_of(main, XS, XS.T))
    assert [[one.inside for one in row.entries] for row in rows] == [["f32[7,4]", "f32[4]"], ["f32[4]", "f32[4]"]]
    assert [(row.exits[0].inside, row.exits[0].outside) for row in rows] == [
        ("f32[7,4]", "f32[7,7,4]"),
        ("f32[4]", "f32[7,4]"),
    ]
    assert [row.exits[0].how for row in rows] == ["collected along axis 1", "collected along axis 0"]


def test_a_map_over_one_element_takes_its_axis_away():
    def main(xs):
        return jax.vmap(lambda x: x * 2)(xs)

    (row,) = boundaries(view_of(main, jnp.ones((1, 4))))
    assert (row.entries[0].inside, row.exits[0].inside) == ("f32[4]", "f32[4]")


def test_steps_tell_what_is_mapped_repeated_and_cut():
    steps = data_flow(view_of(lambda xs, w: jax.value_and_grad(mapped, argnums=1)(xs, w), XS, W)).steps
    notes = {step.what: step.note for step in steps if not step.backward}
    assert notes["pair"] == "maps axis 0 of x (7)"
    assert notes["body"] == "7 steps"
    assert next(step.note for step in steps if "stop_gradient" in step.what) == "stops the gradient"
    assert "gradient of w" in [value.name for step in steps for value in step.makes]
    assert next(step.note for step in steps if step.what == "body" and step.backward) == "7 steps, last to first"


def test_values_are_called_as_the_user_calls_them():
    def pair(x):
        top = jnp.where(x > 0, x, 0.0)
        return top, top * 2

    def main(x):
        first, second = pair(x)
        chosen = jnp.clip(first, 0, 1)
        return jax.grad(lambda y: (jax.nn.softmax(y) * second).sum())(chosen)

    steps = data_flow(view_of(main, jnp.ones(4))).steps
    call = next(step for step in steps if step.what == "pair")
    assert [value.name for value in call.makes] == ["first", "second"]
    names = [value.name for step in steps if not step.backward for value in step.makes]
    assert {"top", "chosen"} <= set(names)
    assert [value.name for step in steps if step.backward for value in step.makes if value.name] == []


def test_what_is_computed_and_dropped_keeps_its_name():
    def main(x):
        unused = x * 2 + 1  # noqa: F841
        return x

    found = next(step for step in data_flow(view_of(main, XS)).steps if step.what == "*, +")
    assert [(value.name, value.uses) for value in found.makes] == [("unused", 0)]


def test_a_step_is_called_what_the_user_called() -> None:
    def loss(x: jax.Array) -> jax.Array:
        y = (x - x.mean()) / x.std()
        return jnp.maximum(y, 0.5).sum()

    plain = [step.what for step in data_flow(view_of(loss, jnp.ones(4))).steps]
    assert {"mean, -, std, /", "maximum, sum"} <= set(plain)
    steps = data_flow(view_of(lambda x: jax.value_and_grad(loss)(x), jnp.ones(4))).steps
    forward = [step.what for step in steps if not step.backward]
    assert "maximum, sum" in forward, "what only the backward pass reads does not name a step"
