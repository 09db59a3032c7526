"""Which code is test code: what is a mistake elsewhere may be what a test is about."""

from __future__ import annotations

import re
from dataclasses import replace

from jaxaudit.rules.base import Obligation, Raises, Severity, Verdict
from jaxaudit.spans import Span

_TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")


def in_test(span: Span) -> bool:
    """Tell whether a place is in a file of tests."""
    return _TEST_FILE.search(span.path) is not None


def lenient(one: Obligation) -> Obligation:
    """Only warn of what would raise in a test: tests are run, so it is never reached, or raising is what is tested."""
    if one.verdict is not Verdict.VIOLATED or one.severity is not Severity.ERROR or not in_test(one.span):
        return one
    if one.raises is Raises.NOTHING:
        return one
    return replace(one, severity=Severity.WARNING, current=f"{one.current}; in a test this may be what is expected")
