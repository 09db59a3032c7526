"""The tools that agents ask, by the official SDK of the Model Context Protocol; the one module that imports it.

Every tool only reads. Answers have a schema, are bounded, and say in `notice` what was left out. A question that cannot
be answered gives one sentence that the agent can act on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from jaxaudit.config import UsageError
from jaxaudit.surfaces.answers.findings import (
    AuditAnswer,
    ChangeAnswer,
    Explanation,
    UnknownAnswer,
    audit_answer,
    change_answer,
    explanation,
    facts_page,
    rule_page,
    unknown_answer,
)
from jaxaudit.surfaces.answers.functions import FunctionAnswer, function_answer
from jaxaudit.surfaces.answers.held import Audits
from jaxaudit.surfaces.answers.values import ValueAnswer, value_answer
from jaxaudit.version import VERSION

Answer = TypeVar("Answer")

INSTRUCTIONS = (
    "Facts about JAX programs, from source alone: nothing is run or imported. Issues are almost never false alarms; "
    "warnings may be meant; `unknown` is neither right nor wrong. Start with `audit` of the files at hand, or "
    "`audit_change` after an edit; then `show_function` and `ask_value` for facts. Paths are relative to where the "
    "server was started."
)
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

Paths = Annotated[list[str], Field(description="Files or directories; none means the current directory.")]
Rules = Annotated[list[str], Field(description="Tell only of these rules or families, such as `random`.")]
Most = Annotated[int, Field(description="How many rows to give at most.", ge=1, le=200)]
File = Annotated[str, Field(description="The Python file.")]


def server() -> MCPServer[Any]:
    """Return a server with all tools."""
    made: MCPServer[Any] = MCPServer("jaxaudit", instructions=INSTRUCTIONS, version=VERSION, log_level="ERROR")
    audits = Audits()

    @made.tool(title="Audit paths", annotations=_READ_ONLY, structured_output=True)
    def audit(paths: Paths = [], rules: Rules = [], max_findings: Most = 20) -> AuditAnswer:  # noqa: B006
        """Audit Python files that use JAX: what is violated, with the line, the reason and a fix."""
        return _answered(lambda: audit_answer(audits, paths, rules, max_findings))

    @made.tool(title="Facts on one page", annotations=_READ_ONLY, structured_output=True)
    def facts(paths: Paths = []) -> str:  # noqa: B006
        """Print what is worth reading on one page: of a file its facts, of a directory an index of where to look."""
        return _answered(lambda: facts_page(audits, paths))

    @made.tool(title="Audit a change", annotations=_READ_ONLY, structured_output=True)
    def audit_change(
        base: Annotated[str, Field(description="A commit, `A..B` or `A...B`; empty compares with HEAD.")] = "",
        max_findings: Most = 20,
    ) -> ChangeAnswer:
        """Tell what a change broke: what was proved before and is not now, what is new, what callers rely on."""
        return _answered(lambda: change_answer(base, max_findings))

    @made.tool(title="Explain a finding", annotations=_READ_ONLY, structured_output=True)
    def explain_finding(
        id: Annotated[str, Field(description="The id that `audit` or `show_function` gave.")],
        paths: Paths = [],  # noqa: B006
    ) -> Explanation:
        """Tell all about one finding: the steps that lead to it, the code, and the page of its rule."""
        return _answered(lambda: explanation(audits, id, paths))

    @made.tool(title="Explain a rule", annotations=_READ_ONLY, structured_output=True)
    def explain_rule(rule: Annotated[str, Field(description="Such as `key-reused`.")]) -> str:
        """Print the page of a rule: what it demands, why, an example, and what to write instead."""
        return _answered(lambda: rule_page(rule))

    @made.tool(title="Show a function", annotations=_READ_ONLY, structured_output=True)
    def show_function(
        path: File,
        function: Annotated[str, Field(description="Its name, `Class.method` for a method.")],
        parts: Annotated[
            list[str], Field(description="Of `flow`, `shapes`, `axes`, `stack`, `boundaries`; none means all.")
        ] = [],  # noqa: B006
        max_rows: Most = 40,
    ) -> FunctionAnswer:
        """Show the data flow, shapes, axes, stack of transformations and what crosses them, of one function."""
        return _answered(lambda: function_answer(audits, path, function, parts, max_rows))

    @made.tool(title="Ask about a value", annotations=_READ_ONLY, structured_output=True)
    def ask_value(
        path: File,
        name: Annotated[str, Field(description="The variable or parameter.")],
        line: Annotated[int, Field(description="The line that binds it; 0 means all lines.", ge=0)] = 0,
        max_rows: Most = 20,
    ) -> ValueAnswer:
        """Tell who reads a value, what for, which value it is the successor of, and which random key it is."""
        return _answered(lambda: value_answer(audits, path, name, line, max_rows))

    @made.tool(title="List what is unknown", annotations=_READ_ONLY, structured_output=True)
    def list_unknown(paths: Paths = [], rules: Rules = [], max_reasons: Most = 20) -> UnknownAnswer:  # noqa: B006
        """List what could not be decided and why, the most frequent reason first: where a reader has to look."""
        return _answered(lambda: unknown_answer(audits, paths, rules, max_reasons))

    return made


def _answered(ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except UsageError as error:
        raise ToolError(str(error)) from error
