"""The report as workflow commands."""

import io
from dataclasses import replace

from test_json import FINDING, REPORT

from jaxaudit.reports.formats.github import FORMAT
from jaxaudit.reports.model import Report
from jaxaudit.reports.registry import Detail
from jaxaudit.spans import SourceText


def rendered(report: Report, *, quiet: bool = True) -> list[str]:
    out = io.StringIO()
    FORMAT.render(report, lambda path: SourceText(path, ""), out, Detail(quiet=quiet))
    return out.getvalue().splitlines()


def test_a_finding_is_one_command():
    (line,) = rendered(REPORT)
    place, text = line[2:].split("::")
    assert place == "error file=a.py,line=1,endLine=1,col=2,endColumn=5,title=jaxaudit%3A key-reused"
    assert text == "é [bold]%0Anow: now%0Ameant: then%0Afix: split it"


def test_the_log_ends_with_the_summary():
    assert rendered(REPORT, quiet=False)[1] == "Found 1 error."
    assert rendered(REPORT, quiet=False)[2].startswith("Read 0 files")


def test_columns_are_left_out_where_a_finding_spans_lines():
    (line,) = rendered(replace(REPORT, issues=(replace(FINDING, end_line=3),)))
    assert line.startswith("::error file=a.py,line=1,endLine=3,title=")


def test_nothing_of_the_user_ends_a_command():
    finding = replace(FINDING, path="a,b:c%.py", message="50%\r\n::error::x\x1b[31m")
    (line,) = rendered(replace(REPORT, issues=(finding,)))
    assert "file=a%2Cb%3Ac%25.py,line" in line
    assert "::50%25�%0A::error::x�[31m%0A" in line


def test_what_is_no_error_is_a_warning():
    slow, odd = (replace(FINDING, severity=one) for one in ("performance", "warning"))
    lines = rendered(replace(REPORT, issues=(slow,), warnings=(odd,)))
    assert [line.partition(" ")[0] for line in lines] == ["::warning", "::warning"]


def test_more_than_github_shows_are_counted():
    lines = rendered(replace(REPORT, issues=(FINDING,) * 12))
    assert len(lines) == 11
    assert lines[-1] == "2 more findings of the kind error are not annotated: GitHub shows 10 of a step."
