"""Verdicts of `python-random-in-traced-code` on programs built by hand."""

import pytest
from sketch import Sketch

from jaxaudit.rules.random.python_random_in_traced_code import PythonRandomInTracedCode


def draw(s: Sketch, name: str = "py.random"):
    return s.op(name, attrs={"function": "numpy.random.normal"})


@pytest.mark.parametrize(("holder", "expected"), [("jit", "error"), ("py.call", "proved"), ("grad", "proved")])
def test_by_holder(holder, expected):
    s = Sketch()
    with s.region("function", "f") as body:
        use = draw(s)
    s.call(body, name=holder)
    assert s.verdicts(PythonRandomInTracedCode) == {use.span.line: expected}


def test_shared_helper_called_from_both_worlds():
    s = Sketch()
    with s.region("function", "noise") as noise:
        use = draw(s)
    noise.shared = True
    s.call(noise)
    with s.region("function", "f") as body:
        s.call(noise)
    s.call(body, name="jit")
    assert s.verdicts(PythonRandomInTracedCode) == {use.span.line: "error"}


def test_callbacks_run_at_run_time():
    s = Sketch()
    with s.region("function", "f") as body:
        with s.region("function", "host") as host:
            draw(s)
        s.op("callback", regions=(host,))
    s.call(body, name="jit")
    assert set(s.verdicts(PythonRandomInTracedCode).values()) == {"proved"}


def test_a_clock_is_a_warning():
    s = Sketch()
    with s.region("function", "f") as body:
        use = draw(s, "py.clock")
    s.call(body, name="jit")
    assert s.verdicts(PythonRandomInTracedCode) == {use.span.line: "warning"}
