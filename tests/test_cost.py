"""What an audit costs: work is counted in calls of Python functions, which no busy machine changes.

Each program is audited at two sizes. Work that grows much faster than the program is a walk without a memo.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jaxaudit.config import find_config
from jaxaudit.session import audit_text

HEAD = "import jax\nimport jax.numpy as jnp\n\n"


def calls_in_a_chain(size: int) -> str:
    """Functions that call the one before, deeper than calls are followed, each with a key of its own."""
    first = "def f0(key, x):\n    return x + jax.random.normal(key, (3,))\n\n"
    others = (
        f"def f{i}(key, x):\n    a, b = jax.random.split(key)\n"
        f"    return f{i - 1}(a, x) + jax.random.normal(b, (3,))\n\n"
        for i in range(1, size)
    )
    return f"{HEAD}{first}{''.join(others)}print(f{size - 1}(jax.random.key(0), jnp.zeros(3)))\n"


def calls_in_pairs(size: int) -> str:
    """The same, where each function calls the one before twice: 2 ** size ways to the first."""
    return calls_in_a_chain(size).replace("jax.random.normal(b, (3,))", "f0(b, x)")


def repeated(statement: str, size: int) -> str:
    body = f"    {statement}\n" * size
    return (
        f"{HEAD}def loss(x, y):\n{body}    return (x**2).mean()\n\nprint(jax.grad(loss)(jnp.ones(3), jnp.zeros(3)))\n"
    )


def work(source: str) -> int:
    """Count the calls of Python functions that the audit of a program makes."""
    config, count = find_config(Path.cwd()), 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        outcome = audit_text("program.py", source.encode(), config, sections=False)
    finally:
        sys.setprofile(before)
    assert not outcome.faults
    return count


def test_chains_of_calls_cost_what_their_length_says() -> None:
    work(HEAD)  # imports
    for program in (calls_in_a_chain, calls_in_pairs):
        assert work(program(160)) < 3 * work(program(80)), program.__name__


@pytest.mark.parametrize(
    "statement",
    [
        "x = x + x",
        "x, y = x + y, x - y",
        "x, y = x * y, y / x",
        "x = jax.lax.stop_gradient(x) + x - x",
        "x = jnp.where(x > y, x + y, x * y)",
        "x = jnp.maximum(jnp.minimum(x, y), x)",
        "x = jnp.concatenate([x, x])[:3]",
        "x = jax.nn.softmax(x) * jnp.log(jax.nn.softmax(x))",
        "x, y = jnp.arctan2(x, y), jnp.deg2rad(x) + y",
        "x = 0.9 * x + 0.1 * y",
        "x = (x + y - x.mean()) / (x + 2.0 * y)",
        "x = x + (y.mean(axis=0) - x) * y.shape[0] / (x[0] + y.shape[0])",
        "x = jax.lax.cond(x[0] > 0, lambda v: v + x, lambda v: v - x, x)",
        "x, y = jax.vmap(lambda v, w: (v + w, v * w))(x, y)",
    ],
)
def test_values_that_are_read_twice_cost_what_their_number_says(statement: str) -> None:
    work(HEAD)  # imports
    assert work(repeated(statement, 32)) < 3 * work(repeated(statement, 16))


def carried_beside(size: int) -> str:
    """One loop that carries many parts, each renewed by itself."""
    names = [f"a{i}" for i in range(size)]
    parts, starts = ", ".join(names), ", ".join("0.0" for _ in names)
    steps = "".join(f"        {one} = {one} * 0.9 + x\n" for one in names)
    body = f"    def step(carry, x):\n        {parts} = carry\n{steps}        return ({parts}), x\n"
    return f"{HEAD}def run(xs):\n{body}    return jax.lax.scan(step, ({starts}), xs)\n\nprint(run(jnp.ones(3)))\n"


def test_loops_cost_what_the_number_of_parts_that_they_carry_says() -> None:
    work(HEAD)  # imports
    assert work(carried_beside(80)) < 2.5 * work(carried_beside(40))


def reuses(size: int) -> str:
    """Functions that nobody calls, each with a key that is used twice and an annotation that nobody checks."""
    functions = (
        f'def f{i}(key, x: Float[Array, "n"]):\n'
        "    return x + jax.random.normal(key, x.shape) * jax.random.uniform(key, x.shape)\n\n"
        for i in range(size)
    )
    return f"{HEAD}from jaxtyping import Array, Float\n\n{''.join(functions)}"


def test_findings_are_judged_again_where_they_stand_alone() -> None:
    work(HEAD)  # imports
    assert work(reuses(120)) < 2.3 * work(reuses(60))


def functions(text: str, size: int) -> str:
    """The same function many times, each under a name of its own."""
    return HEAD + "".join(text.replace("f(", f"f{i}(") for i in range(size))


FILTERED = """def f(xs, start):
    def step(c, x):
        c = 0.9 * c + x
        return c, c

    last, rows = jax.lax.scan(step, start, xs)
    return jax.lax.scan(step, last, rows)

"""
GUARDED = """def f(x):
    def turn(i, c):
        return jnp.where(i > 0, c + x[i], c)

    return jax.lax.fori_loop(1, x.shape[0], turn, 0.0)

"""


@pytest.mark.parametrize(("text", "size"), [(FILTERED, 60), (GUARDED, 200)], ids=["recursions", "comparisons"])
def test_loops_beside_others_cost_what_their_number_says(text: str, size: int) -> None:
    work(HEAD)  # imports
    assert work(functions(text, 2 * size)) < 2.15 * work(functions(text, size))


def moved_by_hand(size: int) -> str:
    """A value that is moved many times, in a program that also takes and reduces a gradient."""
    reduced = "def g(p, x):\n    return jax.lax.pmean(jax.grad(lambda q: (q * x).sum())(p), 'i')\n\n"
    moves = "    x = jnp.tanh(x - 0.1 * (x * p))\n" * size
    return f"{HEAD}{reduced}def f(p, x):\n{moves}    return x\n"


def test_values_that_no_derivative_leads_to_are_looked_at_once() -> None:
    work(HEAD)  # imports
    assert work(moved_by_hand(160)) < 2.2 * work(moved_by_hand(80))
