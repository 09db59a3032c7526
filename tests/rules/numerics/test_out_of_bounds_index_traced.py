"""Indices beyond the end of an axis, in what JAX traced."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.jaxpr import lower
from jaxaudit.rules.base import Verdict
from jaxaudit.rules.numerics.out_of_bounds_index import OutOfBoundsIndex

X = jnp.arange(8.0)
KEY = jax.random.key(0)


def along(x):
    return jnp.take_along_axis(x[None], jnp.arange(1, 9)[None], axis=1)


def scanned(x, last):
    return jax.lax.scan(lambda total, i: (total + x[i + 1], None), 0.0, jnp.arange(last))[0]


def picked(x, place):
    return x[place]


def differentiated(x, place):
    return jax.grad(lambda one: picked(one, place))(x)


BEYOND = {
    "constants taken": lambda x: jnp.take(x, jnp.array([0, 3, 8]), axis=0),
    "constants read": lambda x: x[jnp.array([1, 9])],
    "neighbours": lambda x: x[jnp.arange(8) + 1] - x,
    "update": lambda x: x.at[jnp.arange(1, 9)].set(0.0),
    "one update": lambda x: x.at[8].set(1.0),
    "along an axis": along,
    "draws": lambda x: x[jax.random.randint(KEY, (4,), 0, 9)],
    "counted by a scan": lambda x: scanned(x, 8),
}
WITHIN = {
    "wrapped": lambda x: x[(jnp.arange(8) + 1) % 8],
    "clipped": lambda x: x[jnp.clip(jnp.arange(8) + 1, 0, 7)],
    "filled": lambda x: x.at[jnp.arange(8) + 1].get(mode="fill", fill_value=0),
    "dropped": lambda x: x.at[jnp.arange(8) + 1].set(1.0, mode="drop"),
    "sent away": lambda x: x.at[jnp.where(x > 3, jnp.arange(8), 8)].set(1.0),
    "masked": lambda x: jnp.where(jnp.arange(8) < 7, x[jnp.arange(8) + 1], 0.0),
    "draws": lambda x: x[jax.random.randint(KEY, (4,), 0, 8)],
    "constants": lambda x: jnp.take(x, jnp.array([0, 3, 7]), axis=0),
    "counted by a scan": lambda x: scanned(x, 7),
    "backwards": lambda x: differentiated(x, jnp.argmax(x)),
}


def violated(function) -> list[str]:
    lower.install_markers()
    program = lower.trace_and_lower(jax.jit(function), (X,), {}, name="f", path=__file__)
    found = OutOfBoundsIndex().check(program, solve(program, OutOfBoundsIndex.needs))
    return [one.message for one in found if one.verdict is Verdict.VIOLATED]


@pytest.mark.parametrize("name", BEYOND)
def test_beyond_the_end(name: str) -> None:
    assert violated(BEYOND[name])


@pytest.mark.parametrize("name", WITHIN)
def test_within(name: str) -> None:
    assert violated(WITHIN[name]) == []
