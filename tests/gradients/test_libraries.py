"""The functions of public libraries have no mistakes in their gradients: none is told of."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

pytest.importorskip("jax")
pytest.importorskip("optax")

import jax
import jax.numpy as jnp
import optax

from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.jaxpr import lower
from jaxaudit.rules.base import Verdict
from jaxaudit.rules.intent import judged
from jaxaudit.rules.registry import all_rules

RULES = [rule for rule in all_rules() if rule.family in ("gradients", "numerics", "flow")]
X = jax.random.normal(jax.random.key(0), (4, 6))
SHARES = jax.nn.softmax(X)
LABELS = jnp.zeros(4, jnp.int32)


def found(function: Callable, *args) -> list[str] | None:
    """Return what is told of the gradient of a function; None where it does not take such arguments."""

    def loss(*given):
        leaves = jax.tree.leaves(function(*given))
        return sum(jnp.sum(one) for one in leaves if jnp.issubdtype(one.dtype, jnp.floating))

    lower.install_markers()
    try:
        program = lower.trace_and_lower(jax.jit(jax.value_and_grad(loss)), args, {}, name="loss", path=__file__)
    except (TypeError, ValueError, AssertionError, DeprecationWarning):
        return None
    facts = solve(program, {need for rule in RULES for need in rule.needs})
    told = (one for rule in RULES for one in judged(rule, facts))
    return [f"{one.rule}: {one.message}" for one in told if one.verdict is Verdict.VIOLATED]


def public(module) -> dict[str, Callable]:
    return {
        name: one
        for name, one in vars(module).items()
        if callable(one) and not name.startswith("_") and not inspect.isclass(one)
    }


def test_jax_nn() -> None:
    told = {name: found(one, X) for name, one in public(jax.nn).items()}
    traced = {name: one for name, one in told.items() if one is not None}
    assert len(traced) >= 25, sorted(traced)
    assert {name: one for name, one in traced.items() if one} == {}


def test_optax_losses() -> None:
    losses = public(optax.losses)
    told = {name: found(one, X, LABELS if "integer" in name else SHARES) for name, one in losses.items()}
    traced = {name: one for name, one in told.items() if one is not None}
    assert len(traced) >= 12, sorted(traced)
    assert {name: one for name, one in traced.items() if one} == {}
