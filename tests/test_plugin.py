"""The bundle for coding agents: its form, and that everything it names exists."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import click
import pytest
import yaml

from jaxaudit.reports.registry import format_names
from jaxaudit.surfaces.cli import cli
from jaxaudit.version import VERSION

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "plugin"
AGENT = PLUGIN / "agents" / "jax-logic-auditor.md"
DOCUMENTS = [*sorted(PLUGIN.rglob("*.md")), ROOT / "docs" / "agents-snippet.md"]
SERVED = ROOT / "src" / "jaxaudit" / "surfaces" / "mcp_server.py"
READING = {"Read", "Grep", "Glob"}
"""The tools of a coding agent that only read."""
SERVER = "mcp__plugin_jaxaudit_jaxaudit__"
"""How a coding agent calls the tools of the server `jaxaudit` of the plugin `jaxaudit`."""


def front_matter(path: Path) -> dict[str, object]:
    _, head, _ = path.read_text().split("---\n", 2)
    found = yaml.safe_load(head)
    assert isinstance(found, dict)
    return found


def loaded(name: str) -> dict[str, dict[str, object]]:
    found = json.loads((PLUGIN / name).read_text())
    assert isinstance(found, dict)
    return found


def command(line: str) -> click.Command:
    """Return the command that a line calls, with `jaxaudit` in front."""
    name = line.split()[1]
    found = cli.get_command(click.Context(cli), name)
    assert found is not None, f"there is no command `{name}`"
    return found


def server_tools() -> set[str]:
    tree = ast.parse(SERVED.read_text())
    functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
    return {one.name for one in functions if any("tool" in ast.unparse(mark) for mark in one.decorator_list)}


def test_the_manifest_names_the_version_of_the_package() -> None:
    manifest = loaded(".claude-plugin/plugin.json")
    assert (manifest["name"], manifest["version"]) == ("jaxaudit", VERSION)
    assert manifest["description"]


def test_the_hook_is_a_command_of_ours() -> None:
    hooks = loaded("hooks/hooks.json")["hooks"]
    assert hooks.keys() == {"PostToolUse"}
    (entry,) = hooks["PostToolUse"]
    assert entry["matcher"] == "Edit|Write|MultiEdit"
    (hook,) = entry["hooks"]
    assert (hook["type"], command(hook["command"]).name) == ("command", "hook")
    assert int(hook["command"].rpartition("--deadline ")[2]) < hook["timeout"]


def test_the_server_is_a_command_of_ours() -> None:
    server = loaded(".mcp.json")["mcpServers"]["jaxaudit"]
    assert command(" ".join([server["command"], *server["args"]])).name == "mcp"


@pytest.mark.parametrize("path", sorted(PLUGIN.glob("*/**/*.md")), ids=lambda path: path.stem)
def test_every_document_says_what_it_is_for(path: Path) -> None:
    head = front_matter(path)
    assert head["description"]
    name = path.parent.name if path.name == "SKILL.md" else path.stem
    assert head.get("name", name) == name
    assert len(str(head["description"])) < 1024


def test_the_auditor_has_tools_that_read_and_no_others() -> None:
    tools = {one.strip() for one in str(front_matter(AGENT)["tools"]).split(",")}
    assert tools >= READING
    own = {one.removeprefix(SERVER) for one in tools - READING}
    assert own == server_tools()


def test_the_auditor_is_told_of_each_of_its_tools() -> None:
    text = AGENT.read_text().split("---\n", 2)[2]
    assert all(f"`{tool}`" in text for tool in server_tools())


@pytest.mark.parametrize("path", [*(PLUGIN / "commands").glob("*.md"), PLUGIN / "skills" / "jaxaudit" / "SKILL.md"])
def test_other_documents_are_given_no_tool_that_writes(path: Path) -> None:
    tools = {one.strip() for one in str(front_matter(path)["allowed-tools"]).split(",")}
    for tool in tools - READING - {"Task"}:
        called = re.fullmatch(r"Bash\((jaxaudit \w+):\*\)", tool)
        assert called, f"{tool} may write"
        assert command(called[1]).name in ("check", "diff", "explain", "rules")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_every_command_and_option_that_is_named_exists(path: Path) -> None:
    text = " ".join(path.read_text().split())
    for line in re.findall(r"`(jaxaudit [^`]+)`", text):
        options = {name for param in command(line).params for name in param.opts}
        given = set(re.findall(r"(?<= )--[\w-]+", line))
        assert given <= options, f"{line}: {given - options}"
        formats = re.findall(r"--format (\w+)", line)
        assert set(formats) <= set(format_names())


def test_the_auditor_writes_the_six_sections_in_order() -> None:
    text = AGENT.read_text()
    sections = ["End-to-End Data Flow", "Transformation Stack", "Shape Trace at Boundaries"]
    sections += ["Issues Found", "Verified Correct", "Warnings"]
    assert re.findall(r"^\d\. \*\*([^*]+)\*\*:", text[text.index("## What you write") :], re.MULTILINE) == sections


def test_the_instructions_are_short_enough_to_be_followed() -> None:
    assert len(AGENT.read_text()) < 7000
