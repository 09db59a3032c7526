"""Rows of the table of exceptions: which exception, which rule it breaks, and what to say about it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from jaxaudit.frontends.jaxpr.protocol import Failure, Frame
from jaxaudit.spans import SourceText, Span

Texts = Callable[[str], SourceText]
"""Gives the text of a file by the path that reports show."""

Shown = Callable[[str], str]
"""Turns a path of the child into the path that reports show."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """An exception in the user's terms."""

    rule: str
    message: str
    current: str = ""
    expected: str = ""
    suggestion: str = ""
    span: Span | None = None
    """Where the cause is; None for the place where the exception was raised."""
    steps: tuple[tuple[Span, str], ...] = ()


@dataclass(frozen=True)
class Facts:
    """An exception with all that helps to explain it."""

    failure: Failure
    texts: Texts
    shown: Shown
    files: frozenset[str]
    """The user's files, as shown."""

    @property
    def message(self) -> str:
        """The message of the exception."""
        return self.failure.message

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of the user's own files, outermost first."""
        return tuple(frame for frame in self.failure.frames if self._own(frame))

    @cached_property
    def origin(self) -> tuple[Frame, ...]:
        """The user's frames of the operation that JAX was transforming."""
        return tuple(frame for frame in self.failure.origin if self._own(frame))

    @cached_property
    def inner(self) -> tuple[str, ...]:
        """The functions of libraries that were active inside the user's innermost frame."""
        own = [number for number, frame in enumerate(self.failure.frames) if self._own(frame)]
        return tuple(frame.function for frame in self.failure.frames[own[-1] + 1 if own else 0 :])

    @property
    def span(self) -> Span | None:
        """Where the user's code was when the exception was raised."""
        return self.place(self.frames[-1]) if self.frames else None

    @property
    def line(self) -> str:
        """The user's line that was running."""
        return self.texts(self.span.path).line(self.span.line) if self.span else ""

    def place(self, frame: Frame) -> Span:
        """Give the span of a frame."""
        return Span(self.shown(frame.path), frame.line, frame.column, frame.end_line, frame.end_column)

    def _own(self, frame: Frame) -> bool:
        return frame.user and self.shown(frame.path) in self.files


Explain = Callable[[Facts, "re.Match[str]"], Explanation]


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of exception."""

    pattern: str
    """A regular expression that the message matches somewhere."""
    explain: Explain
    types: tuple[str, ...] = ()
    """The last parts of type names, one of which the exception or one of its bases has; empty for any."""

    def matches(self, failure: Failure) -> re.Match[str] | None:
        """Give the match when the row speaks about an exception."""
        names = {name.rpartition(".")[2] for name in (failure.type, *failure.bases)}
        if self.types and names.isdisjoint(self.types):
            return None
        return re.search(self.pattern, failure.message, re.DOTALL)


def say(rule: str, message: str, expected: str, suggestion: str, current: str = "") -> Explain:
    """Make the explanation of a row whose texts only need what the pattern matched: `{1}` is its first group."""

    def explain(facts: Facts, match: re.Match[str]) -> Explanation:
        found = ["", *((group or "").strip().rstrip(".") for group in match.groups())]
        told = Explanation(rule, message.format(*found), (current or _STOPS).format(*found))
        return replace(told, expected=expected.format(*found), suggestion=suggestion.format(*found))

    return explain


_STOPS = "the operation stops with an exception"


def first_line(text: str, most: int = 160) -> str:
    """Give the first line of a message, cut where it gets too long to read."""
    line = (text.strip().splitlines() or [""])[0]
    return line if len(line) <= most else line[: most - 3] + "..."
