"""`jaxaudit run` tells of integers of NumPy's that do not fit where they come into JAX."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import report

pytest.importorskip("jax")

WIDE = """\
import jax
import jax.numpy as jnp
import numpy as np


class Log:
    def __init__(self, raw):
        self.time = np.array([int(one) for one in raw.split()])


log = Log("1720000000000 1720000000999")


@jax.jit
def age(now, time):
    return now - time


for _ in range(3):
    jnp.asarray(log.time)  # here
jax.device_put(log.time - 2**40)  # here
age(jnp.int32(0), log.time)  # here
tree = jax.tree.map(jnp.array, {"time": log.time})  # here
"""

NARROW = """\
import jax
import jax.numpy as jnp
import numpy as np

time = np.array([1720000000000, 1720000000999])
jnp.asarray(time - time[0])
jnp.asarray(time, jnp.float32)
jnp.asarray(time % 2**32, dtype=jnp.uint32)
jnp.asarray((time % 2**31).astype(np.int32))
jax.jit(lambda x: x + 1)((time % 100))
with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
    jnp.asarray(time)
"""


def test_integers_that_do_not_fit_are_told(tmp_path):
    (tmp_path / "train.py").write_text(WIDE)
    found = [one for one in report("run", "train.py", cwd=tmp_path)["issues"] if one["rule"] == "integer-overflow"]
    assert [one["line"] for one in found] == [
        number for number, line in enumerate(WIDE.splitlines(), 1) if line.endswith("# here")
    ]
    assert found[0]["message"] == "1720000000999 does not fit in `int32`, seen in this run"
    assert found[0]["current"] == (
        "in 1 call of `asarray`: JAX takes 64 bits of NumPy's for 32 without a word: what is beyond comes out at the"
        " other end"
    )


def test_integers_that_fit_are_not(tmp_path):
    (tmp_path / "train.py").write_text(NARROW)
    assert report("run", "train.py", cwd=tmp_path)["issues"] == []
