"""From a key back to where it came from, in words."""

from sketch import Sketch

from jaxaudit.analyses.explain import explain_term, name_of
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.rules.random._shared.phrases import line_of, short
from jaxaudit.spans import Span


def keys_of(s: Sketch) -> KeyFacts:
    facts = s.facts().get(KeyFacts)
    assert isinstance(facts, KeyFacts)
    return facts


def test_history_of_a_row():
    s = Sketch()
    seed = s.seed(0)
    seed.name = "key"
    keys = s.split(seed, 3)
    keys.name = "keys"
    row = s.row(keys, 1)
    facts = keys_of(s)
    told = [(span.line, text) for span, text in explain_term(facts, facts.term(row))]
    assert told == [(2, "`key` is made from a seed here"), (3, "`key` is split into 3 here")]
    assert name_of(facts, facts.term(row)) == "row 1 of `keys`"


def test_fold_in_is_told():
    s = Sketch()
    key = s.param("key")
    folded = s.fold(key, 3)
    facts = keys_of(s)
    assert [text for _, text in explain_term(facts, facts.term(folded))] == ["data is folded into `key` here"]


def test_lines_of_other_files_name_the_file():
    here, there = Span("a.py", 3, 0, 3, 1), Span("b.py", 7, 0, 7, 1)
    assert line_of(here, here) == "line 3"
    assert line_of(there, here) == "b.py:7"


def test_messages_stay_short():
    assert short("x" * 90) == "x" * 90
    assert len(short("x" * 200)) == 90
