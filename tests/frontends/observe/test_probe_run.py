"""`jaxaudit run` evaluates derivative rules, names what is wrong at the returned expression, and can be told not to."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import issues, report

pytest.importorskip("jax")

SCRIPT = """\
import jax
import jax.numpy as jnp

@jax.custom_vjp
def gain(x, scale):
    return x * scale

def forward(x, scale):
    return x * scale, (x, scale)

def backward(saved, g):
    x, scale = saved
    return g * scale, jnp.mean(g * x, axis=0)

gain.defvjp(forward, backward)

@jax.custom_vjp
def ternary(x):
    return jnp.sign(x)

ternary.defvjp(lambda x: (jnp.sign(x), None), lambda _, g: (g,))

print(jax.jit(gain)(jnp.ones((6, 4)), jnp.ones(4)).sum(), jax.jit(ternary)(jnp.ones(3)))
"""
RULE = "wrong-custom-derivative"


def test_a_wrong_factor_is_found_and_an_estimator_is_verified(tmp_path):
    (tmp_path / "main.py").write_text(SCRIPT)
    found = report("run", "main.py", cwd=tmp_path)
    assert issues(found) == [(RULE, "main.py", 13)]
    assert "`scale` is 0.167 times what it should be" in found["issues"][0]["message"]
    told = [one["reason"] for one in found["verified"] if one["rule"] == RULE]
    assert any("verified by probe, 64 inputs" in one and "identity (straight-through" in one for one in told)
    assert not any("proved" in one for one in told)


def test_no_probe_evaluates_nothing(tmp_path):
    (tmp_path / "main.py").write_text(SCRIPT)
    found = report("run", "--no-probe", "main.py", cwd=tmp_path)
    assert {one["front_end"] for one in found["issues"]} <= {"source"}
    assert "probe" not in str(found["verified"])
