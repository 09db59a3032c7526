"""Parameters of an energy, of which a loss reads derivatives alone."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "frontends" / "observe"))
from tool import report

pytest.importorskip("jax")
pytest.importorskip("equinox")

ENERGY = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Energy(eqx.Module):
    layers: eqx.nn.MLP

    def __call__(self, x):
        return self.layers(x)


def loss(model, x, force):
    return jnp.mean((jax.vmap(jax.grad(model))(x) + force) ** 2)


@eqx.filter_jit
def slope(model, x):
    return eqx.filter_grad(loss)(model, x, x)


model = Energy(eqx.nn.MLP(2, "scalar", 8, 1, activation=jnp.tanh, key=jax.random.key(0)))
print(slope(model, jnp.ones((5, 2))))
"""


def test_a_constant_that_falls_out_of_a_derivative_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "energy.py").write_text(ENERGY)
    found = report("run", "energy.py", cwd=tmp_path)
    assert "dead-parameter" not in str([*found["issues"], *found["warnings"]])
    assert "constants fall out" in str(found["unknown"])
