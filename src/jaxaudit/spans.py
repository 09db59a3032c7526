"""Places in source files: the one span type every layer carries.

Lines are 1-based. Columns are 0-based UTF-8 byte offsets, exactly as `ast` gives them, because that is what every
front end starts from; `SourceText` alone turns them into the code-point columns people and report formats expect.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open stretch of one file: from (line, column) up to (end_line, end_column)."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    def covers(self, inner: Span) -> bool:
        """Whether another place lies within this one."""
        starts = (self.line, self.column) <= (inner.line, inner.column)
        ends = (inner.end_line, inner.end_column) <= (self.end_line, self.end_column)
        return self.path == inner.path and starts and ends

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column + 1}"


NOWHERE = Span("", 0, 0, 0, 0)


def span_of(node: ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler, path: str) -> Span:
    """Return the span of a syntax node (an incomplete node ends where it starts)."""
    end_line, end_column = node.end_lineno, node.end_col_offset
    if end_line is None or end_column is None:
        return Span(path, node.lineno, node.col_offset, node.lineno, node.col_offset)
    return Span(path, node.lineno, node.col_offset, end_line, end_column)


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one file by line, with column conversion."""

    path: str
    text: str
    lines: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        # Python ends lines at \n, \r and \r\n only; str.splitlines would also split at form feeds.
        normal = self.text.replace("\r\n", "\n").replace("\r", "\n")
        object.__setattr__(self, "lines", tuple(normal.split("\n")))

    def line(self, number: int) -> str:
        """Return one line of the text, empty when there is no such line."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def code_point_column(self, line: int, byte_column: int) -> int:
        """Turn a 0-based byte offset into a 0-based code-point offset."""
        text = self.line(line)
        if text.isascii():
            return byte_column
        return len(text.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "ignore"))
