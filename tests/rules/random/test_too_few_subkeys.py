"""Verdicts of `too-few-subkeys` on programs built by hand."""

import pytest
from sketch import Sketch

from jaxaudit.rules.random.too_few_subkeys import TooFewSubkeys


@pytest.mark.parametrize(
    ("num", "count", "star", "expected"),
    [
        (None, 2, None, "proved"),
        (None, 3, None, "error"),
        (3, 3, None, "proved"),
        (3, 2, None, "error"),
        (4, 2, 1, "proved"),
        (2, 4, 0, "error"),
        (1, 2, 0, "proved"),
    ],
)
def test_unpack(num, count, star, expected):
    s = Sketch()
    s.unpack(s.split(s.param("key"), num), count, star)
    assert list(s.verdicts(TooFewSubkeys).values()) == [expected]


def test_unknown_count():
    s = Sketch()
    s.unpack(s.split(s.param("key"), s.param("n")), 2)
    assert list(s.verdicts(TooFewSubkeys).values()) == ["unknown"]


@pytest.mark.parametrize(("index", "expected"), [(2, "proved"), (-3, "proved"), (3, "error"), (-4, "error")])
def test_index(index, expected):
    s = Sketch()
    s.row(s.split(s.param("key"), 3), index)
    assert list(s.verdicts(TooFewSubkeys).values()) == [expected]


def test_message_and_edit():
    s = Sketch()
    s.unpack(s.split(s.param("key")), 3)
    (finding,) = s.judge(TooFewSubkeys)
    assert finding.message == "`split` gives 2 subkeys but 3 are unpacked"
    assert finding.suggestion == "ask for 3: `jax.random.split(key, 3)`"
    (edit,) = finding.edits
    assert edit.replacement == ", 3"
    assert (edit.span.line, edit.span.column) == (2, 19)
