"""Parameters that get no gradient for a reason: of an energy, and of a layer that is held fixed."""

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


FIXED = """\
import equinox as eqx
import jax
import jax.numpy as jnp


class Field(eqx.Module):
    inner: eqx.nn.MLP
    frequencies: jax.Array

    def __call__(self, x):
        return self.inner(jnp.sin(x @ jax.lax.stop_gradient(self.frequencies)))


def loss(model, x):
    return jnp.mean(jax.vmap(model)(x) ** 2)


@eqx.filter_jit
def slope(model, x):
    return eqx.filter_grad(loss)(model, x)


print(slope(Field(eqx.nn.MLP(8, 1, 4, 1, key=jax.random.key(0)), jnp.ones((2, 8))), jnp.ones((3, 2))))
"""


def test_layers_of_a_library_that_are_called_take_part(tmp_path: Path) -> None:
    (tmp_path / "fixed.py").write_text(FIXED)
    found = report("run", "fixed.py", cwd=tmp_path)
    assert "misplaced-stop-gradient" not in str([*found["issues"], *found["warnings"]])
