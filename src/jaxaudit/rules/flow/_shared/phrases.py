"""What the rules about data flow share: names of callees, and which files are tests."""

from __future__ import annotations

import re

from jaxaudit.analyses.explain import callee_of
from jaxaudit.ir import Op
from jaxaudit.rules.base import Obligation, Verdict
from jaxaudit.spans import Span

_TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$|(^|/)tests?/")


def is_test(span: Span) -> bool:
    """Whether a place is in test code, where results are dropped and arguments ignored on purpose."""
    return _TEST_FILE.search(span.path) is not None


def called(op: Op) -> str:
    """Name what an op does as people write it: `.at[].set`, `apply_updates`."""
    if op.name == "array.scatter":
        return f".at[...].{callee_of(op)}"
    if op.name == "py.replace":
        return f".{op.method}" if op.method.startswith("_") else "replace"
    if op.name == "tree.map":
        return "tree.map"
    return callee_of(op)


def proved(rule: str, span: Span, reason: str) -> Obligation:
    """Make an obligation that holds."""
    return Obligation(rule, span, Verdict.PROVED, reason)


def unknown(rule: str, span: Span, reason: str) -> Obligation:
    """Make an obligation that is left open."""
    return Obligation(rule, span, Verdict.UNKNOWN, reason)
