"""Shapes in plain words: comments such as `# (B, T, D)` and docstrings that say `array of shape [batch, time]`.

What people write here is a hint, often stale and sometimes no shape at all. It gives axes names and nothing more, and
only where the number of axes is known from elsewhere and agrees.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.model import Leaf
from jaxaudit.ir import Declared
from jaxaudit.spans import Span

Names = tuple[str, ...]

_ENTRY = re.compile(r"(?:\.\.\.|[A-Za-z_]\w*|\d+)(?:\s*(?://|[*+/-])\s*\w+)*")
_BRACKETS = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
_COMMENT = re.compile(
    r"(?:(?!shape|dims?\b)(?P<name>[A-Za-z_]\w*)\s*(?::|is|has)\s*)?(?:->|=>|shapes?\s*(?:is|:|=)?|dims?\s*:?|of)?\s*"
    r"(?P<shape>[(\[][^()\[\]]*[)\]])(?P<rest>.*)",
    re.IGNORECASE,
)
_CROSSED = re.compile(r"(?:(?P<name>[A-Za-z_]\w*)\s*:\s*)?(?P<shape>\w+(?:\s+[x\u00d7]\s+\w+)+)\s*\.?")
_GOES_ON = re.compile(r"\s*(?:[=,)(\]^*+/%&|<>]|-(?!>)|for\b|in\b)")
"""What follows brackets of a formula, or of code."""
_CODE = re.compile(r"[={}\"'@]|\w\(|\bdef\b|\breturn\b")
_PARAMETER = re.compile(r"\s*\*{0,2}[`*]*(?P<name>\w+)[`*]*\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)")
_SAID = re.compile(
    r"(?:\bshapes?\b\W{0,3}(?:of|is|as)?\W{0,3}|^\W{0,3}(?:an?\s)?\W{0,3}|\bof\s\W{0,2})(?P<shape>[(\[][^()\[\]]*[)\]])"
    r"(?P<rest>[^.;]{0,40})",
    re.IGNORECASE,
)
_ARRAYS = re.compile(r"\b(?:array|tensor|matrix|vector|batch|shape|ndarray)", re.IGNORECASE)
_MOST = 8


def parsed(text: str) -> Names | None:
    """Return the names of a shape in brackets, empty where an entry is a number or an expression; None for no shape."""
    match = _BRACKETS.fullmatch(text.strip())
    inside = "" if match is None else match[1] or match[2] or ""
    entries = [entry.strip() for entry in inside.rstrip(", ").split(",")]
    if not entries or len(entries) > _MOST or not all(_ENTRY.fullmatch(entry) for entry in entries):
        return None
    # No axis has size 0: `[0, 1]` are the bounds of an interval.
    return None if "..." in entries or "0" in entries else tuple(entries)


def in_comment(text: str) -> tuple[str, Names] | None:
    """Return the shape that a comment tells, with the name of the variable it speaks of, if it names one."""
    if _CODE.search(text.partition("->")[0]):
        return None
    told = text.rpartition("->")[2].strip() if "->" in text else text
    match = _COMMENT.fullmatch(told)
    if match is not None and not _GOES_ON.match(match["rest"]):
        names = parsed(match["shape"])
        return None if names is None else (match["name"] or "", names)
    crossed = _CROSSED.fullmatch(told)
    if crossed is not None:
        return crossed["name"] or "", tuple(re.split(r"\s+[x\u00d7]\s+", crossed["shape"]))
    return None


@lru_cache(maxsize=4096)
def in_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Mapping[str, Names]:
    """Return the shapes that a docstring tells of parameters."""
    text = ast.get_docstring(node, clean=True)
    if text is None or ("[" not in text and "(" not in text):
        return {}
    params = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    found: dict[str, Names] = {}
    for name, said in _entries(text.splitlines(), params):
        for match in _SAID.finditer(said):
            names = parsed(match["shape"])
            if names is not None and _ARRAYS.search(said):
                found.setdefault(name, names)
                break
    return found


def _entries(lines: Sequence[str], params: set[str]) -> Iterator[tuple[str, str]]:
    """Return what is said of each parameter, with the lines that go on below it."""
    at = 0
    while at < len(lines):
        match = _PARAMETER.fullmatch(lines[at])
        at += 1
        if match is None or match["name"] not in params:
            continue
        said = match["text"]
        indent = len(lines[at - 1]) - len(lines[at - 1].lstrip())
        while at < len(lines) and lines[at].strip() and len(lines[at]) - len(lines[at].lstrip()) > indent:
            said = f"{said} {lines[at].strip()}"
            at += 1
        yield match["name"], said


def note_assignment(it: Interpreter, node: ast.Assign | ast.AnnAssign, target: ast.expr) -> None:
    """Note the shape that a comment on the line of an assignment, or alone on the line above, gives its variable."""
    module = it.frame.module
    comments = it.project.comments_in(module)
    if not comments or not isinstance(target, ast.Name):
        return
    value = it.frame.env.get(target.id)
    if not isinstance(value, Leaf) or value.value in it.declared:
        return
    for line in (node.end_lineno or node.lineno, node.lineno - 1):
        text = comments.get(line)
        if text is None or "jaxaudit" in text or (line < node.lineno and not it.project.is_alone(module, line)):
            continue
        told = in_comment(text)
        if line < node.lineno and told is not None and ("->" in text or _speaks_of_before(told[0], node)):
            continue
        if told is not None and told[0] in ("", target.id):
            span = Span(module.path, line, 0, line, 0)
            it.declared[value.value] = Declared(told[1], f"{module.path}:notes", "comment", span)
            return


def _speaks_of_before(name: str, node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether a comment above may name what an assignment starts from: `mask = mask[:, None]`."""
    read = () if node.value is None else ast.walk(node.value)
    return any(isinstance(one, ast.Name) and one.id == name for one in read)
