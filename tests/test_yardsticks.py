"""The yardsticks: JAX's own key-reuse cases, correct idioms from public code, and mistakes people really make."""

from __future__ import annotations

from pathlib import Path

import pytest
from yardsticks.key_reuse_table import TABLE, render
from yardsticks.programs import Program, answer, audit_source, audited, expected, misplaced, programs, without_comments

from jaxaudit.reports.model import Report

KEY_REUSE = programs("key_reuse")
IDIOMS = programs("idioms")
MISTAKES = programs("mistakes")
ALL = [*KEY_REUSE, *IDIOMS, *MISTAKES]


def by_name(found: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", found, ids=[program.name for program in found])


def places(report: Report) -> list[tuple[str, int]]:
    return [(finding.rule, finding.line) for finding in report.issues]


@by_name(KEY_REUSE)
def test_key_reuse_case(program: Program) -> None:
    row = expected()[program.name]
    report = audited(program.path)
    said = answer(report)
    if "today" in row:
        assert said == row["today"], "a gap has changed: update `today` and `gap` in expected.toml"
        return
    assert misplaced(program, report) == []
    if row["jaxaudit"] == "warning":
        assert said != "error"
    else:
        assert said == row["jaxaudit"], [one.reason for one in report.unknown]


@by_name(KEY_REUSE)
def test_older_keys_get_the_same_answer(program: Program) -> None:
    older = without_comments(program.path).replace("random.key(", "random.PRNGKey(")
    report = audit_source(older)
    assert places(report) == places(audited(program.path))
    assert answer(report) == answer(audited(program.path))


@by_name(IDIOMS)
def test_correct_idiom_gives_no_finding(program: Program) -> None:
    assert not program.errors
    assert misplaced(program, audited(program.path)) == []


@by_name(MISTAKES)
def test_mistake_is_found(program: Program) -> None:
    report = audited(program.path)
    assert misplaced(program, report) == []
    if program.errors:
        assert report.issues, [one.reason for one in report.unknown]


@by_name(ALL)
def test_program_says_what_it_shows(program: Program) -> None:
    first = program.path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert first.endswith(".")


def test_every_program_has_a_row_and_every_row_a_program() -> None:
    assert sorted(expected()) == [program.name for program in KEY_REUSE]


def test_rows_agree_with_marks() -> None:
    for program in KEY_REUSE:
        verdict = expected()[program.name]["jaxaudit"]
        assert (verdict == "error") == bool(program.errors), program.name


def test_a_row_says_why_we_differ_from_jax() -> None:
    for name, row in expected().items():
        same = row["jax_traced"].startswith("error") == (row["jaxaudit"] == "error")
        assert same or row.get("reason"), name
        assert ("today" in row) == ("gap" in row), name


def test_every_random_rule_has_mistakes() -> None:
    from jaxaudit.rules.registry import all_rules

    named = {rule for program in MISTAKES for mark in program.errors for rule in mark.rules}
    # A key that is given and not used is no reuse.
    others = {"seed-for-given-key"}
    assert {rule.name for rule in all_rules() if rule.family == "random"} <= named | others


def test_table_is_up_to_date() -> None:
    assert Path(TABLE).read_text(encoding="utf-8") == render(), "run `python tests/yardsticks/key_reuse_table.py`"
