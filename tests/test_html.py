"""The HTML report without a browser: one file, inert data, a policy that names what may run."""

import base64
import gzip
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import pytest
from test_json import FINDING, REPORT

from jaxaudit.reports.html import page
from jaxaudit.reports.html.page import Strings, pack, pack_flow, render_html
from jaxaudit.reports.model import FlowStep, FlowValue, Report, Target, Tool, Verified
from jaxaudit.spans import SourceText

HOSTILE = "</script><script>alert(1)</script><!--\u202e\"'&"


def sources(path: str) -> SourceText:
    return SourceText(path, f"x = 1  # {HOSTILE}\n" if path == "a.py" else "")


def rendered(report: Report) -> str:
    out = io.StringIO()
    render_html(report, sources, out)
    return out.getvalue()


def block(html: str, name: str) -> str:
    return re.search(rf'<script type="[a-z/]+" id="data-{name}">(.*?)</script>', html, re.DOTALL)[1]


def unsqueezed(html: str, name: str) -> object:
    return json.loads(gzip.decompress(base64.b64decode(block(html, name))))


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_is_one_file_that_asks_for_nothing():
    html = rendered(REPORT)
    elements = Elements()
    elements.feed(html)
    assert [tag for tag, attrs in elements.found if "src" in attrs or "href" in attrs] == []
    assert [tag for tag, _ in elements.found if tag in ("link", "img", "iframe", "base")] == []
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", html)


def test_the_policy_names_the_one_script_and_the_one_style_sheet():
    html = rendered(REPORT)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    script = re.search(r"<script>(.*)</script>\s*</body>", html, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)[1]
    for kind, text in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_no_text_of_the_user_is_markup():
    hostile = FINDING.__class__(**{name: getattr(FINDING, name) for name in FINDING.__slots__} | {"message": HOSTILE})
    step = FlowStep("f", HOSTILE, 0, "a.py", 1, "enter", HOSTILE, (), (FlowValue(HOSTILE, "f32[2]", 1, 3),))
    report = Report(1, Tool("jaxaudit", "0"), (Target(HOSTILE, "source"),), (step,), issues=(hostile,))
    html = rendered(report)
    assert HOSTILE not in html
    assert "alert(1)" not in html.replace("\\u003cscript>alert(1)", "")
    assert html.count("<script") == rendered(REPORT).count("<script")
    assert "\u202e" not in html
    assert json.loads(block(html, "report"))["issues"][0]["message"] == HOSTILE
    assert HOSTILE in unsqueezed(html, "sources")["a.py"]
    assert HOSTILE in unsqueezed(html, "flow")["steps"]["same"]["what"]


def test_the_same_report_gives_the_same_bytes():
    assert rendered(REPORT) == rendered(REPORT)


def test_files_beyond_the_bound_are_named(monkeypatch):
    monkeypatch.setattr(page, "_MOST_SOURCE", 3)
    html = rendered(REPORT)
    assert unsqueezed(html, "sources") == {}
    assert json.loads(block(html, "report"))["left_out"] == ["a.py"]


def unpacked(packed: dict, strings: list[str]) -> list[dict]:
    rows = [dict(packed["same"]) for _ in range(packed["length"])]
    for key, column in packed["text"].items():
        for row, number in zip(rows, column, strict=True):
            row[key] = strings[number]
    for key, column in packed["plain"].items():
        for row, value in zip(rows, column, strict=True):
            row[key] = value
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"a": "x", "b": 1}],
        [{"a": "x", "b": 1, "c": None}, {"a": "y", "b": 1, "c": "z"}],
        [{"a": 1, "b": True}, {"a": True, "b": 1}],
    ],
)
def test_columns_hold_what_the_records_hold(rows):
    strings = Strings()
    packed = pack(rows, strings)
    assert unpacked(packed, strings.table()) == rows
    assert [type(value) for row in unpacked(packed, strings.table()) for value in row.values()] == [
        type(value)
        for row in rows
        for value in (row[key] for key in dict.fromkeys(unpacked(packed, strings.table())[0]))
    ]


def test_values_of_the_flow_stand_in_the_order_of_the_steps():
    value = {"id": 1, "name": "x"}
    steps = [
        {"id": 0, "makes": [value], "enters": [], "reads": [], "takes": []},
        {"id": 1, "makes": [], "enters": [{**value, "id": 2}], "reads": [1], "takes": ["x"]},
    ]
    strings = Strings()
    flow = pack_flow(steps, strings)
    assert [one["id"] for one in unpacked(flow["values"], strings.table())] == [1, 2]
    assert [(one["makes"], one["enters"]) for one in unpacked(flow["steps"], strings.table())] == [(1, 0), (0, 1)]


def test_equal_strings_are_kept_once():
    verified = tuple(Verified("key-reused", "random", "a.py", line, "fresh") for line in range(1000))
    data = json.loads(block(rendered(Report(1, Tool("jaxaudit", "0"), verified=verified)), "report"))
    assert data["verified"]["same"] == {
        "rule": "key-reused",
        "family": "random",
        "path": "a.py",
        "reason": "fresh",
        "column": 0,
    }
    assert data["verified"]["length"] == 1000
