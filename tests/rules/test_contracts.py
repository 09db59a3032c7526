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
        answers = Answers(found)
        for op in program.named(*CONTRACTS):
            for clause in CONTRACTS[op.name]:
                if not op.library and clause.applies(op, facts):
                    assert answers.at(clause.rule, op, within=clause.within), (op.span, clause.rule)


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
