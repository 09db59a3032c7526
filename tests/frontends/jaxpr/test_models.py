"""Whole programs: the same results with markers, every op at the user's lines, nothing unknown, no false alarm."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")

import numpy as np

from frontends.jaxpr import models
from frontends.jaxpr.tracing import judge, ops, trace
from jaxaudit.frontends.jaxpr import lower
from jaxaudit.rules.base import Verdict


def actor_critic():
    return models.train, (jax.random.key(0),)


def raw_keys():
    return models.train, (jax.random.PRNGKey(0),)


def transformer():
    return models.flax_step(pytest.importorskip("flax.linen"))


def perceptron():
    return models.equinox_step(pytest.importorskip("equinox"))


MODELS = pytest.mark.parametrize("make", [actor_critic, raw_keys, transformer, perceptron])


@MODELS
@pytest.mark.filterwarnings("ignore")
def test_results_are_the_same_with_and_without_markers(make):
    lower.uninstall_markers()
    function, args = make()
    plain = jax.jit(function)(*args)
    lower.install_markers()
    try:
        # A new function object, so that JAX traces anew.
        marked = jax.jit(lambda *args: function(*args))(*args)
    finally:
        lower.uninstall_markers()
    assert jax.tree.structure(plain) == jax.tree.structure(marked)
    for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(marked), strict=True):
        if jax.dtypes.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        np.testing.assert_array_equal(one, other)


@MODELS
@pytest.mark.filterwarnings("ignore")
def test_every_op_is_known_and_at_a_line_of_the_user(make):
    function, args = make()
    program = trace(function, *args)
    assert {op.span.path.rpartition("/")[2] for op in program.walk()} == {"models.py"}
    assert ops(program, "py.call_unknown") == []
    assert [one.message for one in judge(program) if one.verdict is Verdict.VIOLATED] == []
    assert [one.reason for one in judge(program) if one.verdict is Verdict.UNKNOWN] == []


def test_the_actor_critic_is_nested_as_it_is_written():
    function, args = actor_critic()
    program = trace(function, *args)
    root = program.roots[0].region
    top = [op.name for op in root.ops if op.regions]
    assert top == ["vmap", "scan"]
    update = next(op for op in root.ops if op.name == "scan").regions[0]
    assert update.label == "update"
    inside = [(op.name, op.qualified) for op in update.ops if op.regions]
    assert inside[:2] == [("scan", "rollout"), ("vmap", "policy")]
    assert ("py.call", "advantages") in inside
    assert ("grad", "loss") in inside


@pytest.mark.filterwarnings("ignore")
def test_what_equinox_maps_inside_is_hidden_and_the_users_own_is_shown():
    function, args = perceptron()
    program = trace(function, *args)
    assert len([op for op in ops(program, "vmap") if not op.attrs.get("backward")]) == 1
    assert [op.qualified for op in ops(program, "jit")] != []
