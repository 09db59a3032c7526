"""The report as one self-contained page (`reports/html/`)."""

from __future__ import annotations

from jaxaudit.reports.html.page import render_html
from jaxaudit.reports.registry import Format

FORMAT = Format(lambda report, sources, out, detail: render_html(report, sources, out), needs_file=True)
