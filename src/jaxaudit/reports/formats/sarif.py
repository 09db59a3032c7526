"""The report as SARIF 2.1.0, which code hosts and editors read: issues and warnings, each with its way to it.

What is proved or open is not a result: SARIF readers would show it as something to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from jaxaudit.reports.model import Finding, Report, WhyStep
from jaxaudit.reports.registry import Format
from jaxaudit.reports.rule_page import rule_page
from jaxaudit.rules.registry import all_rules

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "performance": "warning", "warning": "note"}
_MOST_TEXT = 1024
"""How long a description may be for GitHub to take it."""

Json = dict[str, Any]


def render_sarif(report: Report) -> str:
    """Write the findings of a report as one SARIF run."""
    findings = [*report.issues, *report.warnings]
    names = sorted({one.rule for one in findings})
    numbers = {name: number for number, name in enumerate(names)}
    driver = {
        "name": report.tool.name,
        "semanticVersion": report.tool.version,
        "rules": [_rule(name, findings) for name in names],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "The folder that the audit was started in."}}},
        "results": [_result(one, numbers[one.rule]) for one in findings],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2).decode() + "\n"


FORMAT = Format(lambda report, sources, out, detail: out.write(render_sarif(report)), findings_only=True)


def _rule(name: str, findings: Sequence[Finding]) -> Json:
    known = next((rule for rule in all_rules() if rule.name == name), None)
    first = next(one for one in findings if one.rule == name)
    page = rule_page(known) if known is not None else ""
    summary = known.summary if known is not None else name.replace("-", " ")
    return {
        "id": name,
        "shortDescription": {"text": summary[:_MOST_TEXT]},
        "fullDescription": {"text": (page or summary)[:_MOST_TEXT]},
        "help": {"text": page or summary, "markdown": page or summary},
        "defaultConfiguration": {"level": _LEVELS[first.severity]},
        "properties": {"tags": ["jax", first.family], "precision": "high"},
    }


def _result(one: Finding, number: int) -> Json:
    result: Json = {
        "ruleId": one.rule,
        "ruleIndex": number,
        "level": _LEVELS[one.severity],
        "message": {"text": _message(one)},
        "locations": [_location(one.path, _region(one))],
        "partialFingerprints": {"primaryLocationLineHash": one.id},
    }
    if one.why:
        steps = [_step(step) for step in one.why]
        end = {"location": {**_location(one.path, _region(one)), "message": {"text": one.message}}}
        result["relatedLocations"] = [step["location"] for step in steps]
        result["codeFlows"] = [{"threadFlows": [{"locations": [*steps, end]}]}]
    return result


def _message(one: Finding) -> str:
    told = (one.current and f"Now: {one.current}.", one.expected and f"Meant: {one.expected}.")
    fix = one.suggestion.text if one.suggestion else ""
    return " ".join(filter(None, (f"{one.message}.", *told, fix and f"Fix: {fix}.")))


def _step(step: WhyStep) -> Json:
    return {"location": {**_location(step.path, {"startLine": max(1, step.line)}), "message": {"text": step.text}}}


def _location(path: str, region: Json) -> Json:
    artifact = {"uri": quote(path.lstrip("/")), "uriBaseId": "%SRCROOT%"}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _region(one: Finding) -> Json:
    line, column = max(1, one.line), max(1, one.column)
    end = {"endLine": max(line, one.end_line)}
    # An empty stretch is none: what has no end is a place.
    after = one.end_column if one.end_line > line or one.end_column > column else column + 1
    return {"startLine": line, "startColumn": column, **end, "endColumn": max(1, after)}
