"""`jaxaudit mcp`, asked by the official client over real standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="`jaxaudit mcp` needs the extra `mcp`")

import anyio
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client

PROGRAM = """\
import jax
import jax.numpy as jnp
import optax

tx = optax.adam(1e-3)


def loss(params, key, x):
    noise = jax.random.normal(key, x.shape)
    return jnp.mean((x @ params + noise) ** 2)


@jax.jit
def step(params, state, key, x):
    key, sub = jax.random.split(key)
    grads = jax.grad(loss)(params, sub, x)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)
    again = jax.random.uniform(sub, (3,))
    return params, state, key, again


def main():
    params = jnp.zeros((4, 4))
    return step(params, tx.init(params), jax.random.key(0), jnp.ones((8, 4)))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Ask everything in one session: a server takes a second to start."""
    root = tmp_path_factory.mktemp("project")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["JAXAUDIT_CACHE_DIR"] = str(root.parent / "answers")

    def git(*arguments: str) -> None:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        subprocess.run(command, cwd=root, check=True, capture_output=True, env=environment)

    (root / "train.py").write_text(PROGRAM.replace("uniform(sub", "uniform(key"))
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "a start")
    (root / "train.py").write_text(PROGRAM)
    return anyio.run(_ask, root, environment)


async def _ask(root: Path, environment: dict[str, str]) -> dict[str, object]:
    arguments = ["-m", "jaxaudit", "mcp"]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environment, cwd=root)
    found: dict[str, object] = {}
    async with Client(stdio_client(parameters)) as client:

        async def ask(key: str, tool: str, **given: object) -> object:
            found[key] = result = await client.call_tool(tool, given)
            return result.structured_content

        found["tools"] = (await client.list_tools()).tools
        audit = await ask("audit", "audit", paths=["train.py"])
        await ask("facts", "facts", paths=["train.py"])
        await ask("explain", "explain_finding", id=audit["findings"][0]["id"])
        await ask("rule", "explain_rule", rule="key-reused")
        await ask("function", "show_function", path="train.py", function="step")
        await ask("few", "show_function", path="train.py", function="step", parts=["flow"], max_rows=2)
        await ask("params", "ask_value", path="train.py", name="params", line=18)
        await ask("key", "ask_value", path="train.py", name="sub")
        await ask("unknown", "list_unknown", paths=["train.py"])
        await ask("change", "audit_change")
        await ask("no value", "ask_value", path="train.py", name="parms")
        await ask("no function", "show_function", path="train.py", function="stepp")
        await ask("no part", "show_function", path="train.py", function="step", parts=["flows"])
        await ask("no rule", "audit", paths=["train.py"], rules=["random", "key-reusd"])
        await ask("no file", "audit", paths=["nothing.py"])
        await ask("no finding", "explain_finding", id="0000")
        (root / "train.py").write_text(PROGRAM.replace("uniform(sub", "uniform(key"))
        await ask("edited", "audit", paths=["train.py"])
        (root / "broken.py").write_text("def f(:\n")
        await ask("broken", "audit", paths=["broken.py"])
    return found


def told(answers: dict[str, object], key: str) -> dict:
    result = answers[key]
    assert not result.is_error, result.content
    # What models read is the same as what programs read.
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def test_every_tool_only_reads_and_has_schemas(answers):
    names = [tool.name for tool in answers["tools"]]
    assert names == [
        "audit", "facts", "audit_change", "explain_finding", "explain_rule", "show_function", "ask_value", "list_unknown",
    ]  # fmt: skip
    for tool in answers["tools"]:
        assert tool.annotations.read_only_hint is True, tool.name
        assert tool.annotations.open_world_hint is False, tool.name
        assert tool.output_schema["type"] == "object", tool.name
        assert tool.description.endswith("."), tool.name


def test_an_audit(answers):
    audit = told(answers, "audit")
    assert (audit["files"], audit["issues"], audit["notice"]) == (1, 1, "")
    (finding,) = audit["findings"]
    assert (finding["rule"], finding["severity"], finding["line"]) == ("key-reused", "error", 19)


def test_facts_are_the_page_for_agents(answers):
    page = answers["facts"].structured_content["result"]
    assert "key-reused" in page
    assert len(page) < 6000


def test_a_finding_is_explained(answers):
    explained = told(answers, "explain")
    assert explained["finding"] == told(answers, "audit")["findings"][0]
    assert any("uniform(sub" in line for line in explained["code"])
    assert any("train.py:" in step for step in explained["steps"])
    assert "## Why is this bad?" in explained["rule_page"]


def test_a_rule_is_explained(answers):
    result = answers["rule"]
    assert "## What it does" in result.structured_content["result"]


def test_a_function_is_shown(answers):
    shown = told(answers, "function")
    assert (shown["function"], shown["path"], shown["line"]) == ("step", "train.py", 14)
    assert any("split" in row for row in shown["flow"])
    assert any("f32[4,4]" in row.replace(" ", "") for row in shown["shapes"]), shown["shapes"]
    assert any("jit(step)" in row for row in shown["stack"])
    assert any("into jit(step)" in row for row in shown["boundaries"])
    assert any("key-reused" in row for row in shown["findings"])


def test_answers_are_bounded_and_say_so(answers):
    few = told(answers, "few")
    assert len(few["flow"]) == 2
    assert few["shapes"] == few["stack"] == []
    assert "more rows of flow were left out" in few["notice"]


def test_successors_are_told(answers):
    (value,) = told(answers, "params")["values"]
    assert value["line"] == 18
    assert any(one.startswith("params of train.py:") for one in value["successor_of"]), value


def test_keys_are_told(answers):
    (value,) = told(answers, "key")["values"]
    assert any("split" in row for row in value["key"])
    assert {row.split()[1] for row in value["key"] if row.endswith("uses it")} >= {"uniform"}
    assert any("uniform" in row for row in value["readers"])


def test_what_is_unknown_is_told_by_reason(answers):
    unknown = told(answers, "unknown")
    assert unknown["unknown"] == sum(one["count"] for one in unknown["reasons"])


def test_a_change_is_audited(answers):
    change = told(answers, "change")
    assert change["touches_jax"] is True
    assert change["before"].startswith("HEAD (")
    assert "key-reused" in {one["rule"] for one in change["findings"]}


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("no value", "no value in train.py is called `parms`; did you mean `params`?"),
        ("no function", "train.py has no function `stepp`; did you mean `step`?"),
        ("no part", "there is no part `flows` of a function; did you mean `flow`?; there are flow,"),
        ("no rule", "there is no rule or family `key-reusd`; did you mean `key-reused`?"),
        ("no file", "no such file or directory: nothing.py"),
        ("no finding", "no audit that is held has a finding `0000`: give the paths that it was found in"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(answers, key, sentence):
    result = answers[key]
    assert result.is_error
    assert sentence in result.content[0].text


def test_an_edit_is_seen(answers):
    assert told(answers, "edited")["findings"] == []


def test_a_file_that_cannot_be_parsed_is_an_issue(answers):
    (finding,) = told(answers, "broken")["findings"]
    assert finding["rule"] == "unreadable-file"


def test_without_the_extra_there_is_a_sentence():
    code = "import sys; sys.modules['mcp'] = None; sys.argv = ['jaxaudit', 'mcp']; from jaxaudit.surfaces.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    sentence = "jaxaudit: `jaxaudit mcp` needs the official SDK: `pip install 'jaxaudit[mcp]'` brings it\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)
