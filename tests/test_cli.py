import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import fakes
from jaxaudit import __version__
from jaxaudit.reports.registry import format_names
from jaxaudit.reports.rule_page import rule_page
from jaxaudit.rules.base import Rule
from jaxaudit.surfaces.cli import cli, main

FORMATS = format_names()


@pytest.fixture
def folder(monkeypatch, tmp_path) -> Path:
    fakes.install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    Path("bad.py").write_text("x = f(k)  #BAD\n")
    Path("odd.py").write_text("x = f(k)  #ODD\n")
    Path("open.py").write_text("x = f(k)  #OPEN\n")
    Path("fine.py").write_text("x = f(k)  #FINE\n")
    return tmp_path


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, arguments, input=stdin, catch_exceptions=False)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["fine.py"], 0),
        (["bad.py"], 1),
        (["odd.py"], 0),
        (["open.py"], 0),
        (["odd.py", "--strict"], 1),
        (["open.py", "--strict"], 1),
        (["fine.py", "--strict"], 0),
        (["bad.py", "--exit-zero"], 0),
        ([], 1),
        (["bad.py", "--ignore", "bad-line"], 0),
        (["bad.py", "--ignore", "files,random"], 0),
        (["bad.py", "--select", "random", "--select", "files"], 1),
        (["bad.py", "--select", "files"], 0),
        (["nowhere.py"], 2),
        (["--no-such-option"], 2),
    ],
)
def test_exit_codes_of_check(folder, arguments, code):
    assert run("check", *arguments).exit_code == code


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.py"], "no such file or directory: nowhere.py"),
        (["--format", "jason"], "there is no format `jason`; did you mean `json`?"),
        (["--format", "x"], f"there is no format `x`; use {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"),
        (["--select", "bad-lin"], "select: there is no rule or family `bad-lin`; did you mean `bad-line`?"),
        (["--ignore", "radnom"], "ignore: there is no rule or family `radnom`; did you mean `random`?"),
        (["-", "bad.py"], "standard input (`-`) cannot be audited together with other paths"),
        (["bad.py", "--stdin-filename", "x.py"], "--stdin-filename needs `-` as the only path"),
        (["--output", "no/such/dir"], "cannot write no/such/dir: No such file or directory"),
    ],
)
def test_bad_usage_is_one_sentence(folder, arguments, sentence):
    result = run("check", *arguments)
    assert (result.exit_code, result.stderr, result.stdout) == (2, f"jaxaudit: {sentence}\n", "")


def test_bad_configuration(folder):
    Path("pyproject.toml").write_text("[tool.jaxaudit]\nexclud = []\n")
    result = run("check")
    assert result.exit_code == 2
    assert result.stderr.endswith("[tool.jaxaudit] has no key `exclud`; did you mean `exclude`?\n")


def test_text(folder):
    assert run("check", "bad.py").stdout == (
        "bad.py:1:1  error  bad-line\n"
        "this line is bad\n\n"
        "  1 │ x = f(k)  #BAD\n"
        "    │ ━━━━━━━━\n\n"
        "Found 1 error.\n"
        "Read 1 file (1 line), entered 3 of 4 functions; decided 1 of 1 obligation (100%).\n"
    )


def test_quiet_and_verbose(folder):
    assert run("check", "-q").stdout == "bad.py:1:1: error[bad-line] this line is bad\n"
    assert "Verified Correct" in run("check", "-v").stdout


def test_json(folder):
    report = json.loads(run("check", "--format", "json").stdout)
    assert [issue["path"] for issue in report["issues"]] == ["bad.py"]
    assert report["tool"] == {"name": "jaxaudit", "version": __version__}


def test_output_goes_to_a_file(folder):
    result = run("check", "--format", "json", "-o", "report.json")
    assert (result.stdout, result.exit_code) == ("", 1)
    assert json.loads(Path("report.json").read_text())["issues"]


def test_standard_input(folder):
    result = run("check", "-", "--stdin-filename", "bad.py", "--format", "json", stdin="a\nb\nc  #BAD é\n")
    assert [(one["path"], one["line"]) for one in json.loads(result.stdout)["issues"]] == [("bad.py", 3)]
    assert run("check", "-", stdin=b"\xff").exit_code == 1
    assert "stdin.py:1:1" in run("check", "-", stdin="x #BAD").stdout


def test_force_exclude(folder):
    Path("pyproject.toml").write_text("[tool.jaxaudit]\nexclude = ['bad.py']\n")
    assert run("check", "bad.py").exit_code == 1
    assert run("check", "bad.py", "--force-exclude").exit_code == 0
    assert run("check", "-", "--stdin-filename", "bad.py", "--force-exclude", stdin="x #BAD").exit_code == 0


def test_strict_by_configuration(folder):
    Path("pyproject.toml").write_text("[tool.jaxaudit]\nstrict = true\n")
    assert run("check", "odd.py").exit_code == 1


@pytest.mark.parametrize(
    ("name", "reason"), [("odd.py", "is 1 warning"), ("open.py", "is 1 obligation that cannot be decided")]
)
def test_a_strict_audit_says_why_it_fails_without_issues(folder, name, reason):
    assert run("check", name, "--strict").stderr == f"jaxaudit: the audit is strict, and there {reason}\n"
    assert run("check", name, "--strict", "--exit-zero").stderr == ""
    assert run("check", name, "bad.py", "--strict").stderr == ""


def test_an_interrupt_ends_with_its_own_exit_code(folder, monkeypatch, capsys):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxaudit.session.audit", interrupted)
    monkeypatch.setattr("sys.argv", ["jaxaudit", "check", "--no-cache", "bad.py"])
    monkeypatch.setattr("os._exit", sys.exit)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.strip() == "jaxaudit: interrupted"


@pytest.mark.parametrize(
    "arguments", [["check", "n.ipynb"], ["check", "-", "--stdin-filename", "n.ipynb"], ["run", "n.ipynb"]]
)
def test_notebooks_are_refused(folder, arguments):
    Path("n.ipynb").write_text('{"cells": []}')
    result = run(*arguments, stdin='{"cells": []}')
    assert result.exit_code == 2
    assert result.stderr == (
        "jaxaudit: n.ipynb is a notebook, which cannot be read: `jupyter nbconvert --to script` makes a file of it\n"
    )


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_written(folder, name):
    result = run("check", "bad.py", "odd.py", "--format", name, "--output", "report")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "")
    assert "bad.py" in Path("report").read_text()


def test_no_files_is_said(folder):
    Path("empty").mkdir()
    result = run("check", "empty")
    assert (result.exit_code, result.stderr) == (0, "jaxaudit: no Python files to audit in empty\n")


def test_a_fault_of_ours_is_told_after_the_report(folder, monkeypatch):
    monkeypatch.delenv("JAXAUDIT_DEBUG", raising=False)
    monkeypatch.setattr("jaxaudit.session.Facts", lambda program: 1 / 0)
    result = run("check", "bad.py", "--exit-zero")
    assert result.exit_code == 2
    assert result.stderr.startswith("jaxaudit: internal error in the analysis: ZeroDivisionError: division by zero (")
    assert "No issues." in result.stdout


def test_show_ir(folder):
    result = run("check", "bad.py", "--show-ir")
    assert result.exit_code == 1
    assert "error" not in result.stdout


def test_rules(folder):
    assert run("rules").stdout == (
        "files\n"
        "  unreadable-file     A file cannot be read, decoded or parsed, so nothing in it is audited.\n"
        "random\n"
        "  bad-line            A line is bad.\n"
        "suppressions\n"
        "  unused-suppression  A `# jaxaudit: ignore[...]` comment silences nothing, or names an unknown\n"
        "                      rule.\n"
    )


def test_explain(folder):
    assert run("explain", "bad-line").stdout == "# bad-line (random)\n\nA line is bad.\n\n## Example\n\nA line.\n"
    assert run("explain", "random").stdout == "random\n  bad-line  A line is bad.\n"
    result = run("explain", "bad-lime")
    assert (result.exit_code, result.stderr) == (
        2,
        "jaxaudit: there is no rule or family `bad-lime`; did you mean `bad-line`?\n",
    )


def test_version():
    assert run("--version").stdout == f"jaxaudit {__version__}\n"


def test_code_in_a_page_is_fenced():
    class Shown(Rule):
        """A line.

        ## Example
            if a:
                b

            c

        ## When it cannot tell
        Never.
        """

        def check(self, program, facts):
            return iter(())

    page = "A line.\n\n## Example\n\n```python\nif a:\n    b\n\nc\n```\n\n## When it cannot tell\n\nNever."
    assert rule_page(Shown) == page
    Shown.__doc__ = page
    assert rule_page(Shown) == page
