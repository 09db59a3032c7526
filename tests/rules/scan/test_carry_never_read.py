"""What is said of a carry that a turn only maps over, without reading a leaf of it."""

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

PROGRAM = """
import jax

def last(loss, params, parts):
    def step(grads, part):
        return jax.tree.map(lambda old, new: {made}, grads, jax.grad(loss)(params, part)), None
    return jax.lax.scan(step, params, parts)[0]
"""


@pytest.mark.parametrize(
    ("made", "reason"), [("new", "the last `grads` is read"), ("old + new", "the next turn reads `grads`")]
)
def test_a_map_that_ignores_the_leaves_does_not_read_them(made, reason):
    report = audit([SourceFile("last.py", PROGRAM.format(made=made))], Config(select=("carry-never-read",))).report
    assert [one.reason for one in report.verified] == [reason]
