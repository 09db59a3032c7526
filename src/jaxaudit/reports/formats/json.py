"""The report as JSON, and the schema that comes with it in `report.schema.json`."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec

from jaxaudit.reports.model import Report
from jaxaudit.reports.registry import Format


def render_json(report: Report) -> str:
    """Write the report as indented JSON that ends in a newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


FORMAT = Format(lambda report, sources, out, detail: out.write(render_json(report)))


def make_schema() -> str:
    """Derive the JSON schema from the model; the committed file must be equal to it."""
    schema = {"title": "jaxaudit report", **msgspec.json.schema(Report)}
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"


def shipped_schema() -> str:
    """Read the schema file that is part of the package."""
    return resources.files("jaxaudit.reports").joinpath("report.schema.json").read_text(encoding="utf-8")


def write_schema() -> None:
    """Write the schema file anew, after a change of the model."""
    Path(__file__).parent.with_name("report.schema.json").write_text(make_schema(), encoding="utf-8")
