"""What the rules about data flow share: names of callees, and verdicts without a finding."""

from __future__ import annotations

from jaxaudit.analyses.explain import callee_of
from jaxaudit.ir import Op
from jaxaudit.rules.base import Obligation, Verdict
from jaxaudit.spans import Span


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
