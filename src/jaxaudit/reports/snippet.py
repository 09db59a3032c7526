"""Code lines for the terminal: numbered, the marked span underlined, cropped around it where the terminal is narrow.

Text of the user is shown, never obeyed: control characters (colours, cursor moves, text direction) are made visible.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

from jaxaudit.ir.record import record
from jaxaudit.spans import SourceText

_MOST_LINES = 4


@record
class Look:
    """How wide the terminal is and which characters it can show."""

    width: int
    unicode: bool = True

    @property
    def bar(self) -> str:
        """The line between number and code."""
        return "│" if self.unicode else "|"

    @property
    def mark(self) -> str:
        """The underline."""
        return "━" if self.unicode else "^"

    @property
    def more(self) -> str:
        """What stands for text left out."""
        return "…" if self.unicode else "..."


@record
class Marked:
    """The stretch of a file to show; 1-based code points, end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def clean(text: str) -> str:
    """Replace what a terminal would obey instead of showing, one character for one."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("�" if unicodedata.category(char) in _UNSAFE and char != "\t" else char for char in text)


_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def snippet(source: SourceText, marked: Marked, look: Look, style: str, indent: int = 2) -> Iterator[Text]:
    """Return the marked lines, each with its number and an underline."""
    numbers = _numbers(marked)
    gutter = len(str(marked.end_line))
    lines = {number: clean(source.line(number)) for number in numbers if number}
    blank = _common_blank([line for line in lines.values() if line.strip()])
    for number in numbers:
        if not number:
            yield _gutter("", gutter, look, indent).append(look.more, "dim")
            continue
        line = lines[number]
        start, end = _extent(line, number, marked)
        yield from _one(line[blank:], (start - blank, end - blank), number, gutter, look, style, indent)


def code_line(source: SourceText, number: int, look: Look, gutter: int, indent: int) -> Text:
    """Return one line with its number, without a mark."""
    line = clean(source.line(number)).strip().expandtabs(4)
    shown, _, _ = _crop(line, 0, 0, look.width - indent - gutter - 3, look.more)
    return _gutter(str(number), gutter, look, indent).append(shown)


def under_line(text: Text, look: Look, gutter: int, indent: int) -> Text:
    """Return a line of text that stands below a code line."""
    return _gutter("", gutter, look, indent).append_text(text)


def _one(
    line: str, extent: tuple[int, int], number: int, gutter: int, look: Look, style: str, indent: int
) -> Iterator[Text]:
    start, end = (len(line[: max(column, 0)].expandtabs(4)) for column in extent)
    room = look.width - indent - gutter - 3
    shown, start, end = _crop(line.expandtabs(4), start, end, room, look.more)
    code = Text(shown)
    code.stylize(style, start, end)
    yield _gutter(str(number), gutter, look, indent).append_text(code)
    # A mark behind the last character of a line that fills the terminal stands under that character.
    before = min(cell_len(shown[:start]), max(room, 20) - 1)
    below = " " * before + look.mark * max(1, cell_len(shown[start:end]))
    yield _gutter("", gutter, look, indent).append(below, style)


def _gutter(number: str, gutter: int, look: Look, indent: int) -> Text:
    return Text(" " * indent).append(f"{number:>{gutter}} {look.bar} ", "dim")


def _numbers(marked: Marked) -> list[int]:
    """Return the line numbers to show; 0 stands for lines left out."""
    numbers = list(range(marked.line, max(marked.line, marked.end_line) + 1))
    return numbers if len(numbers) <= _MOST_LINES else [*numbers[: _MOST_LINES - 2], 0, numbers[-1]]


def _common_blank(lines: list[str]) -> int:
    return min((len(line) - len(line.lstrip()) for line in lines), default=0)


def _extent(line: str, number: int, marked: Marked) -> tuple[int, int]:
    start = marked.column - 1 if number == marked.line else len(line) - len(line.lstrip())
    end = marked.end_column - 1 if number == marked.end_line else len(line.rstrip())
    return start, max(start, end)


def _crop(line: str, start: int, end: int, room: int, more: str) -> tuple[str, int, int]:
    """Cut a line to the room there is, keeping the start of the mark in sight."""
    room = max(room, 20)
    if len(line) <= room:
        return line, start, end
    left = 0 if end <= room - len(more) else min(max(0, start - room // 4), len(line) - room)
    head = more if left else ""
    body = line[left + len(head) : left + room]
    if left + room < len(line):
        body = body[: len(body) - len(more)] + more
    shown = head + body
    return shown, max(start - left, 0), min(end - left, len(shown))
