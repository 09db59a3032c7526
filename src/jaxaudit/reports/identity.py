"""Names for findings that outlive edits elsewhere in the file.

An id depends on the rule, the path, the function around the finding, the text of its line and, where all of these are
equal, the place in their order; never on a line number.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from jaxaudit.ir.record import replace
from jaxaudit.reports.model import Finding
from jaxaudit.spans import SourceText

Sources = Callable[[str], SourceText]
"""Gives the text of a file by the path that reports show; empty text when there is none."""


def with_ids(findings: Sequence[Finding], sources: Sources) -> tuple[Finding, ...]:
    """Return every finding its id; they must be in report order."""
    outlines: dict[str, Outline] = {}
    seen: Counter[tuple[str, ...]] = Counter()
    named: list[Finding] = []
    for finding in findings:
        text = sources(finding.path)
        if finding.path not in outlines:
            outlines[finding.path] = outline(text.text)
        around = enclosing(outlines[finding.path], finding.line)
        key = (finding.rule, finding.path, around, " ".join(text.line(finding.line).split()))
        named.append(replace(finding, id=_digest(*key, str(seen[key]))))
        seen[key] += 1
    return tuple(named)


Outline = tuple[tuple[int, int, str], ...]
"""First line, last line and qualified name of every function and class, outer ones first."""


def outline(text: str) -> Outline:
    """List the functions and classes of a file; none when it cannot be parsed."""
    return outline_of(parsed(text))


def parsed(text: str) -> ast.Module:
    """Return the syntax of a file, empty when it cannot be parsed."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def outline_of(tree: ast.Module) -> Outline:
    """List the functions and classes of a file."""
    return tuple(_definitions(tree.body, ""))


def enclosing(places: Outline, line: int) -> str:
    """Return the qualified name of the innermost function or class around a line, empty at the top level."""
    name = ""
    for first, last, qualified in places:
        if first <= line <= last:
            name = qualified
    return name


def _definitions(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[int, int, str]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = prefix + node.name
            yield node.lineno, node.end_lineno or node.lineno, name
            yield from _definitions(node.body, name + ".")
        else:
            yield from _definitions(list(_statements(node)), prefix)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    # Through `if`, `try`, `with`, `match`: definitions nest in statements as well as in definitions.
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.excepthandler | ast.match_case):
            yield from _statements(child)


def _digest(*parts: str) -> str:
    data = "\0".join(parts).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(data, digest_size=8).hexdigest()
