"""What coding agents say about an edit that they made, as JSON: which file, where, and what it was before.

Agents agree on little. The file is named in `tool_input` (Claude Code, Gemini CLI, Codex), `tool_info` (Windsurf) or at
the top (Cursor); what it held is told whole, as replacements that were made, or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PLACES = ("tool_input", "tool_info", "toolArgs")
_FILES = ("file_path", "filePath", "path", "notebook_path", "absolute_path")


class NoEditError(Exception):
    """An event that names no file to audit, told in one sentence."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of one file."""

    path: Path
    directory: Path
    """Where the agent works."""
    before: bytes | None = None
    """What the file held before, where the event tells it."""


def edit_of(data: bytes) -> Edit:
    """Read an event."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NoEditError(f"the event on standard input is not JSON ({error})") from error
    if not isinstance(event, dict):
        raise NoEditError("the event on standard input is not a JSON object")
    directory = _directory(event)
    name = next((part[key] for part in _parts(event) for key in _FILES if isinstance(part.get(key), str)), "")
    if not name or "\0" in name:
        raise NoEditError("the event names no file that was edited")
    path = Path(os.path.normpath(directory / name))
    return Edit(path, directory, _before(event, path))


def _parts(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (part for key in _PLACES if isinstance(part := event.get(key), dict))
    yield event


def _directory(event: Mapping[str, Any]) -> Path:
    roots = event.get("workspace_roots")
    told = (event.get("cwd"), *(roots if isinstance(roots, list) else ()))
    here = (Path(one) for one in told if isinstance(one, str) and one and "\0" not in one and os.path.isdir(one))  # noqa: PTH112
    return next(here, Path.cwd())


def _before(event: Mapping[str, Any], path: Path) -> bytes | None:
    """Return what the file held before: what the agent kept of it, else by undoing the replacements."""
    response = event.get("tool_response")
    whole = response.get("originalFile") if isinstance(response, dict) else None
    if isinstance(whole, str):
        return whole.encode("utf-8", "surrogatepass")
    pairs = [pair for part in _parts(event) for pair in _replacements(part)]
    try:
        text = path.read_bytes() if pairs else b""
    except OSError:
        return None
    for old, new in reversed(pairs):
        # What stands there twice cannot be undone: nobody knows which of them is new.
        if not new or text.count(new) != 1:
            return None
        text = text.replace(new, old)
    return text or None


def _replacements(part: Mapping[str, Any]) -> Iterator[tuple[bytes, bytes]]:
    edits = part.get("edits")
    for one in (part, *(edits if isinstance(edits, list) else ())):
        old, new = (one.get("old_string"), one.get("new_string")) if isinstance(one, dict) else (None, None)
        if isinstance(old, str) and isinstance(new, str):
            yield old.encode("utf-8", "surrogatepass"), new.encode("utf-8", "surrogatepass")
