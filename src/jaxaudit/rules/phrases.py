"""Wording that rules of every family share, and obligations that need no more than a reason."""

from __future__ import annotations

from jaxaudit.ir import Argument, Value
from jaxaudit.rules.base import Obligation, Verdict
from jaxaudit.spans import Span


def proved(rule: str, span: Span, reason: str) -> Obligation:
    """Return an obligation that holds."""
    return Obligation(rule, span, Verdict.PROVED, reason)


def unknown(rule: str, span: Span, reason: str) -> Obligation:
    """Return an obligation that is left open."""
    return Obligation(rule, span, Verdict.UNKNOWN, reason)


def named(argument: Argument, otherwise: str = "this value") -> str:
    """Return the name of a value in backticks; other words where it has none."""
    return f"`{argument.name}`" if isinstance(argument, Value) and argument.name else otherwise
