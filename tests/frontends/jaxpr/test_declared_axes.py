"""The rules about axes on traced programs whose arguments have named axes, all of the same size."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp

from frontends.jaxpr.tracing import trace
from jaxaudit.analyses.solve import solve
from jaxaudit.ir import Declared
from jaxaudit.rules.base import Verdict
from jaxaudit.rules.intent import judged
from jaxaudit.rules.registry import all_rules

RULES = [rule for rule in all_rules() if rule.family in ("axes", "vmap", "scan", "flow")]
SIZE = 8


def found(function: Callable[..., Any]) -> set[str]:
    """Trace a function whose defaults name the axes of its arguments, and give the rules that it breaks."""
    axes = [text.default.split() for text in inspect.signature(function).parameters.values()]
    program = trace(function, *(jnp.ones((SIZE,) * len(names)) for names in axes))
    params = program.roots[0].region.params
    declared = {param: Declared(tuple(names), "main") for param, names in zip(params, axes, strict=True)}
    named = replace(program, declared=declared)
    facts = solve(named, {need for rule in RULES for need in rule.needs})
    return {one.rule for rule in RULES for one in judged(rule, facts) if one.verdict is Verdict.VIOLATED}


def sum_of_different_things(x="batch time", y="time batch"):
    return jnp.sin(x) + y


def product_over_different_things(x="batch feature", w="out feature"):
    return x @ w


def maps_over_different_things(x="batch feature", y="feature batch"):
    return jax.vmap(lambda a, b: a * 2 + b)(x, y)


def scans_over_different_things(xs="batch time", ys="time batch"):
    return jax.lax.scan(lambda c, s: (c + s[0].sum(), s[1].sum()), 0.0, (xs, ys))


@pytest.mark.parametrize(
    ("function", "rules"),
    [
        (sum_of_different_things, {"unrelated-axes-joined"}),
        (product_over_different_things, {"unrelated-axes-joined"}),
        (maps_over_different_things, {"wrong-axis-mapped", "broadcast-argument-mapped"}),
        (scans_over_different_things, {"carry-xs-confusion"}),
    ],
)
def test_axes_that_do_not_belong_together(function, rules):
    assert found(function) == rules


def transposed(x="batch time", y="time batch"):
    return jnp.sin(x) + y.T, jnp.swapaxes(x, 0, 1) - y


def covariance(x="batch feature"):
    centred = x - x.mean(0)
    return centred.T @ centred + jnp.eye(SIZE)


def all_pairs(x="n d", y="m d"):
    return ((x[:, None] - y[None]) ** 2).sum(-1), jax.vmap(lambda a: jax.vmap(lambda b: a @ b)(y))(x)


def recurrence(x="batch time feature", w="feature hidden"):
    def step(h, xt):
        h = jnp.tanh(xt @ w + h)
        return h, h

    return jax.lax.scan(step, jnp.zeros((SIZE, SIZE)), x.transpose(1, 0, 2))[1].transpose(1, 0, 2) + x


def flat_and_back(x="batch time feature"):
    flat = x.reshape(SIZE * SIZE, SIZE)
    return (flat / flat.std(-1, keepdims=True)).reshape(SIZE, SIZE, SIZE) + x


def gradient(w="feature out", x="batch feature", y="batch out"):
    return jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)


def heads(q="batch time feature", w="feature d"):
    h = (q @ w).reshape(SIZE, SIZE, 2, 4).transpose(0, 2, 1, 3)
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((SIZE, SIZE))), h @ h.swapaxes(-1, -2), -1e9))
    return (weights @ h).transpose(0, 2, 1, 3).reshape(SIZE, SIZE, SIZE) + q


def one_hot_loss(x="batch feature", labels="batch"):
    return (jax.nn.log_softmax(x) * jax.nn.one_hot(labels.astype(int), SIZE)).sum(-1) * labels


@pytest.mark.parametrize(
    "function", [transposed, covariance, all_pairs, recurrence, flat_and_back, gradient, heads, one_hot_loss]
)
def test_programs_that_are_right(function):
    assert found(function) == set()
