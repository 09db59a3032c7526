"""What a value is, beyond the borders of calls and loops: an array of JAX, a number or a list of Python."""

from __future__ import annotations

import pytest
from frontends.source.reading import read

from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.solve import solve
from jaxaudit.analyses.tracing import TracingFacts

START = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n"


def kinds(code: str) -> str:
    """Return what all values are that `show` is given."""
    program = read(START + code + "\n\ndef show(x):\n    print(x)\n").program
    values = python_values(solve(program, {TracingFacts}))
    shown = [value for op in program.named("py.print") for value in op.operands]
    asked = {"array": values.is_jax_array, "number": values.is_number, "list": values.is_sequence}
    return " ".join(name for name, ask in asked.items() if all(map(ask, shown)))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def f(key):\n    show(jax.random.normal(key, (3,)))", "array"),
        ("def f(key):\n    show(jax.random.normal(key, (3,)))\n\ndef g():\n    show(jnp.ones(3))", "array"),
        ("def f(key):\n    show(jax.random.normal(key, (3,)))\n\ndef g():\n    show(np.ones(3))", ""),
        ("def f(x):\n    show(x)", ""),
        ("def f(x):\n    show(x.shape[0])", ""),
        ("def f(config):\n    show((1,) + config.size)", ""),
        ("def f(x, n):\n    show(x.shape[:n])", ""),
        ("def f(x):\n    show((1,) * x.ndim)", "list"),
        ("def f(n):\n    zero = jnp.array(0)\n    show((zero,) * len(n) + (zero, 0))", "list"),
        ("def f(n, x):\n    xs = []\n    for i in range(n):\n        xs.append(jnp.sum(x) * i)\n    show(xs)", "list"),
        ("def f(n, x):\n    xs = []\n    for i in range(n):\n        xs.append(jnp.sum(x) * i)\n    show(xs[-1])", ""),
        ("def f(x):\n    show([jnp.sum(x * i) for i in range(4)])", "list"),
    ],
)
def test_kinds(code: str, kind: str) -> None:
    assert kinds(code) == kind
