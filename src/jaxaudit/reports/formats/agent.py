"""The report for a coding agent: plain text, the most telling facts first, within a bound that it says.

Of one file it is what to look at, of several an index of where to look, of a change what it broke.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from jaxaudit.reports.agent_change import change_blocks
from jaxaudit.reports.agent_file import file_blocks
from jaxaudit.reports.agent_index import index_blocks
from jaxaudit.reports.agent_text import Block, written
from jaxaudit.reports.identity import Sources
from jaxaudit.reports.model import Report
from jaxaudit.reports.registry import Detail, Format
from jaxaudit.reports.snippet import clean


def render_agent(report: Report, sources: Sources) -> str:
    """Write the facts of one file, the index of several, or what a change did."""
    return "\n".join(clean(line) for line in written(_blocks(report, sources)).split("\n"))


def _blocks(report: Report, sources: Sources) -> Iterator[Block]:
    if report.change is not None:
        return change_blocks(report, report.change)
    paths = {one.path for one in report.targets}
    return index_blocks(report, sources) if len(paths) > 1 else file_blocks(report)


def _render(report: Report, sources: Sources, out: TextIO, detail: Detail) -> None:
    out.write(render_agent(report, sources))


FORMAT = Format(_render)
