"""Writes the HTML report: the built page, and the report's data in blocks that no browser runs or shows.

No text of the user ever enters markup: the report is inert JSON in which every `<` is escaped, and what is large
(the data flow, the audited files, the layout engine) is compressed and in base64. The content security policy names
the hashes of the one script and the one style sheet, so nothing else can run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TextIO, cast

import msgspec

from jaxaudit.reports.identity import Sources
from jaxaudit.reports.model import Finding, Report
from jaxaudit.reports.rule_page import rule_page
from jaxaudit.rules.registry import all_rules

Record = Mapping[str, object]


class Strings:
    """The table of strings that all columns of a block share."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the place of a text in the table, and put it there when it is new."""
        return self.numbers.setdefault(text, len(self.numbers))

    def table(self) -> list[str]:
        """Return the texts in order."""
        return list(self.numbers)


def pack(records: Sequence[Record], strings: Strings) -> dict[str, object]:
    """Turn records into columns: `same` (one value for all), `text` (numbers of strings) and `plain`."""
    packed: dict[str, object] = {"length": len(records)}
    same: dict[str, object] = {}
    text: dict[str, list[int]] = {}
    plain: dict[str, list[object]] = {}
    for key in dict.fromkeys(key for record in records for key in record):
        column = [record.get(key) for record in records]
        first = column[0]
        if all(one == first and type(one) is type(first) for one in column):
            same[key] = first
        elif all(isinstance(one, str) for one in column):
            text[key] = [strings.number(str(one)) for one in column]
        else:
            plain[key] = column
    return {**packed, "same": same, "text": text, "plain": plain}


def pack_flow(steps: Sequence[Record], strings: Strings) -> dict[str, object]:
    """Pack the data flow: steps without their values, then all values in the order of the steps.

    `makes` and `enters` of a step become how many of the next values are its own.
    """
    values: list[Record] = []
    rows: list[Record] = []
    for step in steps:
        makes, enters = _values(step, "makes"), _values(step, "enters")
        values += makes
        values += enters
        kept = {key: value for key, value in step.items() if key not in ("makes", "enters", "takes")}
        # The names of what a step takes are the names of the values it reads.
        if not step.get("reads"):
            kept["takes"] = step.get("takes", [])
        rows.append({**kept, "makes": len(makes), "enters": len(enters)})
    return {"steps": pack(rows, strings), "values": pack(values, strings)}


def _values(step: Record, key: str) -> list[Record]:
    return list(cast("Sequence[Record]", step.get(key) or ()))


_MOST_SOURCE = 8_000_000
"""Characters of source to embed; files with findings come first, and what is left out is named in the page."""

_PACKED = ("verified", "unknown")


def render_html(report: Report, sources: Sources, out: TextIO) -> None:
    """Write the report as one self-contained file."""
    script, style = asset("app.js"), asset("app.css")
    flow, texts, main = blocks(report, sources)
    parts = {
        "policy": policy(script, style),
        "style": style,
        "script": script,
        "report": inert(main),
        "flow": squeezed(flow),
        "sources": squeezed(texts),
        "elk": base64.b64encode(asset_bytes("elk-worker.js.gz")).decode("ascii"),
    }
    for piece in asset("page.html").split("{{"):
        name, closing, rest = piece.partition("}}")
        out.write(parts[name] + rest if closing else piece)


def blocks(report: Report, sources: Sources) -> tuple[object, object, object]:
    """Return the three blocks of data: the flow, the source files, and everything else."""
    whole = msgspec.to_builtins(report)
    strings = Strings()
    flow = pack_flow(whole.pop("data_flow"), strings)
    texts, left_out = _embedded(report, sources)
    words = Strings()
    for name in _PACKED:
        whole[name] = pack(whole[name], words)
    main = {
        **whole,
        "strings": words.table(),
        "left_out": left_out,
        "steps": len(report.data_flow),
        "rules": _reasons(report),
    }
    return {**flow, "strings": strings.table()}, texts, main


def policy(script: str, style: str) -> str:
    """Return the content security policy: our script, our style, a worker from a blob, and nothing else."""
    rules = (
        "default-src 'none'",
        f"script-src '{_digest(script)}'",
        f"style-src '{_digest(style)}'",
        "worker-src blob:",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(rules)


def inert(data: object) -> str:
    """Return data as JSON that cannot end the element it stands in, in ASCII alone."""
    return json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def squeezed(data: object) -> str:
    """Return data as compressed JSON in base64; the same data gives the same text."""
    return base64.b64encode(gzip.compress(inert(data).encode("ascii"), 6, mtime=0)).decode("ascii")


@cache
def asset(name: str) -> str:
    """Read a text file of the built page."""
    return asset_bytes(name).decode("utf-8")


def asset_bytes(name: str) -> bytes:
    """Read a file of the built page."""
    return resources.files("jaxaudit.reports.html").joinpath("assets", name).read_bytes()


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _embedded(report: Report, sources: Sources) -> tuple[Mapping[str, str], list[str]]:
    texts: dict[str, str] = {}
    left_out: list[str] = []
    room = _MOST_SOURCE
    for path in _paths(report):
        text = sources(path).text
        if text and len(text) <= room:
            texts[path] = text
            room -= len(text)
        elif text:
            left_out.append(path)
    return texts, left_out


def _reasons(report: Report) -> dict[str, str]:
    """Return why each rule that speaks is worth listening to, from its own page."""
    named = {one.rule for one in (*report.issues, *report.warnings)}
    texts = {rule.name: rule_page(rule) for rule in all_rules() if rule.name in named}
    found = {
        name: re.search(r"## Why is this bad\?\n+(.*?)(?=\n## |\Z)", text, re.DOTALL) for name, text in texts.items()
    }
    return {name: match[1].strip() for name, match in found.items() if match}


def _paths(report: Report) -> Iterable[str]:
    """Return the files worth showing, those with findings first."""
    paths: dict[str, None] = {}
    findings: tuple[Finding, ...] = (*report.issues, *report.warnings)
    for one in findings:
        paths[one.path] = None
        paths.update(dict.fromkeys(step.path for step in one.why))
    paths.update(dict.fromkeys(step.path for step in report.data_flow))
    paths.update(dict.fromkeys(row.path for row in report.transformation_stack))
    paths.update(dict.fromkeys(target.path for target in report.targets))
    paths.pop("", None)
    return paths
