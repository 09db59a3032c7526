"""Which values pass no gradient on."""

from __future__ import annotations

import pytest

from jaxaudit.analyses.flat import FlatValues
from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source


@pytest.mark.parametrize(
    ("expression", "flat"),
    [
        ("jnp.argmax(x)", True),
        ("jax.nn.one_hot(jnp.argmax(x), 3)", True),
        ("jnp.floor(x) * 2.0", True),
        ("(x > 0).astype(jnp.float32)", True),
        ("x.astype(jnp.int32)", True),
        ("jax.lax.stop_gradient(x)", True),
        ("jnp.zeros(3)", True),
        ("jnp.eye(3)[jnp.argmax(x)]", True),
        ("jnp.where(x > 0, 1.0, 0.0)", True),
        ("x * jnp.floor(x)", False),
        ("jnp.where(x > 0, x, 0.0)", False),
        ("x[jnp.argmax(x)]", False),
        ("unknown(jnp.argmax(x))", False),
        ("twice(jnp.argmax(x))", True),
        ("twice(x)", False),
    ],
)
def test_flat(expression: str, flat: bool) -> None:
    code = f"import jax\nimport jax.numpy as jnp\ndef twice(y):\n    return 2 * y\ndef f(x, unknown):\n    made = {expression}\n    return made\n"
    program = read_source([SourceFile("main.py", code)], lambda path: None).program
    (made,) = {value for op in program.walk() for value in op.results if value.name == "made"}
    assert FlatValues(solve(program, set()).flow).is_flat(made) is flat
