"""Which code is test code: what is a mistake elsewhere may be what a test is about."""

from __future__ import annotations

import re
from dataclasses import replace

from jaxaudit.rules.base import Obligation, Raises, Severity, Verdict
from jaxaudit.spans import Span

_TEST_FILE = re.compile(r"(^|/)(tests?/.*|test_[^/]*|[^/]*_test|conftest|tests?)\.py$")
_TRIED = frozenset(("integer-overflow",))
"""Rules about numbers at the end of what a type holds, which tests use to see what happens there."""
_HISTORIES = frozenset(("key-reused", "same-key-in-loop", "same-key-across-vmap", "too-few-subkeys"))
"""Rules whose steps tell where a key was made, which is not what makes its use a mistake."""


def in_test(span: Span) -> bool:
    """Whether a place is in a file of tests."""
    return _TEST_FILE.search(span.path) is not None


def lenient(one: Obligation) -> Obligation:
    """Only warn of what tests alone show, and of what would raise in them: tests are run, so it is meant or not met."""
    if one.verdict is not Verdict.VIOLATED or one.severity is not Severity.ERROR:
        return one
    if in_test(one.span) and (one.raises is not Raises.NOTHING or one.rule in _TRIED):
        return replace(one, severity=Severity.WARNING, current=f"{one.current}; in a test this may be what is expected")
    if one.rule not in _HISTORIES and any(in_test(step.span) for step in one.steps) and not in_test(one.span):
        return replace(one, severity=Severity.WARNING, current=f"{one.current}; only a test is known to use it so")
    return one
