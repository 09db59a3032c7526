"""What `setting-after-import` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PROGRAMS = {
    "some are read at once, others when they are asked for": """
        import os
        from os import environ

        environ["JAX_DISABLE_JIT"] = "1"  #! setting-after-import
        os.environ["JAX_COORDINATOR_ADDRESS"] = "localhost:1234"
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        try:
            os.environ["JAX_TRACEBACK_FILTERING"] = "off"  #! setting-after-import
        finally:
            pass
        """,
    "the same in the configuration": """
        import os

        os.environ["JAX_ENABLE_X64"] = "1"
        jax.config.update("jax_enable_x64", True)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


@pytest.mark.parametrize(
    ("first", "late"),
    [
        ("import optax", True),
        ("from flax import linen as nn", True),
        ("import numpy as np", False),
        ("if TYPE_CHECKING:\n    import jax", False),
    ],
)
def test_what_imports_jax_counts(first: str, *, late: bool) -> None:
    text = f'import os\nfrom typing import TYPE_CHECKING\n{first}\nos.environ["JAX_PLATFORMS"] = "cpu"\nimport jax\n'
    issues = audit([SourceFile("main.py", text)], Config()).report.issues
    assert [one.rule for one in issues] == ["setting-after-import"] * late
