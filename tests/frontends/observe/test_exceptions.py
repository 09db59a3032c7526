"""Every row of the table of exceptions is tested with a program that JAX really refuses."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jaxaudit.frontends.jaxpr.exceptions.model import Facts
from jaxaudit.frontends.jaxpr.exceptions.refused import failed
from jaxaudit.frontends.jaxpr.exceptions.table import ROWS, explain
from jaxaudit.frontends.jaxpr.protocol import Failure, Frame, Given, Leaf
from jaxaudit.pages import all_pages
from jaxaudit.spans import SourceText

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from failing_leaves import PROGRAMS  # noqa: E402

OTHER_VERSIONS = (
    "body_fun",
    "Expected (?:dict",
    "global size of its dimension",
    "(\\d+) (?:logical devices|replicas)",
    "pmap got inconsistent sizes",
    "All input arrays must have the same",
)
"""Rows for what other versions of jax say; the one that is tested never does."""


def _is_missing(failure: dict) -> bool:
    """Whether a library is not installed here; jax always is."""
    return failure["type"] == "ModuleNotFoundError" and not re.search("'(jax|no_such)", failure["message"])


def facts_of(path: str, failure: dict) -> Facts:
    frames, origin = ([Frame(**frame) for frame in failure[key]] for key in ("frames", "origin"))
    given = tuple(Given(one["function"], tuple(map(tuple, one["arguments"]))) for one in failure["given"])
    told = (failure["type"], tuple(failure["bases"]), failure["message"], tuple(frames), tuple(origin), given)
    leaves = tuple(Leaf(**one) for one in failure.get("leaves", ()))
    at = Leaf(**failure["at"]) if failure.get("at") else None
    known = Failure(
        *told, tuple(failure["causes"]), tuple(failure["similar"]), leaves, at, tuple(failure.get("holds", ()))
    )
    return Facts(known, lambda name: SourceText(name, Path(name).read_text()), str, frozenset([path]))


@pytest.fixture(scope="module")
def failures(tmp_path_factory) -> list[tuple[str, dict]]:
    pytest.importorskip("jax")
    pytest.importorskip("flax")
    folder = tmp_path_factory.mktemp("failing")
    done = subprocess.run(
        [sys.executable, HERE / "run_failing.py", folder], capture_output=True, text=True, check=False, timeout=600
    )
    rows = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("FACTS ")]
    assert len(rows) == len(PROGRAMS), done.stderr[-2000:]
    return [(row["path"], row["failure"]) for row in rows]


@pytest.mark.parametrize("number", range(len(PROGRAMS)), ids=lambda number: f"{PROGRAMS[number].rule}-{number}")
def test_exceptions_are_explained_where_they_are_caused(failures, number):
    program = PROGRAMS[number]
    path, failure = failures[number]
    assert failure is not None, "the program did not fail"
    if _is_missing(failure):
        pytest.skip(failure["message"])
    facts = facts_of(path, failure)
    told = explain(facts)
    marked = [line for line, text in enumerate(Path(path).read_text().splitlines(), 1) if text.endswith("#!")]
    assert told.rule == program.rule
    assert (told.span or facts.span).line in marked
    assert program.said in f"{told.message} {told.current} {told.expected} {told.suggestion}"


def test_every_row_is_exercised(failures):
    used = set()
    for path, failure in failures:
        facts = facts_of(path, failure)
        used |= {(row.pattern, row.types) for row in ROWS if row.matches(facts.failure) is not None}
    if any(_is_missing(failure) for _, failure in failures):
        pytest.skip("a library is not installed")
    idle = [row.pattern for row in ROWS if (row.pattern, row.types) not in used]
    assert [pattern for pattern in idle if not any(part in pattern for part in OTHER_VERSIONS)] == []


def test_every_rule_of_the_table_has_a_page():
    assert {program.rule for program in PROGRAMS} <= {page.name for page in all_pages()}


def test_messages_stand_alone(failures):
    for path, failure in failures:
        told = explain(facts_of(path, failure))
        assert told.message
        assert "\n" not in told.message
        assert len(told.message) < 220


def test_an_unknown_exception_is_told_as_it_is():
    facts = facts_of(
        __file__,
        {
            "type": "a.OddError",
            "bases": ["Exception"],
            "message": "",
            "frames": [],
            "origin": [],
            "given": [],
            "causes": [],
            "similar": [],
        },
    )
    assert explain(facts) == failed(facts, None)
    assert explain(facts).message == "the program stops here with OddError"
