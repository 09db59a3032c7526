"""Audits a path as `jaxaudit check` does, and prints what it found as JSON, without the sections about data."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from jaxaudit.config import Config
from jaxaudit.session import audit_paths


def report(path: str) -> dict[str, Any]:
    """Audit a path and give the parts of the report that the benchmark reads."""
    outcome = audit_paths([path], Config(), sections=False)
    found = outcome.report
    return {
        "issues": [asdict(one) for one in found.issues],
        "unknown": [asdict(one) for one in found.unknown],
        "coverage": asdict(found.coverage),
        "faults": outcome.faults,
    }


if __name__ == "__main__":
    json.dump(report(sys.argv[1]), sys.stdout)
