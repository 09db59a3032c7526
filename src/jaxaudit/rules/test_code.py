"""Which code is test code: what is a mistake elsewhere may be what a test is about."""

from __future__ import annotations

import re

from jaxaudit.spans import Span

_TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")


def in_test(span: Span) -> bool:
    """Tell whether a place is in a file of tests."""
    return _TEST_FILE.search(span.path) is not None
