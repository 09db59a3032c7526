"""Comments that silence findings: `# jaxaudit: ignore[rule] reason`.

A comment speaks for the whole statement it stands in, or, on a line of its own, for the statement below it. Every
name in it must earn its place: one that is unknown or silences nothing is reported.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence

from jaxaudit.config import nearest
from jaxaudit.frontends.base import SourceFile
from jaxaudit.ir.record import record, replace
from jaxaudit.reports.build import order
from jaxaudit.reports.identity import Sources, with_ids
from jaxaudit.reports.model import Finding, Report, Suggestion

_COMMENT = re.compile(r"#\s*jaxaudit:\s*ignore\b\s*(\[(?P<names>[^\]]*)\])?")


@record
class Suppression:
    """One comment: the names in it, where it stands (1-based), and the lines it speaks for."""

    path: str
    line: int
    column: int
    end_column: int
    names: tuple[str, ...]
    first: int
    last: int

    def covers(self, finding: Finding) -> bool:
        """Whether a finding starts in the lines that the comment speaks for."""
        return finding.path == self.path and self.first <= finding.line <= self.last


def apply_suppressions(
    report: Report,
    files: Sequence[SourceFile],
    families: Mapping[str, str],
    runs: Callable[[str, str], bool],
    sources: Sources,
) -> Report:
    """Take the silenced findings out of a report and put in a warning for each name that silences nothing.

    `families` maps every rule to its family, and `runs` tells whether a rule was run on a path.
    """
    comments = [comment for file in files for comment in find_suppressions(file)]
    if not comments:
        return report
    used: set[tuple[Suppression, str]] = set()
    issues = tuple(one for one in report.issues if not _silenced(one, comments, used))
    warnings = [one for one in report.warnings if not _silenced(one, comments, used)]
    silenced = len(report.issues) + len(report.warnings) - len(issues) - len(warnings)
    judged = [comment for comment in comments if runs(comment.path, "unused-suppression")]
    warnings += with_ids(sorted(_unused(judged, used, families, runs), key=order), sources)
    return replace(
        report,
        issues=issues,
        warnings=tuple(sorted(warnings, key=order)),
        coverage=replace(report.coverage, suppressed=silenced),
    )


def find_suppressions(file: SourceFile) -> Iterator[Suppression]:
    """Return the suppressions of one file; none when it is not valid Python, which is an issue of its own."""
    # A null byte is no Python, and CPython 3.13's tokenizer fails on it in odd ways.
    if "jaxaudit:" not in file.text or "\0" in file.text:
        return
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(file.text, newline=None).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    statements = _statements(tokens)
    comments = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    for token in tokens:
        match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
        if match is None:
            continue
        names = tuple(name.strip() for name in (match["names"] or "").split(",") if name.strip())
        line, column = token.start
        start, end = column + match.start() + 1, column + match.end() + 1
        yield Suppression(file.path, line, start, end, names, *_scope(line, statements, comments))


def _scope(line: int, statements: Sequence[tuple[int, int]], comments: set[int]) -> tuple[int, int]:
    """Return the lines of the statement that a comment stands in, or directly above with only comments between."""
    first, last = next((lines for lines in statements if line <= lines[1]), (line, line))
    return (first, last) if comments.issuperset(range(line, first)) else (line, line)


def _statements(tokens: Sequence[tokenize.TokenInfo]) -> list[tuple[int, int]]:
    """Return the first and last line of every logical line, in order."""
    statements: list[tuple[int, int]] = []
    first = 0
    for token in tokens:
        if token.type == tokenize.NEWLINE:
            statements.append((first, token.start[0]))
            first = 0
        elif not first and token.type not in _BETWEEN:
            first = token.start[0]
    return statements


_BETWEEN = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


def _silenced(finding: Finding, comments: Sequence[Suppression], used: set[tuple[Suppression, str]]) -> bool:
    if finding.rule == "unreadable-file":
        return False
    matches = {
        (comment, name)
        for comment in comments
        if comment.covers(finding)
        for name in comment.names
        if name in (finding.rule, finding.family)
    }
    used |= matches
    return bool(matches)


def _unused(
    comments: Sequence[Suppression],
    used: set[tuple[Suppression, str]],
    families: Mapping[str, str],
    runs: Callable[[str, str], bool],
) -> Iterator[Finding]:
    for comment in comments:
        if not comment.names:
            yield _warning(comment, "this comment names no rule", "write `# jaxaudit: ignore[rule] reason`")
        for name in comment.names:
            rules = [rule for rule, family in families.items() if name in (rule, family)]
            if not rules:
                known = {*families, *families.values()}
                yield _warning(
                    comment, f"there is no rule or family `{name}`{nearest(name, known)}", "correct the name"
                )
            elif (comment, name) not in used and all(runs(comment.path, rule) for rule in rules):
                yield _warning(comment, f"`ignore[{name}]` silences nothing here", "remove it")


def _warning(comment: Suppression, message: str, cure: str) -> Finding:
    return Finding(
        id="",
        rule="unused-suppression",
        family="suppressions",
        severity="warning",
        path=comment.path,
        line=comment.line,
        column=comment.column,
        end_line=comment.line,
        end_column=comment.end_column,
        message=message,
        suggestion=Suggestion(cure),
    )
