"""What values mean: read off the ops that made them, on source and on traces alike."""

from __future__ import annotations

import pytest

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.meaning import Kind, meanings_of
from jaxaudit.analyses.meaning.kinds import named
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source

BODY = {
    "jax.nn.softmax(x)": Kind.PROBABILITIES,
    "jnp.exp(x) / jnp.sum(jnp.exp(x))": None,
    "jax.nn.sigmoid(x)": Kind.PROBABILITIES,
    "jax.nn.log_softmax(x)": Kind.LOG_PROBABILITIES,
    "x - jax.nn.logsumexp(x, axis=-1, keepdims=True)": Kind.LOG_PROBABILITIES,
    "jnp.log(jax.nn.softmax(x) + 1e-8)": Kind.LOG_PROBABILITIES,
    "jnp.exp(jax.nn.log_softmax(x))": Kind.PROBABILITIES,
    "jax.nn.softmax(x).reshape(-1)[0]": Kind.PROBABILITIES,
    "jnp.sum(jax.nn.log_softmax(x), axis=-1)": Kind.LOG_PROBABILITIES,
    "jnp.clip(jax.nn.softmax(x), 1e-6, 1.0)": Kind.PROBABILITIES,
    "(x - x.mean(0)) / (x.std(0) + 1e-8)": Kind.NORMALISED,
    "jnp.tanh(x)": Kind.SQUASHED,
    "jnp.argmax(x, axis=-1)": Kind.INDEX,
    "jax.random.categorical(key, x)": Kind.INDEX,
    "x > 0": Kind.MASK,
    "jax.nn.softmax(x) * 3.0": None,
    "-jax.nn.log_softmax(x)": None,
    "jnp.where(x > 0, x, 0.0)": None,
    "helper(x)": Kind.PROBABILITIES,
}
PROGRAM = """
import jax
import jax.numpy as jnp

def helper(y):
    return jax.nn.softmax(y, axis=-1)

def f(x, key):
    made = {expression}
    return made
"""


def read(text):
    file = SourceFile("program.py", text)
    return read_source([file], lambda path: file if path == "program.py" else None).program


def made_in(program):
    return [value for op in program.walk() for value in op.results if value.name == "made"][-1]


@pytest.mark.parametrize("expression", BODY, ids=str)
def test_meaning_on_source(expression):
    program = read(PROGRAM.format(expression=expression))
    found = meanings_of(Facts(program)).of(made_in(program))
    assert (found and found.kind) is BODY[expression]


@pytest.mark.parametrize("expression", [one for one, kind in BODY.items() if kind is not None], ids=str)
def test_meaning_on_a_trace(expression, tmp_path):
    jax = pytest.importorskip("jax")
    from jaxaudit.frontends.jaxpr.lower import Lowering, traced

    space: dict[str, object] = {}
    exec(compile(PROGRAM.format(expression=expression), str(tmp_path / "f.py"), "exec"), space)
    lowering = Lowering()
    lowering.add(traced(space["f"], (jax.numpy.ones((3, 4)), jax.random.key(0)), {}), name="f", path="f.py")
    program = lowering.program()
    found = meanings_of(Facts(program)).of(program.roots[0].region.results[0])
    assert found is not None
    assert found.kind is BODY[expression]


def test_a_softmax_written_out():
    program = read(PROGRAM.format(expression="(e := jnp.exp(x)) / e.sum(-1, keepdims=True)"))
    assert meanings_of(Facts(program)).of(made_in(program)).kind is Kind.PROBABILITIES


def test_logits_are_known_by_their_use():
    program = read(PROGRAM.format(expression="jax.nn.softmax(x)"))
    meanings = meanings_of(Facts(program))
    root = next(one for one in program.roots if one.name.endswith(".f"))
    assert meanings.said(root.region.params[0]) is Kind.LOGITS


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("reward", Kind.REWARD),
        ("next_done", Kind.DONE),
        ("batch['obs']", Kind.RAW),
        ("gae", Kind.ADVANTAGE),
        ("old_log_probs", Kind.LOG_PROBABILITIES),
        ("raw_frames", Kind.RAW),
        ("x", None),
    ],
)
def test_names_come_second(name, kind):
    assert named(name) is kind
