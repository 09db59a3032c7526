"""The derivative probe: right rules agree, wrong ones are named with what is wrong, the rest is left open."""

from __future__ import annotations

from pathlib import Path

import pytest

jax = pytest.importorskip("jax")

from frontends.jaxpr import derivative_rules as rules
from jaxaudit.frontends.jaxpr import lower
from jaxaudit.frontends.jaxpr.probe.met import NOTES, Notes
from jaxaudit.frontends.jaxpr.probe.run import probe
from jaxaudit.frontends.jaxpr.probe.samples import SMALL, plans
from jaxaudit.frontends.jaxpr.probe.subject import Subject


@pytest.fixture(autouse=True)
def noting():
    NOTES.by_code.clear()
    lower.install_markers()
    yield
    lower.uninstall_markers()
    NOTES.by_code.clear()


def probed(make):
    rule, args = make()
    rule(*args)
    (met,) = NOTES.all()
    NOTES.active = False
    try:
        return probe(met)
    finally:
        NOTES.active = True


def name(make):
    return make.__name__


@pytest.mark.parametrize("make", rules.AGREES, ids=name)
def test_a_right_rule_agrees(make):
    found = probed(make)
    assert {one.verdict for one in found} == {"agrees"}
    assert all(one.inputs == 64 for one in found)


@pytest.mark.parametrize("make", rules.ESTIMATORS, ids=name)
def test_an_estimator_is_recognised(make):
    assert [one.verdict for one in probed(make)] == ["estimator"]


@pytest.mark.parametrize("make", rules.DIFFERS, ids=name)
def test_a_wrong_rule_is_named(make):
    wrong = [one for one in probed(make) if one.verdict == "differs"]
    assert wrong
    assert all(rules.DIFFERS[make] in one.text for one in wrong)


@pytest.mark.parametrize("make", rules.UNDECIDED, ids=name)
def test_what_may_be_meant_is_no_error(make):
    assert "differs" not in {one.verdict for one in probed(make)}


def test_the_argument_and_the_returned_expression_are_named():
    by_argument = {one.argument: one for one in probed(rules.tangent_sign)}
    assert by_argument["x"].verdict == "agrees"
    place = by_argument["y"].place
    text = Path(place.path).read_text().splitlines()[place.line - 1]
    assert text[place.column : place.end_column] == "dx / y + x * dy / y**2"


def test_identity_of_a_straight_through_rule_is_said():
    (found,) = probed(rules.rounding)
    assert found.text.startswith("identity (straight-through")


def test_a_rule_is_noted_once_for_each_shape():
    rule, _ = rules.square()
    for size in (2, 2, 3, 4, 5):
        rule(jax.numpy.ones(size))
    assert [one.args[0].shape for one in NOTES.all()] == [(2,), (3,)]


def test_rules_of_libraries_are_not_noted():
    jax.nn.relu(rules.X)
    assert not list(NOTES.all())


def test_large_arguments_are_made_small():
    rule, _ = rules.scaled()
    jax.eval_shape(rule, jax.ShapeDtypeStruct((4096, 512), "float32"), jax.ShapeDtypeStruct((512,), "float32"))
    (met,) = NOTES.all()
    first = next(plans(Subject(met).kinds))
    assert sum(one.shape[0] for one in first) < SMALL
    assert first[0].shape[1] == first[1].shape[0]
    assert {one.verdict for one in probe(met)} == {"agrees"}


def test_a_rule_over_traced_values_is_left_open():
    def outer(x):
        rule = rules.backward(lambda y: y * x, lambda y: (y * x, None), lambda _, g: (g * x,))
        return rule(x)

    jax.make_jaxpr(outer)(rules.X)
    (met,) = NOTES.all()
    (found,) = probe(met)
    assert found.verdict == "open"


def test_notes_start_empty():
    assert not list(Notes().all())
