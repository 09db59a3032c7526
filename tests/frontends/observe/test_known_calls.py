"""Calls outside `jit` that were met before: handed to JAX at once, and noted as before where they differ."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

BEGIN = """\
import sys
import jax
import jax.numpy as jnp
from jaxaudit.frontends.jaxpr import observe
from jaxaudit.frontends.jaxpr.lower import install_markers

observer = observe.Observer()
install_markers()
observer.install()
from jax import lax

walks = []
for name in ("made_for_user", "caller"):
    def counted(*given, _plain=getattr(observe, name)):
        walks.append(1)
        return _plain(*given)
    setattr(observe, name, counted)
x = jnp.arange(12.0).reshape(3, 4)
"""

AGAIN = """
traces = []

def add(carry, row):
    traces.append(1)
    return carry + row, None

counts = []
for _ in range(4):
    total, _ = lax.scan(add, x[0], x)
    rows = jax.vmap(jnp.sum)(x)
    counts.append(len(walks))
assert counts[0] > 0 and counts[1:] == counts[:1] * 3, counts
assert len(traces) == 1, traces
assert total.tolist() == (x[0] + x.sum(0)).tolist() and rows.tolist() == x.sum(1).tolist()
assert [(one.transform, one.objects) for one in observer.sites.values()] == [("scan", 4), ("vmap", 4)]
"""

BODIES = """
def run(body):
    return lax.scan(body, x[0], x)[0]

def plus(carry, row):
    return carry + row, None

def times(carry, row):
    return carry * row, None

for body in (plus, times, plus, times):
    run(body)
assert [(one.name, one.objects) for one in observer.sites.values()] == [("plus", 2), ("times", 2)]
assert len(observer.captured()) == 2
"""

INSIDE = """
def batched(x):
    return jax.vmap(lambda row: row.sum())(x)

batched(x), batched(x)
program = jax.make_jaxpr(batched)(x)
assert str(program).count("jaxaudit_mark") == 3, program
kept = jax.vmap(lambda row: row * 2)
kept(x), kept(x)
assert "jaxaudit_mark" in str(jax.make_jaxpr(lambda x: kept(x))(x))
"""

NESTED = """
def outer(row):
    return jax.vmap(jnp.sin)(row) + jax.vmap(jnp.cos)(jnp.ones(4))

each = jax.vmap(outer)
for _ in range(3):
    each(x)
assert [one.name for one in observer.captured()] == ["outer"], [one.name for one in observer.sites.values()]
"""


@pytest.mark.parametrize("code", [AGAIN, BODIES, INSIDE, NESTED], ids=["again", "bodies", "inside", "nested"])
def test_calls_that_were_met_before(tmp_path: Path, code: str) -> None:
    (tmp_path / "script.py").write_text(BEGIN + code)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
