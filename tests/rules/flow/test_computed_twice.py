"""What `computed-twice` proves of values that a call hands in."""

from __future__ import annotations

from jaxaudit.config import Config
from jaxaudit.session import audit_text

PROGRAM = """
import jax.numpy as jnp

def worse(a, b, target):
    return jnp.maximum(jnp.square(a - target), jnp.square(b - target))

def run(x, target):
    return worse({first}, {second}, target)
"""


def verdicts(first: str, second: str) -> tuple[list[str], list[str], list[str]]:
    report = audit_text("twice.py", PROGRAM.format(first=first, second=second).encode(), Config()).report
    sides = (
        [one.reason for one in found if one.rule == "computed-twice"] for found in (report.verified, report.unknown)
    )
    return (*sides, [one.rule for one in (*report.issues, *report.warnings)])


def test_what_a_call_hands_in_is_computed_differently() -> None:
    assert verdicts("jnp.abs(x)", "x + 1.0") == (["the two sides are computed differently"], [], [])


def test_one_call_that_hands_in_the_same_twice_is_no_mistake_of_the_function() -> None:
    said = "both sides are computed alike, of values that come from elsewhere and may be one"
    assert verdicts("x + 1.0", "x + 1.0") == ([], [said], [])
