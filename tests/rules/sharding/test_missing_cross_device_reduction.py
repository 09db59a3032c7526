"""What leaves `shard_map` as equal on all devices must be equal; with JAX's check off nobody else asks."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from frontends.jaxpr.tracing import trace
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from jaxaudit.analyses.facts import Facts
from jaxaudit.rules.base import Verdict
from jaxaudit.rules.sharding.missing_cross_device_reduction import MissingCrossDeviceReduction

W, X = jnp.ones((2, 3)), jnp.ones((8, 2))
AUTO = AxisType.Auto
ONE, LONE = (AbstractMesh((size,), ("d",), axis_types=(AUTO,)) for size in (4, 1))
TWO = AbstractMesh((2, 2), ("d", "m"), axis_types=(AUTO, AUTO))
SAME, GIVEN = P(), (P(), P("d"))
RING = [(place, (place + 1) % 4) for place in range(4)]


def verdicts(function, mesh=ONE, given=GIVEN, out=SAME, *, check=False) -> list[str]:
    if not hasattr(jax, "shard_map"):
        pytest.skip("this jax has no shard_map of its own")
    mapped = jax.shard_map(function, mesh=mesh, in_specs=given, out_specs=out, check_vma=check)
    program = trace(mapped, W, X)
    return [one.verdict.value for one in MissingCrossDeviceReduction().check(program, Facts(program))]


def summed_by_scan(w, x):
    return lax.scan(lambda total, row: (total + (row @ w).sum(), None), 0.0, x)[0]


def gradient_left(w, x):
    loss, grads = jax.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w)
    return lax.pmean(loss, "d"), grads


def gradient_shared(w, x):
    return lax.pmean(jax.value_and_grad(lambda w: ((x @ w) ** 2).mean())(w), "d")


def ring(w, x):
    def turn(_, carry):
        total, block = carry
        block = lax.ppermute(block, "d", RING)
        return total + block, block

    return lax.fori_loop(0, 4, turn, (jnp.zeros_like(x), x))[0]


@pytest.mark.parametrize(
    "function", [lambda w, x: (x @ w).sum(), summed_by_scan, lambda w, x: jnp.where(lax.axis_index("d") == 0, w, 0.0)]
)
def test_what_each_device_computes_is_not_equal(function):
    assert verdicts(function) == ["violated"]


def test_each_result_is_judged():
    assert verdicts(gradient_left, out=(P(), P())) == ["proved", "violated"]
    assert verdicts(gradient_shared, out=(P(), P())) == ["proved", "proved"]
    assert verdicts(lambda w, x: (x @ w, w * 2), out=(P("d"), P())) == ["proved", "proved"]


def test_every_axis_of_the_mesh_counts():
    given = (P("m"), P("d", "m"))
    assert verdicts(lambda w, x: lax.psum((x @ w).sum(), "d"), TWO, given) == ["violated"]
    assert verdicts(lambda w, x: lax.psum((x @ w).sum(), ("d", "m")), TWO, given) == ["proved"]
    assert verdicts(lambda w, x: (x @ w).sum(), LONE) == ["proved"]


def test_gathered_values_are_equal():
    assert verdicts(lambda w, x: lax.all_gather(x @ w, "d", tiled=True)) == ["proved"]


def test_branches_reduce_each_by_itself():
    def choose(w, x):
        return lax.cond(w.sum() > 0, lambda a: lax.psum(a, "d"), lambda a: lax.pmax(a, "d"), (x @ w).sum())

    assert verdicts(choose) == ["proved"]


def test_what_is_sent_around_is_left_open():
    assert verdicts(ring) == ["unknown"]


def test_jax_checks_by_itself_unless_told_not_to():
    assert verdicts(lambda w, x: lax.psum((x @ w).sum(), "d"), check=True) == [Verdict.PROVED.value]
