"""The report as SARIF."""

import io
import json
from dataclasses import replace

from test_json import FINDING, REPORT

from jaxaudit.reports.formats.sarif import FORMAT
from jaxaudit.reports.model import Report, WhyStep
from jaxaudit.reports.registry import Detail
from jaxaudit.spans import SourceText


def run_of(report: Report) -> dict:
    out = io.StringIO()
    FORMAT.render(report, lambda path: SourceText(path, ""), out, Detail())
    log = json.loads(out.getvalue())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return run


def test_a_finding_is_a_result_with_its_rule():
    run = run_of(REPORT)
    (result,) = run["results"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert result["ruleId"] == rule["id"] == "key-reused"
    assert result["level"] == "error"
    assert result["message"]["text"].startswith("é [bold]. Now: now. Meant: then. Fix: split it.")
    assert "## What it does" in rule["help"]["markdown"]
    assert len(rule["fullDescription"]["text"]) <= 1024


def test_a_place_has_a_relative_address_and_ends_behind_its_start():
    finding = replace(FINDING, path="a b/c.py", end_line=1, end_column=2)
    place = run_of(replace(REPORT, issues=(finding,)))["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a%20b/c.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 1, "startColumn": 2, "endLine": 1, "endColumn": 3}


def test_the_way_to_a_finding_is_a_code_flow_that_ends_there():
    finding = replace(FINDING, why=(WhyStep("a.py", 4, "first used here"),))
    (result,) = run_of(replace(REPORT, issues=(finding,)))["results"]
    (flow,) = result["codeFlows"]
    steps = [step["location"]["message"]["text"] for step in flow["threadFlows"][0]["locations"]]
    assert steps == ["first used here", finding.message]
    assert result["relatedLocations"][0]["physicalLocation"]["region"] == {"startLine": 4}


def test_the_fingerprint_is_the_id_that_survives_moved_lines():
    (result,) = run_of(REPORT)["results"]
    assert result["partialFingerprints"] == {"primaryLocationLineHash": FINDING.id}


def test_slow_code_is_a_warning_and_fragile_code_a_note():
    slow, odd = (replace(FINDING, severity=one) for one in ("performance", "warning"))
    results = run_of(replace(REPORT, issues=(slow,), warnings=(odd,)))["results"]
    assert [one["level"] for one in results] == ["warning", "note"]
