"""Both front ends agree: what source says of a value is true of what JAX traces at the same place.

The programs are a small part of those that `python -m benchmarks.agreement` compares.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
pytest.importorskip("flax")
pytest.importorskip("optax")
pytest.importorskip("equinox")

from benchmarks.agreement import suites
from benchmarks.agreement.__main__ import agreement, judge, verdict
from benchmarks.agreement.compare import Agreement, compare
from benchmarks.agreement.judge import Verdict
from benchmarks.agreement.observe import NotObservedError, observed
from benchmarks.agreement.watch import watched
from jaxaudit.discover import decode_file, loader, shown_name
from jaxaudit.frontends.source.read import read_source

TESTS = Path(__file__).parent.parent
PAIRS = sorted((TESTS / "data" / "pairs").glob("*.py"))
OTHER_SIZES = TESTS / "data" / "pairs" / "optimizer_state_of_the_other_net.py"
"""A flax module that `init` enters with other sizes than `apply`."""

PROGRAMS = [*sorted((TESTS / "gradients" / "programs").glob("*.py")), *PAIRS[::8], OTHER_SIZES]
REPAIRED = TESTS.parent / "benchmarks" / "agreement" / "programs" / "repaired.py"
LEAST_KNOWN = 0.8
"""The share of observed shapes that source must know on these programs; it may only rise."""


def contradictions(found: Agreement | Verdict) -> list[tuple[int, str]]:
    return sorted((one.span.line, one.kind) for one in found.contradictions)


def test_source_and_trace_agree_and_source_knows_most_shapes():
    total = Agreement()
    found: dict[str, Agreement] = {}
    for path in PROGRAMS:
        # A program that asks for a number cannot be traced as a whole.
        with contextlib.suppress(NotObservedError):
            found[path.name] = agreement(path, run=False)
            total.add(found[path.name])
    assert not {name: contradictions(one) for name, one in found.items() if one.contradictions}, total
    assert total.programs >= 35
    assert total.counts["observed"] > 1000
    assert total.coverage >= LEAST_KNOWN, total


def test_what_source_says_is_so_when_the_program_runs():
    total = Verdict()
    for path in (REPAIRED, *PROGRAMS[: -len(PAIRS[::8]) : 2]):
        total.add(verdict(path, watched(path)))
    assert not total.contradictions, "\n".join(map(str, total.contradictions))
    assert total.seen.total() > 4000
    assert total.coverage >= LEAST_KNOWN, total


SEEN = """\
import jax
import jax.numpy as jnp

first, second = jax.random.split(jax.random.key(0))
x = jax.nn.sigmoid(jnp.linspace(-3.0, 3.0, 12).reshape(3, 4))
n = x.shape[0]
pair = {"x": x, "n": n}
noise = jax.random.normal(first)
other = jax.random.normal(second)
"""


def test_each_kind_of_contradiction_is_found(tmp_path):
    """The oracle itself: what another program shows at the same places is not in agreement."""
    path = tmp_path / "program.py"
    path.write_text(SEEN)
    reader = judge({path: str(path)})
    seen = watched(path, numbers=True)
    assert reader.program(seen, {str(path): str(path)}).contradictions == []
    other = SEEN.replace("(3, 4)", "(4, 3)").replace('{"x"', '{"y"').replace("sigmoid", "tanh")
    path.write_text(
        other.replace("first, second = jax.random.split(jax.random.key(0))", "first = second = jax.random.key(0)")
    )
    found = reader.program(watched(path, numbers=True), {str(path): str(path)})
    kinds = {(6, "range"), (6, "shape"), (6, "value"), (7, "structure"), (9, "key")}
    assert kinds <= set(contradictions(found))


WRONG = """\
import jax.numpy as jnp

x = jnp.ones((3, 4))
y = x.sum(axis=0)
"""


def test_a_contradiction_is_found(tmp_path):
    """The oracle itself: a trace of another program at the same places is not in agreement."""
    path = tmp_path / "program.py"
    path.write_text(WRONG.replace("(3, 4)", "(5, 6)"))
    traced = observed(path)
    file = decode_file(shown_name(str(path)), WRONG.encode())
    found = compare(read_source([file], loader([file])).program, traced)
    assert contradictions(found) == [(3, "shape"), (4, "shape")]
    assert found.coverage == 0


PACKAGE = """\
import jax.numpy as jnp


def first(x):
    return x[0]


def other(x):
    return x[1]


def scaled(x, how=first):
    pair = (x, how(x))
    rows = jnp.ones((3, 4)) @ jnp.ones((4, 2))
    if x is None:
        return rows
    return pair[0] * rows[0]
"""
SUITE = """\
import jax.numpy as jnp
from toy import scaled, other


def test_scaled():
    assert scaled(jnp.ones((3, 1)), other).shape == (3, 2)
    assert scaled(jnp.ones(2)).shape == (2,)
"""


def test_source_of_a_package_alone_is_held_to_what_its_tests_show(tmp_path):
    """Functions are entered with what they may be given at all, and that holds for what tests give them."""
    package, seen = tmp_path / "toy", tmp_path / "seen.json"
    package.mkdir()
    (package / "__init__.py").write_text(PACKAGE)
    (tmp_path / "test_toy.py").write_text(SUITE)
    suites.run(sys.executable, tmp_path, "toy", seen, 60, ["test_toy.py"])
    shown = json.loads(seen.read_text())
    assert json.loads(shown["types"]["ended"]) == {"passed": 1}
    found, errors = suites.compared(package, shown)
    assert not found.contradictions
    assert not errors
    assert found.seen["shape"] > 10
    # Had it been this, which has the same places, the run would refute it.
    other = PACKAGE.replace("how(x)", "None").replace("jnp.ones((4, 2))", "jnp.ones((5, 2))")
    (package / "__init__.py").write_text(other.replace("x is None", "not False"))
    found, errors = suites.compared(package, shown)
    assert [one.rule for one in errors] == ["axis-conflict"]
    assert {(14, "raises"), (15, "value"), (17, "reached")} <= set(contradictions(found))
