"""What `float64-without-x64` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PROGRAMS = {
    "integers that have room in 32 bits": """
        def start():
            return {"count": jnp.asarray(0, dtype=jnp.int64), "places": jnp.ones(3, dtype=jnp.int64) * -1}

        def large():
            return jnp.asarray(3_000_000_000, dtype=jnp.int64)  #? float64-without-x64
        """,
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


_SCRIPT = """
import os

{switch}

import jax
import jax.numpy as jnp

def main():
    return jnp.zeros(3, jnp.float64)

if __name__ == "__main__":
    print(main())
"""


def _told(switch: str, config: Config) -> list[str]:
    return [one.rule for one in audit([SourceFile("main.py", _SCRIPT.format(switch=switch))], config).report.issues]


@pytest.mark.parametrize(
    "switch",
    [
        'os.environ["JAX_ENABLE_X64"] = "1"',
        'os.environ.setdefault("JAX_ENABLE_X64", "true")',
        'os.environ.update(JAX_ENABLE_X64="1")',
        'os.environ.update({"JAX_ENABLE_X64": "1"})',
        'os.putenv("JAX_ENABLE_X64", "1")',
        "from jax import config; config.jax_enable_x64 = True",
        'import jax; jax.config.update(**{"jax_enable_x64": True})',
    ],
)
def test_double_precision_is_switched_on_in_many_ways(switch: str) -> None:
    assert _told(switch, Config()) == []


def test_other_switches_are_no_double_precision() -> None:
    assert _told('os.environ["JAX_PLATFORMS"] = "cpu"  # not JAX_ENABLE_X64', Config()) == ["float64-without-x64"]


def test_a_script_that_starts_the_program_may_switch_it_on() -> None:
    assert _told("", Config(switches=("jax_enable_x64",))) == []
    assert _told("", Config(switches=("jax_debug_nans",))) == ["float64-without-x64"]
