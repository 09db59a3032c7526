"""Tells syntax of newer versions of Python from mistakes: a file may be right, and the interpreter too old for it."""

from __future__ import annotations

import re
from typing import NamedTuple

Version = tuple[int, int]


class Newer(NamedTuple):
    """Syntax that a version of Python brought."""

    what: str
    version: Version


_DEFAULT = Newer("a type parameter with a default", (3, 13))
_LINES: tuple[tuple[re.Pattern[str], Newer], ...] = (
    (re.compile(r"\s*(?:async\s+def|def|class)\s+\w+\s*\[[^\]]*=[^\]]*\]\s*[(:]"), _DEFAULT),
    (re.compile(r"\s*(?:async\s+)?def\s+\w+\s*\["), Newer("a function with type parameters, `def f[T](...)`", (3, 12))),
    (re.compile(r"\s*class\s+\w+\s*\["), Newer("a class with type parameters, `class C[T]`", (3, 12))),
    (re.compile(r"\s*type\s+\w+\s*(?:\[.*\]\s*)?="), Newer("a `type` statement", (3, 12))),
    (re.compile(r"\s*except\*?\s+[\w.]+\s*,\s*[\w.]+.*:"), Newer("`except` with types and no brackets", (3, 14))),
)
_TYPED = re.compile(r"\s*(?:async\s+def|def|class)\s+\w+\s*(\[[^\]]*\])(?=\s*[(:])")
_ALIAS = re.compile(r"(\s*)type\s+(\w+)\s*(?:\[[^\]]*\]\s*)?(?==)")
_NESTED = Newer("an f-string with quotes, a backslash or a comment inside its braces", (3, 12))
_QUOTE = re.compile(r"(?P<prefix>[A-Za-z]{0,2})(?P<quote>\"\"\"|'''|\"|')")


def newer_syntax(line: str, running: Version) -> Newer | None:
    """Return which syntax a line has that the `running` version of Python cannot read; None where it has none such."""
    found = next((newer for form, newer in _LINES if form.match(line)), None)
    if found is None and _has_nested(line):
        found = _NESTED
    return found if found is not None and found.version > running else None


def as_older(line: str) -> str | None:
    """Return a line as older versions of Python can read it, with everything where it was; None where that fails.

    Type parameters say nothing of what runs, and the quotes inside the braces of an f-string can be the other ones.
    """
    header = _TYPED.match(line)
    if header is not None:
        return line[: header.start(1)] + " " * len(header[1]) + line[header.end(1) :]
    alias = _ALIAS.match(line)
    if alias is not None:
        return f"{alias[1]}{alias[2]}{' ' * (alias.end() - len(alias[1]) - len(alias[2]))}{line[alias.end() :]}"
    start = next((one for one in _QUOTE.finditer(line) if _string(line, one)[1]), None)
    if start is None:
        return None
    end, quote = _string(line, start)[0] - len(start["quote"]), start["quote"]
    inside = line[start.end() : end]
    other = "'" if quote == '"' else '"'
    if len(quote) > 1 or (quote in inside and other in inside):
        return None
    return line[: start.end()] + inside.replace(quote, other).replace("\\", "_") + line[end:]


def older_text(text: str, running: Version) -> str | None:
    """Return a text as the `running` version of Python can read it; None where no line of it can be told so."""
    lines = text.splitlines(keepends=True)
    told = [as_older(line) if newer_syntax(line, running) is not None else None for line in lines]
    older = [line if one is None else one for line, one in zip(lines, told, strict=True)]
    return None if older == lines else "".join(older)


def told(line: int, newer: Newer, running: Version, who: str) -> str:
    """Return in one line why a file cannot be read; `who` is too old for it."""
    needed, has = shown(newer.version), shown(running)
    return f"this file needs Python {needed} or newer, and {who} {has}: line {line} has {newer.what}"


def shown(version: Version) -> str:
    """Write a version as people do."""
    return f"{version[0]}.{version[1]}"


def _has_nested(line: str) -> bool:
    """Whether a line has a whole f-string in whose braces stands what older versions refuse there."""
    at = 0
    while (start := _QUOTE.search(line, at)) is not None:
        end, nested = _string(line, start)
        if end < 0:
            return False
        if nested:
            return True
        at = end
    return False


def _string(line: str, start: re.Match[str]) -> tuple[int, bool]:
    """Return where a string ends, below 0 if it does not, and whether its braces hold what older versions refuse."""
    quote, formatted = start["quote"], "f" in start["prefix"].lower()
    at, depth, nested = start.end(), 0, False
    while at < len(line):
        if depth:
            nested = nested or line[at] in "\\#" or line.startswith(quote, at)
            inner = _QUOTE.match(line, at)
            if inner is not None:
                end, _ = _string(line, inner)
                nested = nested or "\\" in line[at:end]
                if (at := end) < 0:
                    break
            else:
                depth += (line[at] in "{[(") - (line[at] in "}])")
                at += 1
        elif line.startswith(quote, at):
            return at + len(quote), nested
        elif formatted and line[at] == "{" and line[at : at + 2] != "{{":
            at, depth = at + 1, 1
        else:
            at += 2 if line[at] == "\\" or line[at : at + 2] == "{{" else 1
    return -1, False
