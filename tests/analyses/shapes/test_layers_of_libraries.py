"""What layers of the neural network libraries make of their input, in `check`."""

import pytest

from jaxaudit.analyses.shapes.transfer.layers import CLASSES
from jaxaudit.frontends.source.api.lookup import lookup
from tests.analyses.shapes.test_shapes import shape_of

HEAD = """
import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
from flax import nnx

x = jnp.ones((8, 16, 5))
image = jnp.ones((8, 32, 32, 3))
key = jax.random.key(0)
"""


@pytest.mark.parametrize("layer", CLASSES)
def test_every_layer_can_be_called(layer):
    assert lookup(f"{layer}.__call__") is not None, f"{layer} has no row for its call"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("nn.Dense(7)(x)", "8, 16, 7"),
        ("nn.DenseGeneral((2, 3), axis=-1)(x)", "8, 16, 2, 3"),
        ("nn.DenseGeneral(9, axis=(-2, -1))(x)", "8, 9"),
        ("nn.Embed(100, 12)(jnp.ones((8, 4), dtype=int))", "8, 4, 12"),
        ("nn.Conv(6, kernel_size=(3, 3))(image)", "8, 32, 32, 6"),
        ("nn.Conv(6, kernel_size=(3, 3), strides=(2, 2))(image)", "8, 16, 16, 6"),
        ("nn.Conv(6, (5, 5), padding='VALID')(image)", "8, 28, 28, 6"),
        ("nn.LayerNorm()(nn.Dropout(0.1, deterministic=True)(x))", "8, 16, 5"),
        ("nn.MultiHeadDotProductAttention(num_heads=4)(x, x)", "8, 16, 5"),
        ("nn.MultiHeadDotProductAttention(num_heads=4, out_features=11)(x, x)", "8, 16, 11"),
        ("nn.GRUCell(features=9)(jnp.ones((8, 9)), x[:, 0])[1]", "8, 9"),
        ("nn.LSTMCell(9)((jnp.ones((8, 9)), jnp.ones((8, 9))), x[:, 0])[0][1]", "8, 9"),
        ("nn.GRUCell(features=9).initialize_carry(key, (8, 5))", "8, 9"),
        ("nn.Sequential([nn.Dense(4), nn.relu, nn.Dense(2)])(x)", "8, 16, 2"),
        ("nnx.Linear(5, 7, rngs=nnx.Rngs(0))(x)", "8, 16, 7"),
        ("nnx.Conv(3, 6, kernel_size=(3, 3), rngs=nnx.Rngs(0))(image)", "8, 32, 32, 6"),
        ("nnx.Sequential(nnx.Linear(5, 7, rngs=nnx.Rngs(0)), jax.nn.relu)(x)", "8, 16, 7"),
        ("hk.Linear(7)(x)", "8, 16, 7"),
        ("hk.Sequential([hk.Linear(4), jax.nn.relu, hk.Linear(1)])(x)", "8, 16, 1"),
        ("hk.Conv2D(6, kernel_shape=3, stride=2)(image)", "8, 16, 16, 6"),
        ("hk.nets.MLP([32, 3])(x)", "8, 16, 3"),
        ("hk.Flatten()(image)", "8, 3072"),
        ("hk.GRU(9)(x[:, 0], jnp.ones((8, 9)))[0]", "8, 9"),
        ("hk.MultiHeadAttention(4, 8, w_init_scale=1.0)(x, x, x)", "8, 16, 32"),
        ("hk.without_apply_rng(hk.transform(lambda y: hk.Linear(4)(y))).apply({}, x)", "8, 16, 4"),
        ("hk.transform(lambda y: hk.Linear(4)(y)).apply({}, None, x)", "8, 16, 4"),
        ("hk.transform_with_state(lambda y: hk.Linear(4)(y)).apply({}, {}, None, x)[0]", "8, 16, 4"),
        ("jax.vmap(eqx.nn.Linear(5, 7, key=key))(x[0])", "16, 7"),
        ("eqx.nn.MLP(5, 2, 32, 2, key=key)(x[0, 0])", "2"),
        ("eqx.nn.Conv2d(3, 6, 3, key=key)(jnp.ones((3, 32, 32)))", "6, 30, 30"),
        ("eqx.nn.GRUCell(5, 9, key=key)(x[0, 0], jnp.ones(9))", "9"),
    ],
)
def test_layers_give_what_they_were_made_for(expression, expected):
    assert shape_of(f"{HEAD}\nresult = {expression}\ny = jnp.copy(result)\n") == expected


def test_layers_of_setup_are_known_in_the_call():
    code = (
        HEAD
        + """
class Net(nn.Module):
    width: int

    def setup(self):
        self.inner = nn.Dense(self.width)
        self.outer = nn.Dense(3)

    def __call__(self, y):
        return self.outer(nn.relu(self.inner(y)))

result = Net(12).apply({}, x)
y = jnp.copy(result)
"""
    )
    assert shape_of(code) == "8, 16, 3"


def test_a_lifted_scan_steps_through_the_first_axis():
    code = (
        HEAD
        + """
class Cell(nn.Module):
    @nn.compact
    def __call__(self, carry, y):
        carry, out = nn.GRUCell(features=9)(carry, y)
        return carry, nn.Dense(2)(out)

scanned = nn.scan(Cell, variable_broadcast="params", split_rngs={"params": False})
_, result = scanned()(jnp.ones((8, 9)), x.swapaxes(0, 1))
y = jnp.copy(result)
"""
    )
    assert shape_of(code) == "16, 8, 2"


def test_a_lifted_vmap_maps_what_comes_after_the_module():
    code = (
        HEAD
        + """
class Head(nn.Module):
    @nn.compact
    def __call__(self, row):
        return nn.Dense(2)(row).sum()

result = nn.vmap(Head, in_axes=0, variable_axes={"params": 0}, split_rngs={"params": True})()(x[0])
y = jnp.copy(result)
"""
    )
    assert shape_of(code) == "16"


def test_a_train_state_keeps_the_model_it_applies():
    code = (
        HEAD
        + """
from flax.training.train_state import TrainState
import optax

class Net(nn.Module):
    @nn.compact
    def __call__(self, y):
        return nn.Dense(3)(y)

net = Net()
state = TrainState.create(apply_fn=net.apply, params=net.init(key, x), tx=optax.adam(1e-3))

@jax.jit
def predict(state, y):
    return state.apply_fn(state.params, y)

result = predict(state, x)
y = jnp.copy(result)
"""
    )
    assert shape_of(code) == "8, 16, 3"


def test_a_bound_apply_that_is_passed_on_is_followed():
    code = (
        HEAD
        + """
class Net(nn.Module):
    @nn.compact
    def __call__(self, y):
        return nn.Dense(3)(y)

def loss(params, apply_fn, y):
    result = apply_fn(params, y)
    return jnp.copy(result).sum()

net = Net()
jax.value_and_grad(loss)(net.init(key, x), net.apply, x)
"""
    )
    assert shape_of(code) == "8, 16, 3"
