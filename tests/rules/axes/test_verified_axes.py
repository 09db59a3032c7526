"""Rules about axes verify what they are about, each in its own words; one meeting is not told three times."""

from collections import Counter

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

CODE = """
import jax
import jax.numpy as jnp
import optax

BATCH, FEATURES, HIDDEN, MEMBERS = 8, 5, 16, 3

x, w, b = jnp.ones((BATCH, FEATURES)), jnp.ones((FEATURES, HIDDEN)), jnp.ones(HIDDEN)
h = x @ w
shifted = h + b
doubled = h + shifted
scale = jnp.ones((MEMBERS, HIDDEN))
many = jax.vmap(lambda s: h * s)(scale)
mean = many + jnp.ones((MEMBERS, BATCH, HIDDEN))
paired = jax.vmap(lambda m, s: m * s)(many, scale)
_, steps = jax.lax.scan(lambda c, one: (c, one[0] + one[1]), 0.0, (x, doubled))
loss = optax.softmax_cross_entropy_with_integer_labels(h, jnp.zeros(BATCH, int))
"""
EXPECTED = {
    ("unrelated-axes-joined", 9): "one axis is summed over, `FEATURES` of `x` and of `w`",
    (
        "silent-broadcast",
        10,
    ): "`HIDDEN` of `b` meets `HIDDEN` of `h` (BATCH, HIDDEN), and is copied along the other axes",
    ("unrelated-axes-joined", 11): "one axis meets itself, `HIDDEN` of `h` and of `shifted`",
    ("out-axes-assumption", 14): "`vmap` puts `MEMBERS` at axis 0 of `many`, and there it is used",
    ("wrong-axis-mapped", 15): "one axis is mapped, `MEMBERS` of `many` and of `scale`",
    ("broadcast-argument-mapped", 15): "`scale` has one entry for each `MEMBERS` of `many`",
    ("carry-xs-confusion", 16): "one axis is stepped through, `BATCH` of `x` and of `doubled`",
    ("unrelated-axes-joined", 17): "one axis meets itself, `BATCH` of `h` and of an operand",
    ("scanned-axis-not-time", 16): "each step takes one of `BATCH`",
}


def test_each_rule_says_what_it_proved():
    verified = audit([SourceFile("axes.py", CODE)], Config()).report.verified
    said = {(one.rule, one.line): one.reason for one in verified}
    assert {place: said.get(place) for place in EXPECTED} == EXPECTED
    rules = {(one.line, one.reason, one.rule) for one in verified}
    assert max(Counter((line, reason) for line, reason, _ in rules).values()) == 1
