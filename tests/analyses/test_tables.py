"""Every table of the analyses and rules names ops of the vocabulary, and leaves none out that it must know."""

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys.domain import KeysDomain
from jaxaudit.analyses.solve import SOURCES
from jaxaudit.ir import Program
from jaxaudit.ir.ops import LOOPS, MAPPED, VOCABULARY
from jaxaudit.rules.random import python_random_in_traced_code, same_key_across_vmap, same_key_in_loop
from jaxaudit.rules.registry import all_rules


def test_transfer_functions_are_for_ops_without_regions():
    table = KeysDomain(Facts(Program((), "test"))).table
    assert {name for name in table if VOCABULARY[name].regions != "none"} == set()


def test_every_key_op_is_modelled_or_fresh():
    fresh = {"key.draw", "key.clone", "key.stream"}
    keys = {name for name in VOCABULARY if name.startswith("key.")}
    assert keys - fresh <= set(KeysDomain(Facts(Program((), "test"))).table)


def test_rules_have_words_for_every_loop_and_map():
    assert set(same_key_in_loop._LOOPS) == set(LOOPS)
    assert set(same_key_across_vmap._WORDS) == set(MAPPED)
    assert set(python_random_in_traced_code._ONCE) <= set(VOCABULARY)


def test_rules_need_domains_that_exist():
    assert {need for rule in all_rules() for need in rule.needs} <= set(SOURCES)
