"""No text and no bytes make us fail: what is odd is shown, reported or left alone."""

import json

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from jaxaudit.discover import decode_file
from jaxaudit.frontends.base import Problem, SourceFile
from jaxaudit.reports.formats.json import render_json
from jaxaudit.reports.identity import outline
from jaxaudit.reports.model import Finding, Report, Tool
from jaxaudit.reports.snippet import Look, Marked, clean, snippet
from jaxaudit.spans import SourceText
from jaxaudit.suppress import find_suppressions

NUMBERS = st.integers(min_value=0, max_value=200)
PIECES = st.sampled_from(
    ["# jaxaudit: ignore[a]", "'''", "(", ")", "\n", "\r", "\t", "  ", "x = 1", "\\", "\x00", "\x0c", "é"]
)


@given(st.binary())
def test_any_bytes_are_a_file_or_a_problem(data):
    assert isinstance(decode_file("a.py", data), SourceFile | Problem)


@given(st.lists(PIECES).map("".join) | st.text())
def test_any_text_has_an_outline_and_suppressions(text):
    outline(text)
    list(find_suppressions(SourceFile("a.py", "# jaxaudit:\n" + text)))


@given(st.text(), st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), st.integers(40, 200), st.booleans())
def test_any_place_can_be_shown(text, place, width, unicode):
    for line in snippet(SourceText("a.py", text), Marked(*place), Look(width, unicode), "red"):
        assert clean(line.plain) == line.plain


@given(st.text("abc ()=.\t", max_size=300), NUMBERS, NUMBERS, st.integers(40, 200))
def test_no_line_is_wider_than_the_terminal(text, start, length, width):
    start = min(start, len(text))
    end = min(start + length, len(text))
    for line in snippet(SourceText("a.py", text), Marked(1, start + 1, 1, end + 1), Look(width), "red"):
        assert cell_len(line.plain) <= width


@given(st.text())
def test_any_text_can_be_written_as_json(text):
    issue = Finding("", "r", "f", "error", "a.py", 1, 1, 1, 1, text)
    assert json.loads(render_json(Report(1, Tool("jaxaudit", "0"), issues=(issue,))))["issues"][0]["message"] == text
