"""What would raise is only a warning in tests, which are run; what gives wrong numbers stays an error."""

import pytest

import jaxaudit
from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

RAISES = """import jax


@jax.jit
def sign(x):
    if x > 0:
        return 1.0
    return -1.0
"""


@pytest.mark.parametrize(("name", "severity"), [("sign.py", "issues"), ("sign_test.py", "warnings")])
def test_what_raises(tmp_path, monkeypatch, name, severity):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(RAISES)
    report = jaxaudit.check(name)
    found = {"issues": report.issues, "warnings": report.warnings}
    assert [one.rule for one in found.pop(severity)] == ["python-branch-on-traced"]
    assert not any(found.values())


@pytest.mark.parametrize(("name", "found"), [("twice.py", ["retrace-every-call"]), ("twice_test.py", [])])
def test_what_only_costs_time_is_left_open(tmp_path, monkeypatch, name, found):
    monkeypatch.chdir(tmp_path)
    code = "import jax\n\n\ndef run(xs):\n    return [jax.jit(lambda x: x + 1)(x) for x in xs]\n"
    (tmp_path / name).write_text(code)
    report = jaxaudit.check(name)
    assert [one.rule for one in (*report.issues, *report.warnings)] == found


def test_dropped_updates_stay_errors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "import jax.numpy as jnp\n\n\ndef first(x):\n    x.at[0].set(1.0)\n    return jnp.sum(x)\n"
    (tmp_path / "update_test.py").write_text(code)
    assert [one.rule for one in jaxaudit.check("update_test.py").issues] == ["result-discarded"]


@pytest.mark.parametrize(("caller", "severity"), [("run.py", "issues"), ("steps_test.py", "warnings")])
def test_what_only_tests_trace(tmp_path, monkeypatch, caller, severity):
    monkeypatch.chdir(tmp_path)
    keeps = "class Counter:\n    def __call__(self, x):\n        self.last = x\n        return x + 1\n"
    (tmp_path / "steps.py").write_text(keeps)
    (tmp_path / caller).write_text(
        "import jax\nimport steps\n\ncounter = steps.Counter()\nstep = jax.jit(lambda x: counter(x))\nprint(step(1.0))\n"
    )
    report = jaxaudit.check(".")
    found = {"issues": report.issues, "warnings": report.warnings}
    assert [one.rule for one in found[severity]] == ["tracer-leak"]


@pytest.mark.parametrize(("name", "severity"), [("ends.py", "issues"), ("ends_test.py", "warnings")])
def test_the_ends_of_a_type(tmp_path, monkeypatch, name, severity):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("import jax.numpy as jnp\n\nzeros = jnp.zeros((3,), jnp.uint8)\nprint(zeros - 1)\n")
    report = jaxaudit.check(name)
    found = {"issues": report.issues, "warnings": report.warnings}
    assert "integer-overflow" in [one.rule for one in found[severity]]


def test_keys_in_tests_are_left_open(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "import jax\n\nkey = jax.random.key(0)\nprint(jax.random.normal(key), jax.random.uniform(key))\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "draws.py").write_text(code)
    (tmp_path / "draws.py").write_text(code)
    report = jaxaudit.check(".")
    assert [one.path for one in report.issues] == ["draws.py"]
    assert not report.warnings
    assert [one.path for one in report.unknown] == ["tests/draws.py"]


def test_comments_are_not_held_against_tests(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "masks.py").write_text("def mask(x):\n    y = x + 1  # (batch, time)\n    return y\n")
    call = "import jax.numpy as jnp\nimport masks\n\nprint(masks.mask(jnp.ones((2, 3, 4))))\n"
    (tmp_path / "masks_test.py").write_text(call)
    assert not jaxaudit.check(".").warnings
    (tmp_path / "masks_test.py").rename(tmp_path / "run.py")
    assert [one.rule for one in jaxaudit.check(".").warnings] == ["stale-shape-comment"]


@pytest.mark.parametrize(("path", "severity"), [("count.py", "error"), ("tests/test_count.py", "warning")])
def test_traces_that_are_counted(path, severity):
    code = """
import jax

def count(xs):
    traces = {"n": 0}
    def body(total, x):
        traces["n"] += 1
        return total + x, None
    return jax.lax.scan(body, 0.0, xs), traces["n"]
"""
    report = audit([SourceFile(path, code)], Config()).report
    found = [(one.line, one.rule, one.severity) for one in (*report.issues, *report.warnings)]
    assert found == [(7, "impure-body", severity)]


@pytest.mark.parametrize(("path", "found"), [("slope.py", [(8, "key-reused")]), ("tests/test_slope.py", [])])
def test_signs_of_purpose_are_enough_in_tests(path, found):
    code = """
import jax

def score(w, key):
    return (w * jax.random.normal(key, (3,))).sum()

def slope(w, key):
    return score(w + 0.1, key) - score(w - 0.1, key)
"""
    report = audit([SourceFile(path, code)], Config()).report
    assert [(one.line, one.rule) for one in report.warnings] == found
    assert not report.issues
