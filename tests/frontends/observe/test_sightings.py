"""What observation notes of the calls of the user's functions, without running any code of theirs."""

from pathlib import Path

import pytest

pytest.importorskip("jax")
from jaxaudit.frontends.jaxpr.protocol import Request
from jaxaudit.frontends.jaxpr.worker import ask

SCRIPT = """\
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    position: jax.Array
    time: int


@dataclass
class Env:
    size: int
    limits: dict

    @property
    def trap(self):
        raise RuntimeError("nobody may ask")

    def step(self, state):
        return state.position[: self.size]


def body(carry, x):
    return carry + x, carry


@jax.jit
def total(xs):
    return jax.lax.scan(body, jnp.zeros(xs.shape[1:]), xs)


def numbered(i, x):
    return i * x


def mapped(x):
    return jax.lax.psum(x, "batch")


Env(2, {"low": jnp.zeros(3)}).step(State(jnp.zeros(4), 0))
total(jnp.ones((5, 3)))
for i in range(6):
    numbered(i, jnp.ones(2))
jax.vmap(mapped, axis_name="batch")(jnp.ones((7, 2)))
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    script = tmp_path_factory.mktemp("calls") / "train.py"
    script.write_text(SCRIPT)
    found = ask(Request("run", str(script))).sightings
    assert {one.where for one in found} == {str(script)}
    return {one.function: one for one in found}


def test_arrays_have_dtype_and_sizes_as_the_code_sees_them(calls):
    assert calls["total"].arguments == {"xs": ["array", "float32", [5, 3], "t"]}
    assert calls["body"].arguments["x"] == ["array", "float32", [3], "t"]


def test_transformations_around_a_call_are_noted(calls):
    assert tuple(calls["body"].within) == ("jit", "scan")
    assert tuple(calls["mapped"].within) == ("vmap",)
    assert calls["mapped"].axes == {"batch": 7}
    assert calls["mapped"].arguments["x"] == ["array", "float32", [2], "t", [7]]


def test_objects_are_taken_apart_by_their_fields_alone(calls):
    arguments = calls["Env.step"].arguments
    path = calls["Env.step"].path
    held = {"size": ["is", 2], "limits": ["dict", [["low", ["array", "float32", [3], ""]]]]}
    assert arguments["self"] == ["object", "__main__", "Env", path, held]
    fields = {"position": ["array", "float32", [4], ""], "time": ["is", 0]}
    assert arguments["state"] == ["record", "__main__", "State", path, fields]


def test_calls_that_differ_in_a_number_alone_become_one(calls):
    assert calls["numbered"].arguments["i"] == ["int"]
    assert calls["numbered"].calls == 6


def test_functions_are_known_by_name_and_line(calls):
    lines = SCRIPT.splitlines()
    assert lines[calls["total"].line - 1] == "@jax.jit"
    assert calls["total"].path == str(Path(calls["total"].path))
    assert "<module>" not in calls
