"""How much is known of shapes: the last line of every report says it, and values without one say why."""

from __future__ import annotations

import io

from jaxaudit.config import Config
from jaxaudit.reports.formats.text import render_text
from jaxaudit.reports.registry import Detail
from jaxaudit.session import audit_text

CODE = b"""\
import jax.numpy as jnp
from elsewhere import load

N = 3
zeros = jnp.zeros((N, 2))


def known():
    return jnp.ones(4) + 1


def blind(x):
    doubled = jnp.exp(x)
    return doubled + doubled


def loaded():
    rows = load()
    return jnp.sum(rows, axis=0)
"""


def text_of(code: bytes, *, verbose: bool = False) -> str:
    out = io.StringIO()
    outcome = audit_text("a.py", code, Config())
    render_text(outcome.report, outcome.sources, out, Detail(verbose))
    return out.getvalue()


def test_the_last_line_names_the_shapes_that_are_known():
    last = " ".join(text_of(CODE).partition("Read 1 file")[2].split())
    assert "shapes known of 3 of 6 arrays; decided" in last


def test_sizes_are_known_by_their_names_however_long():
    code = (
        b"import jax.numpy as jnp\n\ndef start(number_of_sequences):\n    return jnp.zeros((number_of_sequences, 3))\n"
    )
    assert "shapes known of 1 of 1 array;" in " ".join(text_of(code).split())


def test_text_and_shapes_are_compared_without_arrays():
    code = b"def chosen(mode, x, y):\n    return mode == 'fast' and x.shape == y.shape and mode | None\n"
    assert "arrays" not in text_of(code)


def test_code_without_arrays_says_nothing_of_shapes():
    assert "arrays" not in text_of(b"x = 1\n")


def test_functions_without_a_known_shape_are_listed():
    coverage = audit_text("a.py", CODE, Config()).report.coverage
    assert (coverage.arrays, coverage.shapes) == (6, 3)
    assert [(one.function, one.line) for one in coverage.shapeless] == [("blind", 12), ("loaded", 17)]
    told = text_of(CODE, verbose=True)
    assert "functions without a single known shape" in told
    assert "a.py:12 blind, a.py:17 loaded" in told


def test_a_value_without_a_shape_says_why():
    steps = audit_text("a.py", CODE, Config()).report.data_flow
    reasons = {value.name: value.unknown for step in steps for value in step.makes}
    assert reasons["zeros"] == ""
    assert reasons["x"] == "it is an argument of `blind`, and no call that was read says its shape"
    assert reasons["doubled"] == f"it follows from `x` at line 12: {reasons['x']}"
    assert "load" in reasons["rows"]
