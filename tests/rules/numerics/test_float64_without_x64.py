"""What `float64-without-x64` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PROGRAMS = {
    "a switch that is asked for": """
        def solver(f):
            assert jax.config.read("jax_enable_x64"), "double precision is needed"
            return f

        def roots(f):
            grid = jnp.linspace(0.0, 1.0, 5)
            return solver(f)(grid)
        """,
    "double precision for one block": """
        def solve(f, x):
            with jax.enable_x64():
                return f(x)

        def run(f):
            start = jnp.array(0.0)  #? float64-without-x64
            return solve(f, start)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_a_file_is_told_once_of_double_precision() -> None:
    code = "import jax.numpy as jnp\n\ndef f(n):\n    return jnp.zeros(n, jnp.float64), jnp.ones(n, jnp.float64)\n"
    report = audit([SourceFile("one.py", code), SourceFile("two.py", code)], Config()).report
    assert [(one.path, one.line, one.rule) for one in report.warnings] == [
        ("one.py", 4, "float64-without-x64"),
        ("two.py", 4, "float64-without-x64"),
    ]
