from pathlib import Path

import pytest

import fakes
import jaxaudit
from jaxaudit.analyses.solve import provide
from jaxaudit.analyses.versions import Versions
from jaxaudit.config import Config, UsageError
from jaxaudit.frontends.base import Problem, SourceFile
from jaxaudit.ir import Op, Program, Region, Root
from jaxaudit.reports.notes import Notes
from jaxaudit.rules.base import Rule
from jaxaudit.session import Seen, audit, audit_paths, audit_text
from jaxaudit.spans import Span


class Broken(Rule):
    """Fails."""

    name = "broken"
    family = "random"
    summary = "Fails."

    def check(self, program, facts):
        raise RuntimeError("oh no")
        yield


@pytest.fixture
def session(monkeypatch, tmp_path):
    fakes.install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JAXAUDIT_DEBUG", raising=False)


def places(findings) -> list[tuple[str, str, int]]:
    return [(one.rule, one.path, one.line) for one in findings]


def test_from_files_to_a_report(session):
    Path("a.py").write_text("x = 1  #BAD\ny = 2  #ODD\nz = 3  #OPEN\nw = 4  #FINE\n")
    Path("b.py").write_text("x = 1  #SLOW\n")
    report = audit_paths(["."], Config()).report
    assert places(report.issues) == [("bad-line", "a.py", 1), ("bad-line", "b.py", 1)]
    assert places(report.warnings) == [("bad-line", "a.py", 2)]
    assert [target.path for target in report.targets] == ["a.py", "b.py"]
    assert (report.coverage.obligations, report.coverage.proved, report.coverage.unknown) == (5, 1, 1)


def test_the_public_function(session):
    Path("a.py").write_text("x = 1  #BAD\n")
    assert len(jaxaudit.check("a.py").issues) == 1
    assert len(jaxaudit.check().issues) == 1
    assert len(jaxaudit.check("a.py", ignore=("bad-line",)).issues) == 0


def test_suppressions_are_applied(session):
    outcome = audit_text("a.py", b"x = 1  #BAD # jaxaudit: ignore[bad-line] known\n", Config())
    assert outcome.report.issues == ()
    assert outcome.report.coverage.suppressed == 1


def test_files_that_cannot_be_read_or_parsed_are_issues(session):
    results = [Problem("a.py", 1, 1, "cannot decode"), SourceFile("b.py", "NOT PYTHON"), SourceFile("c.py", "x #BAD")]
    report = audit(results, Config()).report
    assert places(report.issues) == [
        ("unreadable-file", "a.py", 1),
        ("unreadable-file", "b.py", 2),
        ("bad-line", "c.py", 1),
    ]


def test_an_unreadable_file_stays_an_issue_unless_it_is_ignored(session):
    results = [SourceFile("b.py", "NOT PYTHON")]
    assert len(audit(results, Config(select=("bad-line",))).report.issues) == 1
    assert audit(results, Config(ignore=("unreadable-file",))).report.issues == ()
    assert audit(results, Config(ignore=("files",))).report.issues == ()


def test_rules_that_are_not_wanted_do_not_run(session):
    results = [SourceFile("a.py", "x #BAD")]
    report = audit(results, Config(ignore=("random",))).report
    assert (report.issues, report.coverage.obligations, report.coverage.by_family) == ((), 0, {})


def test_per_file_ignores(session, tmp_path):
    config = Config(root=tmp_path, per_file_ignores=(("tests/", ("random",)),))
    results = [SourceFile("tests/a.py", "x #BAD # jaxaudit: ignore[bad-line]"), SourceFile("b.py", "x #BAD")]
    report = audit(results, config).report
    assert places(report.issues) == [("bad-line", "b.py", 1)]
    assert report.warnings == ()
    assert report.coverage.obligations == 1


@pytest.mark.parametrize(
    "config",
    [Config(select=("bad-lin",)), Config(ignore=("bad-lin",)), Config(per_file_ignores=(("x", ("bad-lin",)),))],
)
def test_an_unknown_rule_is_refused_with_the_nearest(session, config):
    with pytest.raises(UsageError, match=r"there is no rule or family `bad-lin`; did you mean `bad-line`\?$"):
        audit([], config)


def test_a_broken_rule_loses_nothing_else(session, monkeypatch):
    import jaxaudit.session

    good = jaxaudit.session.all_rules()
    monkeypatch.setattr(jaxaudit.session, "all_rules", lambda: (Broken, *good))
    outcome = audit([SourceFile("a.py", "x #BAD")], Config())
    assert places(outcome.report.issues) == [("bad-line", "a.py", 1)]
    (fault,) = outcome.faults
    assert fault.startswith("internal error in rule broken: RuntimeError: oh no (test_session.py:")


@pytest.mark.parametrize("stage", ["read_source", "Facts"])
def test_a_broken_stage_is_told(session, monkeypatch, stage):
    def fail(*arguments):
        raise RecursionError("too deep")

    monkeypatch.setattr(f"jaxaudit.session.{stage}", fail)
    outcome = audit([Problem("a.py", 1, 1, "no"), SourceFile("b.py", "x #BAD")], Config())
    assert len(outcome.faults) == 1
    assert "RecursionError: too deep" in outcome.faults[0]
    assert places(outcome.report.issues)[0] == ("unreadable-file", "a.py", 1)


def test_a_broken_domain_costs_only_the_rules_that_need_it(monkeypatch):
    import jaxaudit.session

    def fail(facts, needs):
        if needs == (Versions,):
            raise KeyError("lost")
        provide(facts, needs)

    monkeypatch.delenv("JAXAUDIT_DEBUG", raising=False)
    monkeypatch.setattr(jaxaudit.session, "provide", fail)
    text = "import jax\n\ndef twice(key):\n    return jax.random.normal(key) + jax.random.uniform(key)\n"
    outcome = audit([SourceFile("a.py", text)], Config())
    assert places(outcome.report.issues) == [("key-reused", "a.py", 4)]
    (fault,) = outcome.faults
    assert fault.startswith("internal error in the analysis of Versions: KeyError: 'lost' (test_session.py:")


def test_debugging_shows_the_traceback(session, monkeypatch):
    fakes.install(monkeypatch, Broken)
    monkeypatch.setenv("JAXAUDIT_DEBUG", "1")
    with pytest.raises(RuntimeError, match="oh no"):
        audit([SourceFile("a.py", "")], Config())


def test_what_a_test_expects_to_fail_is_not_entered():
    text = "import pytest\n\ndef test_f(g):\n    with pytest.raises(TypeError):\n        g(lambda x: x)\n"
    coverage = audit_text("t.py", text.encode(), Config()).report.coverage
    assert [(one.line, one.reason) for one in coverage.skipped] == [(5, "a test expects the code around it to fail")]


def test_a_function_that_cannot_be_read_loses_nothing_else(monkeypatch):
    import jaxaudit.frontends.source.read as read

    enter = read.interpret_root

    def fail(it, function):
        if function.name == "odd":
            it.heap.begin()
            raise ValueError("oh no")
        enter(it, function)

    monkeypatch.setattr(read, "interpret_root", fail)
    text = "import jax\n\ndef odd(key):\n    pass\n\ndef twice(key):\n"
    text += "    return jax.random.normal(key) + jax.random.uniform(key)\n"
    outcome = audit([SourceFile("a.py", text)], Config())
    assert places(outcome.report.issues) == [("key-reused", "a.py", 7)]
    assert [one.reason for one in outcome.report.coverage.skipped] == ["an internal error while reading it"]
    (fault,) = outcome.faults
    assert fault.startswith("internal error in reading odd (a.py:3): ValueError: oh no (test_session.py:")


def test_what_jax_went_through_is_decided():
    text = "import jax\n\ndef f(a, b):\n    return jax.tree.map(lambda x, y: x + y, a, b)\n"
    files = [SourceFile("f.py", text)]
    alone = audit(files, Config()).report
    assert "tree-structure-mismatch" in {one.rule for one in alone.unknown}
    op = Op("array.map", (), (), Span("f.py", 4, 40, 4, 45))
    region = Region("root", "f", Span("f.py", 3, 0, 3, 0), ops=[op])
    seen = Seen(Program((Root("f", "f.py", region),), "jaxpr"), Notes(Program((), "jaxpr")))
    report = audit(files, Config(), seen).report
    assert "tree-structure-mismatch" not in {one.rule for one in report.unknown}
