from dataclasses import replace

import pytest

from jaxaudit.frontends.base import SourceFile
from jaxaudit.reports.model import Finding, Report, Tool
from jaxaudit.spans import SourceText
from jaxaudit.suppress import apply_suppressions, find_suppressions

FAMILIES = {"key-reused": "random", "same-key-in-loop": "random", "axis-conflict": "axes"}


def run(text: str, *lines: int, rule: str = "key-reused", runs=lambda path, rule: True) -> Report:
    """Apply the comments of a text to an issue on each of the lines."""
    issues = tuple(
        Finding("", rule, FAMILIES[rule], "error", "a.py", line, 1, line + 1, 1, "it is bad") for line in lines
    )
    report = Report(1, Tool("jaxaudit", "0"), issues=issues)
    files = [SourceFile("a.py", text)]
    return apply_suppressions(report, files, FAMILIES, runs, lambda path: SourceText(path, text))


def left(report: Report) -> list[int]:
    return [one.line for one in report.issues]


def said(report: Report) -> list[tuple[int, str]]:
    return [(one.line, one.message) for one in report.warnings]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = f()  # jaxaudit: ignore[key-reused] on purpose", 1),
        ("x = f()  # jaxaudit:ignore[random]", 1),
        ("x = f()  # noqa: F401  # jaxaudit: ignore[ key-reused ]", 1),
        ("# jaxaudit: ignore[key-reused] common random numbers\nx = f()", 2),
        ("if x:\n    # jaxaudit: ignore[key-reused]\n    # and why\n    y = f()", 4),
        ("x = f(  # jaxaudit: ignore[key-reused]\n    1,\n    2,\n)", 3),
        ("x = f(\n    1,\n)  # jaxaudit: ignore[key-reused]", 1),
        ("x = f(\n    # jaxaudit: ignore[key-reused]\n    1,\n)", 3),
        ("# jaxaudit: ignore[key-reused]\nx = f(\n    1,\n)", 3),
        ("x = '''\n''' + f()  # jaxaudit: ignore[key-reused]", 1),
        ("x = f()\r\ny = 1  # jaxaudit: ignore[key-reused]\r\n", 2),
    ],
)
def test_a_comment_silences_its_statement(text, line):
    report = run(text, line)
    assert (left(report), said(report), report.coverage.suppressed) == ([], [], 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = f()  # jaxaudit: ignore[axis-conflict]", 1),
        ("x = f()  # jaxaudit: ignore[key-reused]\ny = f()", 2),
        ("# jaxaudit: ignore[key-reused]\n\nx = f()", 3),
        ("for x in y:  # jaxaudit: ignore[key-reused]\n    f(x)", 2),
        ("x = f()\n# jaxaudit: ignore[key-reused]", 1),
    ],
)
def test_a_comment_elsewhere_silences_nothing_and_is_reported(text, line):
    report = run(text, line)
    assert (left(report), len(report.warnings), report.coverage.suppressed) == ([line], 1, 0)


def test_a_comment_in_a_string_is_none():
    text = "x = '# jaxaudit: ignore[key-reused]'\n"
    assert list(find_suppressions(SourceFile("a.py", text))) == []
    assert left(run(text, 1)) == [1]


@pytest.mark.parametrize("text", ["x = (  # jaxaudit: ignore[key-reused]", "if x:\n  y  # jaxaudit: ignore[a]\n z"])
def test_a_file_that_is_not_python_has_none(text):
    assert list(find_suppressions(SourceFile("a.py", text))) == []


def test_every_name_must_silence_something():
    report = run("x = f()  # jaxaudit: ignore[key-reused, axes] why", 1)
    assert left(report) == []
    assert said(report) == [(1, "`ignore[axes]` silences nothing here")]
    warning = report.warnings[0]
    assert (warning.rule, warning.family, warning.severity) == ("unused-suppression", "suppressions", "warning")
    assert (warning.column, warning.end_column) == (10, 46)
    assert warning.id


def test_an_unknown_name_is_reported_with_the_nearest():
    report = run("x = f()  # jaxaudit: ignore[key-reuse]")
    assert said(report) == [(1, "there is no rule or family `key-reuse`; did you mean `key-reused`?")]


def test_a_comment_without_names_is_reported():
    assert said(run("x = f()  # jaxaudit: ignore")) == [(1, "this comment names no rule")]
    assert said(run("x = f()  # jaxaudit: ignore[]")) == [(1, "this comment names no rule")]


def test_a_rule_that_did_not_run_is_not_judged():
    text = "x = f()  # jaxaudit: ignore[key-reused, random]"
    assert said(run(text, runs=lambda path, rule: rule != "key-reused")) == []


def test_the_report_on_comments_can_be_turned_off():
    assert said(run("x = f()  # jaxaudit: ignore[random]", runs=lambda path, rule: rule != "unused-suppression")) == []


def test_other_comments_to_us_are_left_alone():
    assert said(run("x = f()  # jaxaudit: axes x = batch time")) == []


def test_warnings_are_silenced_too():
    text = "x = f()  # jaxaudit: ignore[key-reused]"
    finding = Finding("", "key-reused", "random", "warning", "a.py", 1, 1, 1, 2, "perhaps")
    report = Report(1, Tool("jaxaudit", "0"), warnings=(finding, replace(finding, path="b.py")))
    result = apply_suppressions(
        report, [SourceFile("a.py", text)], FAMILIES, lambda path, rule: True, lambda path: SourceText(path, text)
    )
    assert [one.path for one in result.warnings] == ["b.py"]


def test_an_unreadable_file_cannot_be_silenced():
    finding = Finding("", "unreadable-file", "files", "error", "a.py", 1, 1, 1, 1, "no")
    text = "# jaxaudit: ignore[files]"
    report = Report(1, Tool("jaxaudit", "0"), issues=(finding,))
    families = {**FAMILIES, "unreadable-file": "files"}
    result = apply_suppressions(
        report, [SourceFile("a.py", text)], families, lambda path, rule: True, lambda path: SourceText(path, text)
    )
    assert result.issues == (finding,)
