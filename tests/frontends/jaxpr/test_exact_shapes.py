"""Programs whose types are all exact: nothing is solved, and rules read the same as if it were."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeysDomain
from jaxaudit.analyses.shapes import ShapesDomain
from jaxaudit.analyses.solve import solve_domain
from jaxaudit.analyses.tracing import TracingDomain
from jaxaudit.ir import Program
from tests.frontends.jaxpr.tracing import trace


def layer(w: jax.Array, x: jax.Array) -> jax.Array:
    scores = jnp.where(x @ w > 0, jnp.einsum("bd,dk->bk", x, w), -1e9)
    rows = jnp.concatenate([scores, scores[:1]]).reshape(-1, 2)
    return jnp.sum(jax.nn.softmax(rows, axis=-1) * rows[..., None].sum(-1)) + x.T.reshape(6, 2).mean()


def loops(w: jax.Array, x: jax.Array) -> Any:
    total, rows = lax.scan(lambda c, r: (c + r, c * 2), x[0], x)
    picked = lax.cond(total.sum() > 0, lambda a: a @ w, lambda a: a @ w * 2, x)
    return lax.fori_loop(0, 3, lambda i, c: c + i, picked), jax.vmap(lambda r: r @ w)(rows)


def gradients(w: jax.Array, x: jax.Array) -> Any:
    def block(w: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w) + x @ w

    return jax.value_and_grad(lambda w: sum(block(w, x).sum() for _ in range(3)))(w)


def traced(function: Any) -> Program:
    return trace(function, jnp.ones((3, 4)), jnp.ones((4, 3)))


@pytest.mark.parametrize("function", [layer, loops, gradients])
def test_what_is_looked_at_on_demand_is_what_would_be_solved(function: Any) -> None:
    program = traced(function)
    told = ShapesDomain(Facts(program)).at_once(Facts(program))
    domain = ShapesDomain(Facts(program))
    solved = domain.finish(Facts(program), solve_domain(program, domain))
    assert told is not None
    assert all(told.of(value) == solved.of(value) for value in program.values())
    for op in program.walk():
        asked, met = told.contexts(op), solved.contexts(op)
        assert {one.fit for one in asked} == {one.fit for one in met}, op
        assert set(told.fits(op)) == set(solved.fits(op)), op
        assert all(asked[0].of(value) == fact for one in met for value, fact in one.facts.items()), op


def test_where_sizes_meet_is_told_by_the_types_of_nearly_all_ops() -> None:
    program = traced(gradients)
    told = ShapesDomain(Facts(program)).at_once(Facts(program))
    assert told is not None
    assert any(told.fits(op) for op in program.walk())
    assert not told.seen


def test_keys_are_solved_only_where_a_program_has_some() -> None:
    def draws(w: jax.Array, x: jax.Array) -> jax.Array:
        return jax.random.normal(jax.random.key(0), x.shape) + x

    without, holding = traced(layer), traced(draws)
    assert KeysDomain(Facts(without)).part(Facts(without)).roots == ()
    assert KeysDomain(Facts(holding)).part(Facts(holding)).roots == holding.roots


def test_what_jax_traced_asks_nothing_of_python() -> None:
    program = traced(loops)
    told, domain = TracingDomain(Facts(program)).at_once(Facts(program)), TracingDomain(Facts(program))
    assert told is not None
    assert list(told.of("py.test", "py.loop", "py.print")) == []
    solved = domain.finish(Facts(program), solve_domain(program, domain))
    assert list(solved.of("py.test", "py.loop", "py.print")) == []
