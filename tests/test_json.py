import json

import msgspec
import pytest

from jaxaudit import __version__
from jaxaudit.reports.formats.json import make_schema, render_json, shipped_schema
from jaxaudit.reports.model import (
    Coverage,
    Finding,
    Report,
    Suggestion,
    Tally,
    Target,
    Tool,
    Unknown,
    Verified,
    WhyStep,
)

FINDING = Finding(
    "12ab", "key-reused", "random", "error", "a.py", 1, 2, 1, 5, "é [bold]", "now", "then",
    (WhyStep("a.py", 1, "here"),), Suggestion("split it"),
)  # fmt: skip
REPORT = Report(
    schema_version=1,
    tool=Tool("jaxaudit", __version__),
    targets=(Target("a.py", "source"),),
    issues=(FINDING,),
    verified=(Verified("key-reused", "random", "a.py", 3, "fresh"),),
    unknown=(Unknown("key-reused", "random", "a.py", 4, "unresolved call"),),
    coverage=Coverage(3, 1, 1, 1, {"random": Tally(3, 1, 1, 1)}),
)


def test_the_keys_of_the_contract():
    data = json.loads(render_json(REPORT))
    assert list(data)[:11] == [
        "schema_version", "tool", "targets", "data_flow", "transformation_stack", "boundaries", "issues", "warnings",
        "verified", "unknown", "coverage",
    ]  # fmt: skip
    assert list(data["issues"][0]) == [
        "id", "rule", "family", "severity", "path", "line", "column", "end_line", "end_column", "message", "current",
        "expected", "why", "suggestion", "front_end",
    ]  # fmt: skip
    assert data["issues"][0]["why"] == [{"path": "a.py", "line": 1, "text": "here"}]
    assert data["issues"][0]["suggestion"] == {"text": "split it", "edits": []}
    assert list(data["verified"][0]) == ["rule", "family", "path", "line", "reason", "column"]
    assert list(data["unknown"][0]) == ["rule", "family", "path", "line", "reason", "column"]
    assert list(data["coverage"])[:5] == ["obligations", "proved", "violated", "unknown", "by_family"]


def test_a_report_can_be_read_back():
    assert msgspec.json.decode(render_json(REPORT), type=Report) == REPORT


def test_text_is_kept_as_it_is():
    assert json.loads(render_json(REPORT))["issues"][0]["message"] == "é [bold]"


def test_the_shipped_schema_is_up_to_date():
    assert shipped_schema() == make_schema(), (
        "run: python -c 'from jaxaudit.reports.formats.json import write_schema; write_schema()'"
    )


def test_the_schema_names_every_field():
    definitions = json.loads(shipped_schema())["$defs"]
    data = json.loads(render_json(REPORT))
    assert set(definitions["Report"]["properties"]) == set(data)
    assert set(definitions["Finding"]["properties"]) == set(data["issues"][0])


@pytest.mark.parametrize(
    "bad", ['{"schema_version": 1}', '{"schema_version": "1", "tool": {"name": "", "version": ""}}']
)
def test_what_is_no_report_is_refused(bad):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(bad, type=Report)
