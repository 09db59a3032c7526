"""Programs whose gradients are right, and one mistake at a time in them, read as source and traced by JAX."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from pathlib import Path

import pytest
from gradients.mistakes import MISTAKES, PROGRAMS, Mistake

from jaxaudit.analyses.solve import solve
from jaxaudit.discover import decode_file, loader
from jaxaudit.frontends.source.read import read_source
from jaxaudit.ir import Program
from jaxaudit.rules.base import Obligation, Severity, Verdict
from jaxaudit.rules.intent import judged
from jaxaudit.rules.registry import all_rules

RULES = [rule for rule in all_rules() if rule.family == "gradients"]
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.py"))
ON_PURPOSE = {"residual_gradient": ["missing-stop-gradient"], "meant_so": ["dead-parameter"]}
"""Where intent cannot be told for sure: a warning stays."""


def judge(program: Program) -> list[Obligation]:
    facts = solve(program, {need for rule in RULES for need in rule.needs})
    return [one for rule in RULES for one in judged(rule, facts)]


def violated(program: Program) -> list[Obligation]:
    return [one for one in judge(program) if one.verdict is Verdict.VIOLATED]


def read(name: str, text: str) -> Program:
    files = [decode_file(f"{name}.py", text.encode())]
    return read_source(files, loader(files)).program  # type: ignore[arg-type]


def traced(name: str, path: Path) -> Program:
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    from jaxaudit.frontends.jaxpr import lower

    lower.install_markers()
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(module)
        return lower.trace_and_lower(module.main, (), {}, name="main", path=str(path))


def warned(found: list[Obligation]) -> list[str]:
    assert [(one.rule, one.span.line) for one in found if one.severity is not Severity.WARNING] == []
    return [one.rule for one in found]


@pytest.mark.parametrize("name", NAMES)
def test_correct_source(name: str) -> None:
    program = read(name, (PROGRAMS / f"{name}.py").read_text(encoding="utf-8"))
    assert warned(violated(program)) == ON_PURPOSE.get(name, [])


@pytest.mark.parametrize("name", NAMES)
def test_correct_trace(name: str) -> None:
    program = traced(f"correct_{name}", PROGRAMS / f"{name}.py")
    assert warned(violated(program)) == ON_PURPOSE.get(name, [])


def check(mistake: Mistake, program: Program) -> None:
    lines = mistake.text().splitlines()
    found = [one for one in violated(program) if one.rule == mistake.rule]
    assert {lines[one.span.line - 1].strip() for one in found} == {mistake.line, *mistake.also}
    assert {one.severity for one in found} == {Severity.ERROR if mistake.sure else Severity.WARNING}


def titled(found: list[Mistake]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("mistake", found, ids=[f"{one.rule}: {one.title}" for one in found])


@titled([one for one in MISTAKES if one.in_source])
def test_mistake_in_source(mistake: Mistake) -> None:
    check(mistake, read("mistake", mistake.text()))


@titled([one for one in MISTAKES if one.in_trace])
def test_mistake_in_trace(mistake: Mistake, tmp_path: Path) -> None:
    path = tmp_path / "mistake.py"
    path.write_text(mistake.text(), encoding="utf-8")
    check(mistake, traced("mistake", path))


def test_every_rule_has_mistakes() -> None:
    own = {"non-scalar-grad", "broken-straight-through", "where-nan-gradient", "wrong-custom-derivative"}
    own |= {"gradient-applied-elsewhere", "tangent-discarded", "updates-for-other-parameters", "uphill-step"}
    counts = {rule.name: sum(one.rule == rule.name for one in MISTAKES) for rule in RULES if rule.name not in own}
    assert all(count >= 5 for count in counts.values()), counts


def test_reasons_name_leaves_and_stops() -> None:
    program = read("dqn_same", (PROGRAMS / "dqn_same.py").read_text(encoding="utf-8"))
    reasons = {one.rule: one.reason for one in judge(program) if one.verdict is Verdict.PROVED}
    assert reasons["dead-parameter"] == "the gradient of `loss` reaches all 4 leaves of `params`"
    assert reasons["missing-stop-gradient"] == "the bootstrapped target is cut by `stop_gradient`, line 14"
