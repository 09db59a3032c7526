"""`jaxaudit.audit(...)` and `pytest --jaxaudit`, each in a process of its own so that no patch outlives it."""

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest.importorskip("jax")

AUDIT = """\
import jax
import jax.numpy as jnp
import jaxaudit


def f(x, y):
    return jax.vmap(lambda a, b: a @ b)(x, y)


good = jaxaudit.audit(f, jnp.ones((3, 4)), jax.ShapeDtypeStruct((3, 4), "float32"), axes={"x": "batch feat"})
print([(row.transform, row.options["in_axes"]) for row in good.transformation_stack])
print([(one.name, one.outside, one.inside) for one in good.boundaries[0].entries], good.issues)
bad = jaxaudit.audit(f, jnp.ones((3, 4)), jnp.ones((5, 4)))
print([(one.rule, one.line) for one in bad.issues])
print(jax.vmap.__module__)
"""

TESTS = """\
import jax
import jax.numpy as jnp


@jax.jit
def widen(x):
    return jnp.concatenate([x, x], axis=-1)


def test_shapes():
    for n in range(1, 11):
        assert widen(jnp.ones(n)).shape == (2 * n,)
"""


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "NO_COLOR": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_audit_of_a_call(tmp_path):
    (tmp_path / "call.py").write_text(AUDIT)
    done = python("call.py", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "[('vmap', '(0, 0)')]",
        "[('a', 'f32[3,4]', 'f32[4]'), ('b', 'f32[3,4]', 'f32[4]')] ()",
        "[('wrong-axis-mapped', 7)]",
        "jax._src.api",
    ], done.stderr


def audited_tests(text: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    (cwd / "test_it.py").write_text(text)
    installed = any(point.name == "jaxaudit" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "jaxaudit.surfaces.pytest_plugin"]
    return python("-m", "pytest", *plugin, "-p", "no:cacheprovider", "-q", "--jaxaudit", "test_it.py", cwd=cwd)


def test_pytest_audits_what_tests_exercise(tmp_path):
    done = audited_tests(TESTS, tmp_path)
    assert "1 passed" in done.stdout
    assert "performance  retrace-every-call" in done.stdout
    assert "saw 1 traced function" in done.stdout
    assert done.returncode == 1


def test_pytest_tells_what_could_not_be_audited(tmp_path):
    broken = "\n\ndef test_break():\n    import jaxaudit.session\n    jaxaudit.session.read_source = lambda *_: 1 / 0\n"
    done = audited_tests(TESTS.replace("range(1, 11)", "range(1, 2)") + broken, tmp_path)
    assert "2 passed" in done.stdout
    assert "jaxaudit: internal error in reading the source" in done.stdout
    assert done.returncode == 1


def test_without_the_flag_the_plugin_does_nothing(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_nothing_is_loaded():\n    assert not {'jax', 'rich', 'jaxaudit.session'} & set(sys.modules)\n"
    )
    done = python("-m", "pytest", "-p", "no:cacheprovider", "-q", "test_it.py", cwd=tmp_path)
    assert "1 passed" in done.stdout, done.stdout
