"""Axis threads of traced programs: which axes are one, and the stations of their way."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxaudit.analyses.threads import Thread, weave
from jaxaudit.analyses.threads.table import TABLE
from jaxaudit.ir.ops import VOCABULARY
from tests.frontends.jaxpr.tracing import trace


def threads(function: Any, *args: Any) -> list[tuple[int, list[str]]]:
    """Return size and stations of each thread, with equal neighbours told once."""
    return [(thread.size, _kinds(thread)) for thread in weave(trace(function, *args)).threads]


def _kinds(thread: Thread) -> list[str]:
    kinds = [station.kind for station in thread.stations]
    return [kind for i, kind in enumerate(kinds) if not i or kinds[i - 1] != kind]


def ones(*shape: int) -> jax.Array:
    """Make an array for a test."""
    return jnp.ones(shape)


def test_a_layer_keeps_the_batch_and_contracts_the_features() -> None:
    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w).sum(axis=1)

    assert threads(layer, ones(8, 5), ones(5, 3)) == [
        (8, ["enters", "returned"]),
        (5, ["enters", "projected"]),
        (3, ["enters", "reduced"]),
    ]


def test_axes_of_equal_size_stay_apart() -> None:
    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        return x @ w

    found = threads(layer, ones(4, 4), ones(4, 4))
    assert [kinds for _, kinds in found] == [["enters", "returned"], ["enters", "projected"], ["enters", "returned"]]


def test_vmap_takes_an_axis_and_puts_it_back() -> None:
    def norms(x: jax.Array, scale: jax.Array) -> jax.Array:
        return jax.vmap(lambda row, s: row.sum() * s.sum(), in_axes=(1, None))(x, scale)

    assert threads(norms, ones(6, 7), ones(3)) == [
        (6, ["enters", "reduced"]),
        (7, ["enters", "vmapped", "collected", "returned"]),
        (3, ["enters", "reduced"]),
    ]


def test_scan_takes_the_first_axis_and_stacks_along_it() -> None:
    def running(xs: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda total, x: (total + x, total.sum()), jnp.zeros(5), xs)[1]

    assert threads(running, ones(9, 5)) == [
        (9, ["enters", "scanned", "stacked", "returned"]),
        (5, ["enters", "made", "reduced"]),
    ]


def test_axes_that_are_merged_come_back_when_they_are_split_alike() -> None:
    def through(x: jax.Array) -> jax.Array:
        flat = x.reshape(6, 5)
        return jnp.sin(flat).reshape(2, 3, 5)

    time, batch, features, product = weave(trace(through, ones(2, 3, 5))).threads
    assert (_kinds(time), _kinds(features)) == (["enters", "merged", "made", "returned"], ["enters", "returned"])
    assert product.factors == (time, batch)


def test_a_split_into_other_sizes_makes_new_axes() -> None:
    def through(x: jax.Array) -> jax.Array:
        return x.reshape(12).reshape(4, 3)

    assert [size for size, _ in threads(through, ones(2, 6))] == [2, 6, 12, 4, 3]


def test_flattening_two_arrays_alike_gives_one_axis() -> None:
    def through(x: jax.Array, y: jax.Array) -> jax.Array:
        flat, same = x.reshape(6), (x + y).reshape(6)
        return jnp.stack([flat, same])

    assert [size for size, _ in threads(through, ones(2, 3), ones(2, 3))] == [2, 3, 6, 2]


def test_attention_has_one_axis_for_queries_and_keys_of_one_sequence() -> None:
    def attention(x: jax.Array, w: jax.Array) -> jax.Array:
        q = x @ w
        weights = jax.nn.softmax(jnp.einsum("btd,bsd->bts", q, x), axis=-1)
        return jnp.einsum("bts,bsd->btd", weights, x)

    found = threads(attention, ones(2, 7, 5), ones(5, 5))
    assert [size for size, _ in found] == [2, 7, 5]
    assert {"projected", "reduced", "returned"} <= set(found[1][1])


def test_most_of_an_axis_is_still_that_axis_and_half_of_it_is_not() -> None:
    def parts(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return x[1:], x[:4]

    assert threads(parts, ones(8)) == [(8, ["enters", "sliced", "returned"]), (4, ["returned"])]


def test_every_call_of_a_shared_body_passes_its_stations() -> None:
    @jax.jit
    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w) @ w.T

    def model(x: jax.Array, first: jax.Array, second: jax.Array) -> jax.Array:
        return layer(layer(x, first), second)

    found = threads(model, ones(8, 5), ones(5, 3), ones(5, 3))
    assert [kinds for size, kinds in found if size == 3] == [["enters", "projected"]] * 2


def test_a_gather_follows_the_indices() -> None:
    def look_up(table: jax.Array, tokens: jax.Array) -> jax.Array:
        return table[tokens]

    assert threads(look_up, ones(50, 6), jnp.zeros((3, 4), int)) == [
        (50, ["enters", "indexed"]),
        (6, ["enters", "returned"]),
        (3, ["enters", "returned"]),
        (4, ["enters", "returned"]),
    ]


def test_a_convolution_keeps_batch_and_places() -> None:
    def layer(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"))

    found = threads(layer, ones(2, 9, 3), ones(5, 3, 4))
    assert [kinds for _, kinds in found[:3]] == [
        ["enters", "returned"],
        ["enters", "returned"],
        ["enters", "projected"],
    ]
    assert (4, ["enters", "returned"]) in found


def test_keys_lead_to_what_is_drawn_with_them() -> None:
    def noise(key: jax.Array) -> jax.Array:
        return jax.vmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(key, 8))

    assert threads(noise, jax.random.key(0)) == [
        (8, ["made", "vmapped", "collected", "returned"]),
        (3, ["made", "returned"]),
    ]


def test_gradients_have_the_axes_of_what_they_are_taken_for() -> None:
    def slope(w: jax.Array, x: jax.Array) -> jax.Array:
        return jax.grad(lambda w: jnp.sum(x @ w))(w)

    found = threads(slope, ones(5, 3), ones(8, 5))
    assert [size for size, _ in found] == [5, 3, 8]
    assert all("returned" in kinds for size, kinds in found if size != 8)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_row_is_an_op(name: str) -> None:
    assert name in VOCABULARY
