"""The rules on ranges see the same bugs in what JAX traced."""

from __future__ import annotations

import textwrap

import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import numpy as np
from rules.gradients.test_where_nan_gradient import PROGRAMS as GRADIENTS
from rules.numerics.test_unsafe_domain import PROGRAMS as DOMAINS
from rules.programs import marked

from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.jaxpr import lower
from jaxaudit.rules.base import Severity, Verdict
from jaxaudit.rules.registry import all_rules

W, X = jnp.ones(3), jnp.ones((4, 3))
TRACED = {
    "unsafe-domain": DOMAINS["values outside of the domain of a function"],
    "where-nan-gradient": GRADIENTS["gradients of what is masked out"],
}
ARGUMENTS = {
    "unsafe-domain": {
        "b1": (X, X),
        "b2": (X,),
        "b3": (jnp.arange(4),),
        "b4": (X,),
        "b5": (X,),
        "b6": (W, W > 0),
        "b7": (X, X),
        "b9": (X,),
        **{f"o{number}": (X, X) if number == 1 else (X,) for number in range(1, 9)},
    },
    "where-nan-gradient": {
        f"{kind}{number}": (W, X) for kind in "gk" for number in range(1, 8) if (kind, number) != ("g", 7)
    },
}


def errors(rule: str, tmp_path) -> tuple[list[int], list[int]]:
    """Return the lines of errors and warnings in the traces of the functions of a program."""
    code = textwrap.dedent(TRACED[rule]).partition("W = jax.random")[0]
    path = tmp_path / "numbers.py"
    path.write_text(code)
    space: dict = {"jax": jax, "jnp": jnp, "np": np}
    exec(compile(code, str(path), "exec"), space)
    lower.install_markers()
    wrap = jax.grad if rule == "where-nan-gradient" else jax.jit
    chosen = next(one for one in all_rules() if one.name == rule)
    found = []
    for name, arguments in ARGUMENTS[rule].items():
        program = lower.trace_and_lower(wrap(space[name]), arguments, {}, name=name, path=str(path))
        found += [
            one for one in chosen().check(program, solve(program, chosen.needs)) if one.verdict is Verdict.VIOLATED
        ]
    grave = {one.span.line for one in found if one.severity is Severity.ERROR}
    return sorted(grave), sorted({one.span.line for one in found} - grave)


def wanted(rule: str, severity: str) -> list[int]:
    return [line for line, _, grade in marked(TRACED[rule]) if grade == severity]


def test_arguments_without_a_finite_value(tmp_path):
    grave, light = errors("unsafe-domain", tmp_path)
    assert grave == wanted("unsafe-domain", "error")
    assert set(light) <= set(wanted("unsafe-domain", "warning"))


def test_masked_gradients(tmp_path):
    assert errors("where-nan-gradient", tmp_path) == (wanted("where-nan-gradient", "error"), [])


def test_counters_inside_a_library_are_not_the_users():
    optax = pytest.importorskip("optax")
    optimiser = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)

    def train(w, state):
        for _ in range(3):
            _, state = optimiser.update(w, state)
        return state, jnp.minimum(jnp.int32(3) + state.count, 2**31 - 1) + 1

    chosen = next(one for one in all_rules() if one.name == "integer-overflow")
    program = lower.trace_and_lower(jax.jit(train), (W, optimiser.init(W)), {}, name="train", path=__file__)
    judged = list(chosen().check(program, solve(program, chosen.needs)))
    assert {one.span.line for one in judged} == {train.__code__.co_firstlineno + 3}
