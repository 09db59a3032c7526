"""Every construct of every program that we have lists every clause of its contract."""

from __future__ import annotations

import pytest

from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.solve import solve
from jaxaudit.config import Config
from jaxaudit.discover import decode_file, loader
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.ir.ops import VOCABULARY
from jaxaudit.rules.base import Verdict
from jaxaudit.rules.contracts import CONTRACTS, Answers, unanswered
from jaxaudit.rules.intent import judged
from jaxaudit.rules.registry import all_rules
from jaxaudit.session import audit

RULES = all_rules()
CLAUSES = sorted({clause for row in CONTRACTS.values() for clause in row}, key=lambda one: (one.rule, one.otherwise))


def test_contracts_speak_of_ops_and_rules_that_exist():
    assert set(CONTRACTS) <= set(VOCABULARY)
    assert {clause.rule for clause in CLAUSES} <= {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_occurrence_lists_its_whole_contract(rule):
    for example in (*rule.valid, *rule.invalid):
        files = [SourceFile("example.py", example.program)]
        program = read_source(files, loader(files)).program
        facts = solve(program, {Shapes, *(need for one in RULES for need in one.needs)})
        found = [one for rule in RULES for one in judged(rule, facts)]
        found += unanswered(facts, found, {rule.name for rule in RULES})
        answers = Answers(found, facts)
        for op in program.named(*CONTRACTS):
            for clause in CONTRACTS[op.name]:
                if not op.library and clause.applies(op, facts):
                    assert answers.at(clause.rule, op, within=clause.within), (op.span, clause.rule)


NOTHING_TO_PROVE = {
    "initial-carry-mismatch": "`carry-type-changes` proves what fits and leaves open what is not known",
    "parts-cut-by-shards": "where each device has all of the axis, there is nothing to cut",
    "attribute-on-namedtuple": "whatever is set on a named tuple is lost, and any other object keeps it",
}
"""Rules that name one kind of a violation whose obligations another rule lists, or that no other code has."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_rule_only_finds_mistakes(rule):
    if rule.traced_only or rule.name in NOTHING_TO_PROVE or rule.name in {clause.rule for clause in CLAUSES}:
        return
    examples = (SourceFile("example.py", one.program) for one in (*rule.valid, *rule.invalid))
    programs = (read_source([one], loader([one])).program for one in examples)
    verdicts = {one.verdict for program in programs for one in rule().run(program, solve(program, set(rule.needs)))}
    assert verdicts - {Verdict.VIOLATED}


PROGRAM = """
import jax
import jax.numpy as jnp


def f(x, y):
    return jax.vmap(lambda a, b: a * b)(x, y) + jnp.zeros((3, 2))
"""


def test_what_no_rule_answers_is_listed_as_open():
    report = audit([decode_file("example.py", PROGRAM.encode())], Config()).report
    open_ = {(one.rule, one.line) for one in report.unknown}
    assert ("silent-broadcast", 7) in open_
    assert ("broadcast-argument-mapped", 7) in open_


def test_rules_that_are_not_wanted_list_nothing():
    report = audit([decode_file("example.py", PROGRAM.encode())], Config(ignore=("vmap",))).report
    assert "vmap" not in report.coverage.by_family


def test_an_answer_inside_an_expression_is_none_for_what_stands_around_it():
    code = b"import jax.numpy as jnp\n\n\ndef f(x, y):\n    return jnp.tanh(x) * x + y\n"
    report = audit([decode_file("example.py", code)], Config()).report
    assert "axis-conflict" in {one.rule for one in report.verified}
    assert "axis-conflict" in {one.rule for one in report.unknown}


CAPTURING = """
import jax

SCALE = 1.0


@jax.jit
def scaled(x):
    return {body}


def change(value):
    global SCALE
    SCALE = value
"""


@pytest.mark.parametrize("body", ["x * SCALE", "x * loaded()"])
def test_what_another_function_changes_or_reads_is_not_proved_to_stay(body):
    code = CAPTURING.format(body=body).replace("import jax\n", "import jax\nfrom elsewhere import loaded\n", 1)
    report = audit([decode_file("example.py", code.encode())], Config()).report
    assert "stale-captured-state" in {one.rule for one in report.unknown}
    assert "stale-captured-state" not in {one.rule for one in report.verified}
