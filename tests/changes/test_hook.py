"""`jaxaudit hook`: what an edit broke, told to a coding agent; trouble of any kind is told and exits with 0."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from jaxaudit.changes.states import Comparison
from jaxaudit.changes.verdict import audit_change
from jaxaudit.outcome import Outcome
from jaxaudit.surfaces.cli import cli

NOISE = """
import jax

@jax.jit
def noise(key, x):
    first, second = jax.random.split(key)
    return jax.random.normal(first, x.shape) + jax.random.uniform(second, x.shape)
"""
REUSED = NOISE.replace("uniform(second", "uniform(first")
FEEDBACK = """\
jaxaudit: this edit of noise.py brings a finding that was not there in the last commit.

noise.py:6:48 error[key-reused] `first` is used again: `normal` drew from it on line 6
  now: `uniform` uses `first`, and `normal` already drew from it on line 6, so both see the same random bits
  meant: every key is used once
  held before: `second` is row 1 of the split on line 5, and no other use on its path has that row
  fix: split it before line 6: `first, subkey = jax.random.split(first)`, and use each part once
  see noise.py:5: `key` is split into 2 here
  see noise.py:6: first used here

Repair these, or say in the code that they are meant: `# jaxaudit: ignore[key-reused] why`. \
`jaxaudit explain key-reused` has the rule.
"""


def tell(event: object, *options: str) -> Result:
    data = event if isinstance(event, str) else json.dumps(event)
    return CliRunner().invoke(cli, ["hook", *options], input=data, catch_exceptions=False)


def edited(name: str, **more: object) -> Result:
    return tell({"tool_name": "Edit", "cwd": str(Path.cwd()), "tool_input": {"file_path": name}, **more})


def told(done: Result) -> tuple[int, str, str]:
    return done.exit_code, done.stdout, done.stderr


def test_what_an_edit_breaks_is_told(project):
    project.commit(noise=NOISE)
    project.write(noise=REUSED)
    code, out, err = told(edited(str(project.root / "noise.py")))
    assert (code, out) == (2, "")
    assert err == FEEDBACK


def test_what_was_there_before_is_not_told(project):
    project.commit(noise=REUSED)
    project.write(noise=REUSED + "\n\ndef other(x):\n    return jax.numpy.sin(x)\n")
    assert told(edited("noise.py")) == (0, "", "")


def test_a_clean_edit_is_silent(project):
    project.commit(noise=NOISE)
    project.write(noise=NOISE.replace("first", "one"))
    assert told(edited("noise.py")) == (0, "", "")
    project.write(noise=NOISE)
    assert told(edited("noise.py")) == (0, "", "")


def test_other_agents_name_the_file_elsewhere(project):
    project.commit(noise=NOISE)
    project.write(noise=REUSED)
    for event in (
        {"hook_event_name": "afterFileEdit", "workspace_roots": [str(project.root)], "file_path": "noise.py"},
        {"agent_action_name": "post_write_code", "tool_info": {"file_path": str(project.root / "noise.py")}},
        {"tool_name": "replace", "tool_input": {"absolute_path": str(project.root / "noise.py")}},
    ):
        assert tell(event).exit_code == 2, event


def test_callers_in_other_files_are_audited_where_a_boundary_changed(project):
    sample = "import jax\n\ndef sample(key, shape):\n    return jax.random.normal(key, shape)\n"
    use = """
    import jax
    from sample import sample

    def both(key):
        first, second = jax.random.split(key)
        return sample(first, (3,)), sample(second, (3,))
    """
    project.commit(sample=sample, use=use, other="import jax\n")
    project.write(sample=sample.replace("key, shape):", "key, mean, shape):"))
    done = edited("sample.py")
    assert done.exit_code == 2
    assert "use.py:6:12 error[signature-mismatch]" in done.stderr


def test_of_the_users_of_plain_code_those_are_audited_that_may_lead_to_jax(project, monkeypatch):
    audited: list[set[str]] = []

    def noted(comparison: Comparison, *given: Any, **how: Any) -> Outcome:
        audited.append({*comparison.after.files})
        return audit_change(comparison, *given, **how)

    monkeypatch.setattr("jaxaudit.changes.edit.audit_change", noted)
    sizes = "def size(count):\n    return 2 * count\n"
    plain = "from sizes import size\n\ndef width(count):\n    return size(count) + 1\n"
    jax = "import jax.numpy as jnp\n"
    project.commit(
        sizes=sizes,
        between=plain,
        report=plain,
        train=f"{jax}from between import width\n\ndef start(count):\n    return jnp.zeros(width(count))\n",
        use=f"{jax}from sizes import size\n\ndef start(count):\n    return jnp.zeros(size(count))\n",
    )
    project.write(sizes=sizes.replace("2", "3"))
    edited("sizes.py")
    assert audited == [{"sizes.py"}, {"sizes.py", "between.py", "use.py"}]


def test_a_file_that_git_does_not_know_is_compared_with_what_it_was(project):
    project.commit(other="import jax\n")
    project.write(noise=REUSED)
    assert edited("noise.py").exit_code == 2
    assert edited("noise.py", tool_response={"originalFile": REUSED}).exit_code == 0
    undone = {"tool_input": {"file_path": "noise.py", "old_string": "normal(first,", "new_string": "normal(first, "}}
    assert tell({"cwd": str(project.root), **undone}).exit_code == 0


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        ("{", "the event on standard input is not JSON (Expecting property name enclosed in double quotes: line 1"),
        ("[1]", "the event on standard input is not a JSON object"),
        ("{}", "the event names no file that was edited"),
        ({"tool_input": {"file_path": 3}}, "the event names no file that was edited"),
        ({"tool_input": {"file_path": "notes.md"}}, "notes.md is no Python file, so it is not audited"),
        ({"tool_input": {"file_path": "gone.py"}}, "gone.py is not there any more, so it is not audited"),
        ({"tool_input": {"file_path": sys.prefix + "/away.py"}}, "is not there any more, so it is not audited"),
        ({"tool_input": {"file_path": "plain.py"}}, "this edit of plain.py does not touch JAX, so it is not audited"),
        ({"tool_input": {"file_path": pytest.__file__}}, "so it is not audited"),
    ],
)
def test_trouble_is_a_sentence(project, event, sentence):
    project.commit(noise=NOISE)
    project.write(plain="print('hello')\n")
    code, out, err = told(tell(event))
    assert (code, out) == (0, "")
    assert err.startswith("jaxaudit: ")
    assert sentence in err


def test_a_file_outside_of_the_project_is_not_audited(project, tmp_path):
    project.commit(noise=NOISE)
    outside = tmp_path / "outside.py"
    outside.write_text(REUSED)
    sentence = f"jaxaudit: ../outside.py is outside of the project in {project.root}, so it is not audited\n"
    assert told(edited(str(outside))) == (0, "", sentence)


def test_a_fault_of_ours_is_a_sentence(project, monkeypatch):
    project.commit(noise=NOISE)
    project.write(noise=REUSED)
    monkeypatch.setattr("jaxaudit.changes.edit.audit_change", lambda *_, **__: 1 / 0)
    sentence = "jaxaudit: internal error: ZeroDivisionError: division by zero (JAXAUDIT_DEBUG=1 shows more)\n"
    assert told(edited("noise.py")) == (0, "", sentence)


def test_at_most_ten_findings(project):
    project.commit(noise=NOISE)
    project.write(
        noise="import jax\n"
        + "".join(REUSED.replace("import jax\n", "").replace("noise", f"noise{i}") for i in range(12))
    )
    done = edited("noise.py")
    assert done.stderr.count("error[key-reused]") == 10
    assert "2 more: `jaxaudit diff` shows all." in done.stderr


def test_the_deadline_is_kept(project):
    project.commit(noise=NOISE)
    project.write(noise=REUSED)
    event = json.dumps({"tool_input": {"file_path": "noise.py"}})
    command = [sys.executable, "-m", "jaxaudit", "hook", "--deadline", "0.01"]
    done = subprocess.run(command, input=event, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "jaxaudit: this edit was not audited within 0.01 seconds\n")


def test_nothing_of_the_deadline_is_left_behind(project):
    before = threading.active_count()
    assert edited("gone.py").exit_code == 0
    assert threading.active_count() == before
