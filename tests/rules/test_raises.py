"""What a rule calls an exception is a field, not a word: every rule that may raise says so, and says it truly."""

import re

import pytest
from sketch import Sketch

from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.rules.base import Obligation, Raises, Rule, Verdict
from jaxaudit.rules.intent.policy import lowered
from jaxaudit.rules.registry import all_rules
from jaxaudit.spans import Span

SAYS = re.compile(r"\b(raises\b(?! nothing)|refuses\b)")
PERHAPS = re.compile(r"\bor (JAX |it )?raises\b|\braises, or\b")


def violated(rule: type[Rule]) -> list[Obligation]:
    found = []
    for example in rule.invalid:
        file = SourceFile("example.py", example.program)
        program = read_source([file], lambda path: None).program
        found += rule().run(program, solve(program, set(rule.needs)))
    return [one for one in found if one.verdict is Verdict.VIOLATED]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_rules_say_what_raises(rule):
    found = violated(rule)
    raising = [one for one in found if one.raises is not Raises.NOTHING]
    spoken = [one for one in found if SAYS.search(f"{one.message}. {one.current}") and not PERHAPS.search(one.current)]
    assert [one.current for one in spoken if one not in raising] == []
    if rule.always_raises:
        assert {one.raises for one in found} == {Raises.TRACING}


@pytest.mark.parametrize(
    ("path", "raises", "severity"),
    [
        ("tests/test_a.py", Raises.TRACING, "warning"),
        ("tests/test_a.py", Raises.LATER, "warning"),
        ("tests/test_a.py", Raises.NOTHING, "error"),
        ("src/a.py", Raises.TRACING, "error"),
    ],
)
def test_only_what_raises_is_milder_in_tests(path, raises, severity):
    one = Obligation(Span(path, 1, 0, 1, 5), message="m", raises=raises, rule="axis-conflict")
    (judged,) = lowered([one], Sketch().facts())
    assert judged.severity.value == severity
