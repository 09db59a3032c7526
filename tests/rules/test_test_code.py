"""What would raise is only a warning in tests, which are run; what gives wrong numbers stays an error."""

import pytest

import jaxaudit

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
