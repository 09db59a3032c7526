"""Every example of every rule is a test: `#!` marks the lines of errors, `#?` those of warnings, and nothing else is said."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.ir.check import check_program
from jaxaudit.observation.audit import Setting, audit_run
from jaxaudit.reports.model import Report
from jaxaudit.rules.base import Example, Rule
from jaxaudit.rules.registry import all_rules
from jaxaudit.session import audit

MARKS = {"#!": "error", "#?": "warning"}
HEADINGS = ("## What it does", "## Why is this bad?", "## Example", "## Use instead", "## When it cannot tell")


def cases(kind: str) -> list:
    return [
        pytest.param(rule, example, id=f"{rule.name}-{number}-{example.title or 'untitled'}".replace(" ", "-"))
        for rule in all_rules()
        for number, example in enumerate(getattr(rule, kind))
    ]


def observed(rule: type[Rule], example: Example) -> Report:
    """Run an example with several devices, for a rule that needs what only a trace tells."""
    pytest.importorskip("jax")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "example.py")
        script.write_text(example.program)
        seen = audit_run(str(script), (), Config(select=(rule.name,)), Setting(devices=4, stdout=subprocess.DEVNULL))
    assert seen.outcome.faults == ()
    return seen.outcome.report


def run(rule: type[Rule], example: Example) -> Report:
    if rule.traced_only:
        return observed(rule, example)
    outcome = audit([SourceFile("example.py", example.program)], Config(select=(rule.name,)))
    assert outcome.faults == ()
    assert check_program(outcome.program) == []
    return outcome.report


def marked(example: Example) -> list[tuple[int, str]]:
    lines = enumerate(example.program.split("\n"), 1)
    return [(number, MARKS[line.rstrip()[-2:]]) for number, line in lines if line.rstrip()[-2:] in MARKS]


def said(report: Report) -> list[tuple[int, str]]:
    findings = (*report.issues, *report.warnings)
    kinds = {"error": "error", "performance": "error", "warning": "warning"}
    return sorted({(one.line, kinds[one.severity]) for one in findings})


@pytest.mark.parametrize(("rule", "example"), cases("invalid"))
def test_invalid_examples_are_found_on_the_marked_lines(rule, example):
    assert marked(example), "an invalid example must mark a line with #! or #?"
    assert said(run(rule, example)) == marked(example)


@pytest.mark.parametrize(("rule", "example"), cases("valid"))
def test_valid_examples_are_silent(rule, example):
    assert marked(example) == []
    assert said(run(rule, example)) == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_every_rule_is_documented_and_shown(rule):
    assert rule.valid
    assert rule.invalid
    assert rule.summary.endswith(".")
    missing = [heading for heading in HEADINGS if heading not in (rule.__doc__ or "")]
    assert missing == []
