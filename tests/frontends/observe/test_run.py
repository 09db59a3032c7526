"""`jaxaudit run`: the script behaves as under Python, and what it did is in the report."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import issues, jaxaudit, report

pytest.importorskip("jax")

SCRIPT = """\
import os
import sys
import helper
import jax
import jax.numpy as jnp

@jax.jit
def step(params, x):
    def loss(params):
        return jnp.mean((x @ params["w"]) ** 2)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))

params = {"w": jnp.ones(4)}
for _ in range(3):
    params = step(params, jnp.ones((8, 4)))
rows = jax.vmap(lambda row: row.sum())(jnp.ones((5, 4)))
print("argv", sys.argv[1:], __name__, os.path.basename(__file__), helper.NAME, jax.config.jax_enable_x64)
sys.stderr.write("to stderr\\n")
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "helper.py").write_text("import os\nos.environ['JAX_ENABLE_X64'] = '1'\nNAME = 'helped'\n")
    return tmp_path


def test_the_script_runs_as_under_python(folder):
    done = jaxaudit("run", "train.py", "3", "--flag", cwd=folder)
    assert done.stdout.startswith("argv ['3', '--flag'] __main__ train.py helped True\n")
    assert "to stderr" in done.stderr
    assert done.returncode == 3
    assert "saw 2 traced functions" in done.stdout


def test_a_machine_format_keeps_standard_output_for_itself(folder):
    done = jaxaudit("run", "--format", "json", "train.py", cwd=folder)
    found = json.loads(done.stdout)
    assert "argv []" in done.stderr
    assert done.returncode == 0
    traced = [(target["name"], target["path"]) for target in found["targets"] if target["front_end"] == "jaxpr"]
    assert traced[0] == ("step", "train.py")
    assert len(traced) == 2
    assert {target["path"] for target in found["targets"]} == {"train.py", "helper.py"}


def test_every_section_is_filled(folder):
    found = report("run", "train.py", cwd=folder)
    stack = [(row["transform"], row["function"], row["depth"]) for row in found["transformation_stack"]]
    assert stack[:2] == [("jit", "step", 0), ("grad", "loss", 1)]
    vmap = next(row for row in found["boundaries"] if row["transform"] == "vmap")
    assert [(row["outside"], row["inside"], row["how"]) for row in vmap["entries"]] == [
        ("f64[5,4]", "f64[4]", "mapped over axis 0")
    ]
    first, *_, last = [row for row in found["data_flow"] if row["root"] == "step"]
    assert [(one["name"], one["type"]) for one in first["makes"]] == [("params['w']", "f64[4]"), ("x", "f64[8,4]")]
    assert (first["op"], last["op"]) == ("enter", "leave")


def test_the_steps_of_the_flow_are_linked(folder):
    """Every value that a step takes is made or enters before it, and every inside stands below an earlier step."""
    steps = [row for row in report("run", "train.py", cwd=folder)["data_flow"] if row["root"] == "step"]
    assert [row["id"] for row in steps] == list(range(len(steps)))
    known, insides = set(), 0
    for row in steps:
        assert set(row["reads"]) <= known, row
        known |= {one["id"] for one in (*row["makes"], *row["enters"])}
        if row["parent"] is not None:
            insides += 1
            assert row["parent"] < row["id"]
            assert row["depth"] == steps[row["parent"]]["depth"] + 1
    assert insides
    assert {left for row in steps for left in row["leaves"]} <= known


def test_an_exception_is_an_issue_and_what_was_seen_before_stays(tmp_path):
    (tmp_path / "train.py").write_text(
        "import jax\nimport jax.numpy as jnp\n\n"
        "fine = jax.jit(lambda x: x * 2)(jnp.ones(3))\n"
        "out = jax.lax.scan(lambda c, x: (c + x, x), jnp.zeros(()), jnp.ones((3, 2)))\n"
    )
    done = jaxaudit("run", "--format", "json", "train.py", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert "Traceback (most recent call last):\n  File" in done.stderr
    assert ("carry-type-changes", "train.py", 5) in issues(found)
    assert found["coverage"]["traced"] == 1
    (one,) = [one for one in found["issues"] if one["rule"] == "carry-type-changes"]
    assert "from float32[] into float32[2]" in one["message"]


def test_many_traces_are_a_performance_issue_with_their_cause(tmp_path):
    (tmp_path / "train.py").write_text(
        "import jax\nimport jax.numpy as jnp\n\n"
        "@jax.jit\ndef total(x):\n    return x.sum()\n\n"
        "for n in range(2, 12):\n    total(jnp.ones(n))\n"
    )
    found = report("run", "train.py", cwd=tmp_path)
    (one,) = [one for one in found["issues"] if one["rule"] == "retrace-every-call"]
    assert (one["severity"], one["line"]) == ("performance", 9)
    assert "`total` is traced and compiled 10 times by this call" in one["message"]
    assert "`x` was float32[2] and is float32[3]" in one["current"]
    (row,) = [row for row in found["transformation_stack"] if row["function"] == "total" and row["traces"]]
    assert row["traces"]["count"] == 10


def test_steps_and_timeout_stop_early(tmp_path):
    (tmp_path / "train.py").write_text(
        "import jax, time\n\nstep = jax.jit(lambda x: x + 1)\nx = 0.0\nwhile True:\n    x = step(x)\n"
    )
    done = jaxaudit("run", "--steps", "5", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "jaxaudit: the script was stopped early (steps)\n")
    done = jaxaudit("run", "--timeout", "6", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "jaxaudit: the script was stopped early (timeout)\n")


def test_what_is_read_after_the_last_step_still_is(tmp_path):
    """A function outside `jit` is traced once more in the end, and may call the one that has no steps left."""
    (tmp_path / "train.py").write_text(
        "import jax, jax.numpy as jnp\n\nstep = jax.jit(lambda x: x + 1)\njax.vmap(step)(jnp.ones(3))\n"
        "while True:\n    step(1.0)\n"
    )
    told = report("run", "--steps", "2", "train.py", cwd=tmp_path)
    assert [row["transform"] for row in told["transformation_stack"] if not row["depth"]] == ["jit", "vmap"]
    assert told["coverage"]["skipped"] == []


_SPREAD = """
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
x = jax.device_put(jnp.ones(4), NamedSharding(mesh, PartitionSpec("data")))
traces = []

@jax.jit
def step(x):
    traces.append(1)
    return x + 1

step(x)
assert len(traces) == 1

"""


def test_what_is_spread_over_devices_is_read_from_the_first_trace(tmp_path):
    (tmp_path / "train.py").write_text(_SPREAD + "import atexit\natexit.register(lambda: print(len(traces)))\n")
    done = jaxaudit("run", "--no-probe", "--devices", "2", "train.py", cwd=tmp_path)
    assert done.stdout.startswith("1\n"), done.stdout


def test_a_module_that_cannot_be_imported_is_blamed_itself(tmp_path):
    (tmp_path / "train.py").write_text("import jax\nimport helpers\n")
    (tmp_path / "helpers.py").write_text("import math\nimport no_such_module\n")
    (issue,) = report("run", "train.py", cwd=tmp_path)["issues"]
    assert (issue["path"], issue["line"], issue["why"][0]["path"]) == ("helpers.py", 2, "train.py")


def test_many_devices(tmp_path):
    (tmp_path / "train.py").write_text("import jax\nprint(jax.device_count())\n")
    assert jaxaudit("run", "--devices", "8", "train.py", cwd=tmp_path).stdout.startswith("8\n")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("import os\nos._exit(7)\n", "ended Python without a trace (exit code 7)"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "by signal 11 (SIGSEGV)"),
    ],
)
def test_a_crash_is_one_sentence(tmp_path, code, sentence):
    (tmp_path / "train.py").write_text(code)
    done = jaxaudit("run", "train.py", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("jaxaudit: train.py ended Python")
    assert sentence in done.stderr


def test_an_interpreter_without_jax_is_told(tmp_path):
    (tmp_path / "train.py").write_text("print('hi')\n")
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    done = jaxaudit("run", "--python", str(bare), "train.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "has no jax; name the interpreter of your project with --python" in done.stderr
    done = jaxaudit("run", "--python", "nowhere/python", "train.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "jaxaudit: there is no Python interpreter at nowhere/python\n")
    done = jaxaudit("run", "nowhere.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "jaxaudit: no such file: nowhere.py\n")


def test_modules_of_the_user_are_not_shadowed(tmp_path):
    (tmp_path / "targets.py").write_text("WHO = 'mine'\n")
    (tmp_path / "compat.py").write_text("WHO = 'mine too'\n")
    (tmp_path / "train.py").write_text("import targets, compat\nprint(targets.WHO, compat.WHO)\n")
    assert jaxaudit("run", "train.py", cwd=tmp_path).stdout.startswith("mine mine too\n")
