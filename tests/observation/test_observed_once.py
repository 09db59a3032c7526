"""Observed once, checked ever after: tests show shapes that `check` starts from."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest.importorskip("jax")

LOSS = """\
import jax.numpy as jnp


def squared_error(weights, features, targets):
    predictions = features @ weights
    return jnp.mean((predictions - targets) ** 2)
"""
TEST = """\
import jax.numpy as jnp
from losses import squared_error
from sizes import ROWS


def test_squared_error():
    for _ in range(3):
        assert squared_error(jnp.ones((1, 1)), jnp.ones((ROWS, 1)), jnp.ones(ROWS)) == 0
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {"JAXAUDIT_CACHE_DIR": str(folder / "cache"), "JAX_PLATFORMS": "cpu", "NO_COLOR": "1", "COLUMNS": "200"}
    python = [sys.executable, "-m", *arguments]
    done = subprocess.run(
        python, cwd=folder / "project", env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a project whose sizes come from elsewhere, and run its tests once."""
    folder = tmp_path_factory.mktemp("once")
    project = folder / "project"
    project.mkdir()
    (project / "losses.py").write_text(LOSS)
    (project / "sizes.py").write_text("import os\n\nROWS = int(os.environ.get('ROWS', '16'))\n")
    (project / "test_losses.py").write_text(TEST)
    before = run(folder, "jaxaudit", "check", "losses.py")
    assert "No issues." in before.stdout
    installed = any(point.name == "jaxaudit" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "jaxaudit.surfaces.pytest_plugin"]
    tests = run(folder, "pytest", *plugin, "-p", "no:cacheprovider", "-q", "--jaxaudit")
    assert "1 passed" in tests.stdout, tests.stdout
    return folder


@pytest.fixture
def losses(folder):
    """Give the audited file back as it was."""
    path = folder / "project" / "losses.py"
    yield path
    path.write_text(LOSS)


def test_the_shapes_of_the_tests_show_the_mistake(folder, losses):
    told = run(folder, "jaxaudit", "check", "losses.py").stdout
    assert "losses.py:6:22  error  silent-broadcast" in told
    assert "(16, 1) meets (16,) and is silently broadcast to (16, 16)" in told
    assert (
        "`squared_error` is observed in test_losses.py::test_squared_error, 3 calls, "
        "with weights float32[1, 1], features float32[16, 1], targets float32[16]" in " ".join(told.split())
    )


def test_without_observed_facts_it_is_left_open(folder, losses):
    assert "No issues." in run(folder, "jaxaudit", "check", "losses.py", "--no-observed").stdout


def test_an_edit_of_the_body_keeps_what_is_known_of_the_arguments(folder, losses):
    losses.write_text(LOSS.replace("(predictions - targets) ** 2", "jnp.abs(predictions - targets)"))
    told = " ".join(run(folder, "jaxaudit", "check", "losses.py").stdout.split())
    assert "silent-broadcast" in told
    assert "3 calls, changed since, with" in told


def test_what_jax_would_refuse_is_an_error_once_the_function_has_changed(folder, losses):
    losses.write_text(LOSS.replace("features @ weights", "features @ targets"))
    told = run(folder, "jaxaudit", "check", "losses.py").stdout
    assert "losses.py:5:19  error" in told


def test_another_signature_is_another_function(folder, losses):
    losses.write_text(LOSS.replace("(weights, features, targets)", "(features, weights, targets)"))
    assert "No issues." in run(folder, "jaxaudit", "check", "losses.py").stdout


def test_a_damaged_store_is_told_and_the_audit_goes_on(folder, losses):
    stored = {path: path.read_bytes() for path in (folder / "cache" / "observed").glob("*.json")}
    for path in stored:
        path.write_bytes(b"{")
    done = run(folder, "jaxaudit", "check", "losses.py")
    assert "No issues." in done.stdout
    assert done.returncode == 0
    assert "what was observed of" in done.stderr
    for path, data in stored.items():
        path.write_bytes(data)


def test_fields_of_records_and_objects_of_libraries_are_known_too(folder):
    project = folder / "project"
    (project / "train.py").write_text(TRAIN)
    assert run(folder, "jaxaudit", "run", "train.py").returncode == 0
    told = run(folder, "jaxaudit", "check", "train.py", "-v").stdout
    without = run(folder, "jaxaudit", "check", "train.py", "--no-observed").stdout
    table = run(folder, "jaxaudit", "check", "train.py", "--format", "markdown").stdout
    (project / "train.py").unlink()
    assert "train.py:17 update  observed in train.py, 1 call" in told
    assert "| `train.py:17` | `update` | observed in train.py, 1 call |" in table
    assert "shapes known of 4 of 4 arrays" in told
    assert "shapes known of 0 of 4 arrays" in without


def test_a_run_judges_what_is_not_traced_with_the_arguments_that_it_saw(folder):
    script = folder / "project" / "fit.py"
    script.write_text(LOSS + FIT)
    told = run(folder, "jaxaudit", "run", "fit.py").stdout
    script.unlink()
    assert "fit.py:6:22  error  silent-broadcast" in told
    assert "`squared_error` is observed in fit.py, 1 call" in " ".join(told.split())


FIT = """

ones = getattr(__import__("importlib").import_module("jax.numpy"), "ones")
squared_error(ones((1, 1)), ones((16, 1)), ones(16))
"""
TRAIN = """\
import importlib
from collections import namedtuple
from typing import NamedTuple

import jax

Made = namedtuple("Made", ["rows", "scale"])


class Batch(NamedTuple):
    features: jax.Array
    made: object
    sizes: dict


@jax.jit
def update(weights, batch):
    rows = batch.made.rows
    scaled = jax.numpy.exp(rows) * batch.sizes["width"]
    return (scaled - batch.features) @ weights


ones = getattr(importlib.import_module("jax.numpy"), "ones")
update(ones(3), Batch(ones((4, 3)), Made(ones((4, 3)), 2.0), {"width": ones(3)}))
"""


def test_nothing_is_written_into_the_project(folder):
    left = {path.name for path in (folder / "project").iterdir()} - {"__pycache__"}
    assert left == {"losses.py", "sizes.py", "test_losses.py"}


def test_what_is_known_is_listed_with_its_age_and_forgotten_on_demand(folder, losses):
    kept = {path: path.read_bytes() for path in (folder / "cache" / "observed").glob("*.json")}
    losses.write_text(LOSS.replace("** 2", "** 4"))
    told = run(folder, "jaxaudit", "observed", "losses.py").stdout.splitlines()
    assert told[0] == "losses.py:4  squared_error"
    seen = "weights float32[1, 1], features float32[16, 1], targets float32[16]: test_losses.py::test_squared_error"
    assert told[1].startswith(f"    {seen} (3 calls), ")
    assert told[1].endswith(", changed since")
    assert told[2] == "1 function of 1 file."
    losses.write_text(LOSS.replace("(weights, features, targets)", "(features, weights, targets)"))
    told = run(folder, "jaxaudit", "observed", "losses.py").stdout
    assert "squared_error  (its parameters have changed: not used)" in told
    losses.write_text(LOSS)
    assert run(folder, "jaxaudit", "observed", "--clear", "losses.py").stdout == (
        "Forgot what was observed of 1 file.\n"
    )
    assert "Nothing was observed of losses.py" in run(folder, "jaxaudit", "observed", "losses.py").stdout
    assert "No issues." in run(folder, "jaxaudit", "check", "losses.py").stdout
    for path, data in kept.items():
        path.write_bytes(data)


def test_the_report_says_which_functions_were_entered_with_observed_arguments(folder, losses):
    told = run(folder, "jaxaudit", "check", "losses.py", "-v").stdout
    assert "losses.py:4 squared_error  observed in test_losses.py::test_squared_error, 3 calls" in told
    assert "shapes known of 4 of 4 arrays" in told
    assert "shapes known of 1 of 4 arrays" in run(folder, "jaxaudit", "check", "losses.py", "--no-observed").stdout
