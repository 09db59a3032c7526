"""What the ranges domain says of small programs, read from source."""

import textwrap

import pytest

from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.analyses.ranges.facts import exactly, join, widen
from jaxaudit.analyses.solve import provide, solve
from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.session import audit


def range_of_result(code: str) -> Range:
    text = "import jax, math\nimport jax.numpy as jnp\nfrom jax import lax\nimport numpy as np\n" + textwrap.dedent(
        code
    )
    file = SourceFile("program.py", text)
    program = read_source([file], lambda path: file if path == "program.py" else None).program
    ranges = solve(program, {Ranges}).get(Ranges)
    left = [op for op in program.walk() if op.name == "py.return"][-1]
    return ranges.of(left.operands[0])


def said(body: str) -> str:
    lines = textwrap.dedent(body).strip().splitlines()
    code = "def f(x, y, n):\n" + "\n".join("    " + line for line in lines) + "\n    return out\n"
    return range_text(range_of_result(code))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out = jnp.where(x > 0, jnp.log(x), 0.0)", ""),
        ("out = jnp.where(x >= 1, jnp.log(x), 0.0)", ">= 0"),
        ("out = jnp.where(x > 0, x, -x)", ">= 0"),
        ("safe = jnp.where(x == 0, 1.0, x)\nout = safe", "not 0"),
        ("out = jnp.where((x > 0) & (x < 2), x, 1.0)", "[0, 2]"),
        ("out = jnp.where(~(x < 3), x, 3.0)", ">= 3"),
        ("out = jnp.where((x < 0)[:, None], 0.0, x[:, None])", ">= 0"),
        ("out = jnp.where((x < 0)[:, None], 0.0, x[None, :])", ""),
        ("out = jnp.maximum(x, 1e-6)", ">= 1e-06"),
        ("out = jax.nn.softplus(x) + 1e-3", ">= 0.001"),
        ("out = 1 - jax.nn.sigmoid(x)", "[0, 1]"),
        ("out = x * x + 1", ">= 1"),
        ("out = x - x.max()", "<= 0"),
        ("out = x - x.max(axis=0)", ""),
        ("out = x - x.max(axis=-1, keepdims=True)", "<= 0"),
        ("out = jnp.exp(x) / jnp.exp(x).sum()", ">= 0, may be infinite, may be NaN"),
        ("e = jnp.exp(x)\nout = e / e.sum(axis=-1, keepdims=True)", "[0, 1], sums to 1 along axis -1, may be NaN"),
        ("out = x.var()", ">= 0"),
        ("out = (x > 0).sum()", "integer >= 0"),
        ("out = (x > 0).astype(jnp.float32)", "mask"),
        ("out = 1.0 - (x > 0)", "mask"),
        ("out = jax.nn.one_hot(n, 4)", "one-hot along axis -1"),
        ("out = n % 4", "[0, 4]"),
        ("out = jnp.argmax(x) % 4", "integer [0, 3]"),
        ("out = jnp.argmax(x, -1)", "integer >= 0"),
        ("out = jnp.arange(5)", "integer [0, 4]"),
        ("out = jnp.arange(2, 9, 3)", "integer [2, 8]"),
        ("out = x.astype(jnp.uint8)", "integer [0, 255]"),
        ("out = jnp.clip(x, -1, 1) ** 2", "[0, 1]"),
        ("out = jnp.sqrt(1 - jnp.tanh(x) ** 2)", "[0, 1]"),
        ("out = jax.random.uniform(jax.random.key(0), (3,), minval=2.0, maxval=5.0)", "[2, 5]"),
        ("out = jax.random.randint(jax.random.key(0), (3,), 0, 7)", "integer [0, 6]"),
        ("out = jnp.linalg.norm(x)", ">= 0"),
        ("out = math.exp(-1.0) + np.sqrt(4.0)", "= 2.368"),
        ("out = lax.fori_loop(0, 5, lambda i, c: c + i, 0)", "integer >= 0"),
        ("out = lax.while_loop(lambda c: c < 10, lambda c: c + 1, 0)", "integer >= 10"),
        ("out = lax.cond(x > 0, lambda a: a, lambda a: -a, x)", ">= 0"),
        ("out = 1.0\nfor i in range(3):\n    out = out * 0.5", "[0, 1]"),
        ("if n > 3:\n    out = n - 3\nelse:\n    out = 0", ">= 0"),
        ("_, out = lax.scan(lambda c, a: (c + 1, c), 0, x)", "integer >= 0"),
        ("table = np.zeros(3)\ntable[0] = 5.0\nout = table", ""),
    ],
)
def test_what_is_said(body, expected):
    assert said(body) == expected


def test_a_loop_that_shrinks_stays_between_its_ends():
    assert said("out, _ = lax.scan(lambda c, a: (0.5 * c + 0.5 * jnp.tanh(a), None), 0.0, x)") == "[-1, 1]"


def test_joining_keeps_both_and_widening_ends():
    assert range_text(join(exactly(1.0), exactly(3.0))) == "integer [1, 3]"
    first = exactly(2.0)
    for turn in range(20):
        grown = widen(first, exactly(float(turn + 3)))
        if grown == first:
            break
        first = grown
    assert turn < 6
    assert first.high == float("inf")


def test_ranges_are_not_solved_for_rules_that_do_not_ask(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "jaxaudit.session.provide", lambda facts, needs: asked.append(set(needs)) or provide(facts, needs)
    )
    audit([SourceFile("a.py", "x = 1\n")], Config(select=("key-reused",)), sections=False)
    assert asked
    assert not any(Ranges in needs for needs in asked)
