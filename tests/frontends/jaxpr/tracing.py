"""Traces small programs for the tests of this front end; skips them where jax is not installed."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jax")

from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.jaxpr import lower
from jaxaudit.ir import Op, Program
from jaxaudit.ir.check import check_program, unread_attributes
from jaxaudit.rules.base import Obligation, Severity, Verdict
from jaxaudit.rules.intent import judged
from jaxaudit.rules.registry import all_rules

RULES = [rule for rule in all_rules() if rule.family == "random"]


def load(path: Path, name: str) -> Any:
    """Import a file as a module, with the markers in, as a run does it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with contextlib.redirect_stdout(io.StringIO()):
        spec.loader.exec_module(module)
    return module


def trace(function: Any, *args: Any, **kwargs: Any) -> Program:
    """Trace and lower a function; the result is always well-formed. The markers stay in, which saves tracing anew."""
    lower.install_markers()
    with contextlib.redirect_stdout(io.StringIO()):
        program = lower.trace_and_lower(function, args, kwargs, name="main", path=function.__code__.co_filename)
    problems = [*check_program(program), *unread_attributes(program)]
    assert problems == [], problems
    return program


def ops(program: Program, name: str) -> list[Op]:
    """Return the ops of one name."""
    return [op for op in program.walk() if op.name == name]


def judge(program: Program) -> list[Obligation]:
    """Return what the rules about keys say."""
    facts = solve(program, {need for rule in RULES for need in rule.needs})
    return [one for rule in RULES for one in judged(rule, facts)]


def errors(program: Program) -> set[tuple[int, str]]:
    """Return line and rule of every error."""
    found = [one for one in judge(program) if one.verdict is Verdict.VIOLATED and one.severity is Severity.ERROR]
    return {(one.span.line, one.rule) for one in found}


def violations(program: Program) -> set[tuple[int, str]]:
    """Return line and rule of every violation; in a file of tests the rules only warn."""
    return {(one.span.line, one.rule) for one in judge(program) if one.verdict is Verdict.VIOLATED}
