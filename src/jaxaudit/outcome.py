"""What an audit gives back; apart from the pipeline, because an answer that was kept needs none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache

from jaxaudit.discover import Loader
from jaxaudit.ir import Program
from jaxaudit.ir.record import record
from jaxaudit.reports.identity import Sources
from jaxaudit.reports.model import Report
from jaxaudit.spans import SourceText


@record
class Outcome:
    """What an audit gives back."""

    report: Report
    program: Program
    """What was traced, where something was; else what was read."""
    sources: Sources
    faults: tuple[str, ...] = ()
    """Errors inside jaxaudit itself, one line each."""
    remarks: tuple[str, ...] = ()
    """What else whoever asked should know, one sentence each; the report stands all the same."""
    asked: Mapping[str, str | None] = field(default_factory=dict)
    """The text of files that were read without being audited; None for those that do not exist."""


def sources_of(load: Loader) -> Sources:
    """Return the text of files, for places and for lines that reports show."""

    @cache
    def text(path: str) -> SourceText:
        file = load(path)
        return SourceText(path, file.text if file else "")

    return text
