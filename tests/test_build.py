from jaxaudit.frontends.base import Problem, Reach, Reading, Skip
from jaxaudit.ir import Program, Value
from jaxaudit.reports.build import build_report
from jaxaudit.reports.identity import enclosing, outline
from jaxaudit.reports.model import SkippedFunction, Suggestion, Tally, TextEdit, Unknown, Verified, WhyStep
from jaxaudit.rules.base import Edit, Obligation, Severity, Step, Verdict
from jaxaudit.rules.merge import distinct, merge
from jaxaudit.spans import SourceText, Span

FAMILIES = {"key-reused": "random", "axis-conflict": "axes"}


def span(line: int, column: int = 0, end: int = 5, path: str = "a.py") -> Span:
    return Span(path, line, column, line, end)


def violated(line: int = 1, **given: object) -> Obligation:
    given = {"rule": "key-reused", "span": span(line), "message": "it is bad", **given}
    return Obligation(verdict=Verdict.VIOLATED, **given)


def proved(line: int = 1, **given: object) -> Obligation:
    return Obligation(**{"rule": "key-reused", "span": span(line), "verdict": Verdict.PROVED, "reason": "yes", **given})


def unknown(line: int = 1, **given: object) -> Obligation:
    return Obligation(**{"rule": "key-reused", "span": span(line), "verdict": Verdict.UNKNOWN, "reason": "eh", **given})


def report(*obligations: Obligation, text: str = "", problems=(), reach=None):
    reading = Reading(Program((), "source"), (), reach or Reach())
    return build_report(obligations, problems, reading, ["a.py", "b.py"], FAMILIES, lambda path: SourceText(path, text))


def test_violated_wins_over_unknown_over_proved():
    assert merge([proved(), violated(), unknown()]) == [violated()]
    assert merge([proved(), unknown()]) == [unknown()]
    assert merge([proved(), proved()]) == [proved()]


def test_the_worst_severity_wins():
    warning = violated(severity=Severity.WARNING)
    slow = violated(severity=Severity.PERFORMANCE)
    assert merge([warning, slow]) == [slow]
    assert merge([slow, warning, violated()]) == [violated()]


def test_the_first_of_equals_is_kept():
    assert merge([violated(current="one"), violated(current="two")]) == [violated(current="one")]


def test_a_warning_outlives_a_silent_unknown():
    lucky = proved(severity=Severity.WARNING, message="by luck")
    (merged,) = merge([lucky, unknown()])
    assert (merged.verdict, merged.reason, merged.message) == (Verdict.UNKNOWN, "eh", "by luck")
    assert merge([unknown(), lucky]) == [merged]


def test_places_and_rules_are_kept_apart():
    other = proved(rule="axis-conflict")
    assert merge([unknown(3), proved(2), other, violated(1)]) == [other, violated(1), proved(2), unknown(3)]


def test_what_goes_where():
    result = report(
        violated(1),
        violated(2, severity=Severity.PERFORMANCE),
        violated(3, severity=Severity.WARNING),
        proved(4),
        proved(5, severity=Severity.WARNING, message="by luck"),
        unknown(6, rule="axis-conflict"),
    )
    assert [(one.line, one.severity) for one in result.issues] == [(1, "error"), (2, "performance")]
    assert [one.line for one in result.warnings] == [3, 5]
    assert result.verified[0] == Verified("key-reused", "random", "a.py", 4, "yes", 1)
    assert result.unknown == (Unknown("axis-conflict", "axes", "a.py", 6, "eh", 1),)
    assert result.coverage.by_family == {"axes": Tally(1, 0, 0, 1), "random": Tally(5, 2, 3, 0)}
    assert (result.coverage.obligations, result.coverage.unknown) == (6, 1)
    assert result.not_available == ("data_flow", "boundaries")


def test_only_audited_files_are_reported():
    assert report(violated(span=span(1, path="library.py"))).issues == ()
    assert report(problems=[Problem("library.py", 1, 1, "no")]).issues == ()


def test_columns_count_code_points_from_one():
    text = "é = f(日, key)"
    start = text.encode().index(b"key")
    issue = report(violated(span=span(1, start, start + 3)), text=text).issues[0]
    assert (issue.column, issue.end_column) == (text.index("key") + 1, text.index("key") + 4)


def test_everything_an_obligation_says_is_kept():
    issue = report(
        violated(
            2,
            current="now",
            expected="then",
            steps=(Step(span(1, path="b.py"), "because"),),
            suggestion="do this",
            edits=(Edit(span(2, 0, 3), "new"),),
        )
    ).issues[0]
    assert (issue.rule, issue.family, issue.message) == ("key-reused", "random", "it is bad")
    assert (issue.current, issue.expected, issue.front_end) == ("now", "then", "source")
    assert issue.why == (WhyStep("b.py", 1, "because"),)
    assert issue.suggestion == Suggestion("do this", (TextEdit("a.py", 2, 1, 2, 4, "new"),))


def test_nothing_to_suggest():
    assert report(violated()).issues[0].suggestion is None


def test_an_unreadable_file_is_an_issue():
    issue = report(problems=[Problem("b.py", 3, 0, "no Python")]).issues[0]
    assert (issue.rule, issue.family, issue.severity, issue.path) == ("unreadable-file", "files", "error", "b.py")
    assert (issue.line, issue.column, issue.message) == (3, 1, "no Python")


def test_issues_are_in_order_of_place():
    result = report(violated(2), violated(1), violated(1, span=span(1, 3)), problems=[Problem("b.py", 1, 1, "no")])
    assert [(one.path, one.line, one.column) for one in result.issues] == [
        ("a.py", 1, 1),
        ("a.py", 1, 4),
        ("a.py", 2, 1),
        ("b.py", 1, 1),
    ]


def test_reach_is_taken_over():
    reach = Reach(2, 30, 5, 4, (Skip("a.py", 1, "f", "too deep"),))
    coverage = report(reach=reach).coverage
    assert (coverage.files, coverage.lines, coverage.functions, coverage.entered) == (2, 30, 5, 4)
    assert coverage.skipped == (SkippedFunction("a.py", 1, "f", "too deep"),)


def identities(text: str) -> list[str]:
    lines = [number for number, line in enumerate(text.split("\n"), 1) if "draw(" in line]
    return [one.id for one in report(*(violated(line) for line in lines), text=text).issues]


def test_an_id_is_stable_when_lines_move():
    before = "def f(key):\n    x = draw(key)\n    y = draw(key)\n"
    after = "import jax\n\n\ndef g():\n    pass\n\n\ndef f(key):\n    x  =  draw(key)\n\n    y = draw(key)\n"
    assert identities(before) == identities(after)


def test_ids_differ_by_function_line_and_ordinal():
    text = "def f(key):\n    draw(key)\n    draw(key)\ndef g(key):\n    draw(key)\n    x = draw(key)\n"
    assert len(set(identities(text))) == 4


def test_an_id_needs_no_valid_python():
    assert identities("def f(:\n  draw(key)") == identities("\ndef f(:\n  draw(key)")


def test_enclosing_functions():
    text = (
        "class A:\n"
        "    def f(self):\n"
        "        if x:\n"
        "            def inner():\n"
        "                pass\n"
        "try:\n"
        "    pass\n"
        "except E:\n"
        "    def g():\n"
        "        pass\n"
    )
    places = outline(text)
    assert [enclosing(places, line) for line in range(1, 11)] == [
        "A",
        "A.f",
        "A.f",
        "A.f.inner",
        "A.f.inner",
        "",
        "",
        "",
        "g",
        "g",
    ]


def test_findings_of_one_mistake_are_one() -> None:
    """The worst and first stays, and says what the others say of other lines; what only costs time is another matter."""
    here, there = span(1), span(2)
    value = Value(0, here)
    first = Obligation(here, rule="x", message="first", cause=(value,))
    same = Obligation(here, rule="y", severity=Severity.WARNING, message="same")
    later = Obligation(there, rule="z", message="later", cause=(value,), steps=(Step(here, "because"),))
    slow = Obligation(here, rule="w", severity=Severity.PERFORMANCE, message="slow")
    kept, other = distinct([first, same, slow, later])
    assert [(one.span, one.text) for one in kept.steps] == [(there, "later"), (here, "same")]
    assert other is slow
