"""Every shape and dtype that the source analysis states is what JAX really makes."""

import json
import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec

import pytest

from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import canonical
from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from tests.analyses.shapes.programs import PROGRAMS

PROBE = """
import json, sys, jax, numpy as np
def told(value):
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return [list(value.shape), str(value.dtype)]
    if isinstance(value, bool | float):
        return [[], "bool" if isinstance(value, bool) else "float32"]
    return value if type(value) is int else None
real = {}
for title, code in json.load(sys.stdin).items():
    space = {}
    exec(compile(code, title, "exec"), space)
    real[title] = {name: told(value) for name, value in space.items() if not name.startswith("_")}
print(json.dumps(real))
"""
CODE = {title: textwrap.dedent(code) for title, code in PROGRAMS.items()}


@pytest.fixture(scope="module")
def real() -> dict:
    """Run every program in a Python that has jax: this one, or the one that JAXAUDIT_JAX_PYTHON names."""
    python = os.environ.get("JAXAUDIT_JAX_PYTHON") or (sys.executable if find_spec("jax") else "")
    if not python:
        pytest.skip("jax is not installed")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": ""}
    done = subprocess.run(
        [python, "-c", PROBE], input=json.dumps(CODE), capture_output=True, text=True, env=environment, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def stated(code: str) -> dict:
    file = SourceFile("program.py", code)
    program = read_source([file], lambda path: file if path == "program.py" else None).program
    shapes = solve(program, {Shapes}).get(Shapes)
    found = {}
    for op in program.roots[0].region.ops:
        found.update({value.name: shapes.of(value) for value in op.results if value.name})
    return found


@pytest.mark.parametrize("title", CODE)
def test_every_stated_shape_is_the_real_one(title, real):
    truth, facts = real[title], stated(CODE[title])
    wrong, known = [], 0
    for variable, fact in facts.items():
        expected = truth.get(variable)
        if isinstance(expected, int) and fact.number is not None and fact.number.constant is not None:
            known += 1
            wrong += [] if fact.number.constant == expected else [(variable, str(fact), expected)]
        if not isinstance(expected, list) or fact.dims is None:
            continue
        known += 1
        sizes = [dim.constant for dim in fact.dims]
        alike = len(sizes) == len(expected[0]) and all(s in (None, e) for s, e in zip(sizes, expected[0], strict=True))
        if not alike or (fact.dtype is not None and fact.dtype != canonical(expected[1])):
            wrong.append((variable, str(fact), expected))
    assert wrong == []
    assert known >= 0.5 * sum(isinstance(value, list) for value in truth.values())
