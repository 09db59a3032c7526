"""What layers of the neural network libraries make of their input, in `check`."""

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit
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
        ("nn.avg_pool(image, (2, 2), strides=(2, 2))", "8, 16, 16, 3"),
        ("nn.max_pool(image, (3, 3))", "8, 30, 30, 3"),
        ("nn.max_pool(image, (3, 3), strides=(2, 2), padding='SAME')", "8, 16, 16, 3"),
        ("nnx.avg_pool(image, (4, 2), strides=(4, 2))", "8, 8, 16, 3"),
        ("nn.ConvTranspose(4, (2, 2), strides=(2, 2))(image)", "8, 64, 64, 4"),
        ("nn.ConvTranspose(4, (5, 5), strides=(2, 2), padding='VALID')(image)", "8, 67, 67, 4"),
        ("nn.ConvTranspose(4, (2, 2), strides=(3, 3), padding='VALID')(image)", "8, 96, 96, 4"),
        ("nn.Conv(6, (3, 3), padding=1)(image)", "8, 32, 32, 6"),
        ("nn.Conv(6, (3, 3), padding=((0, 1), (2, 0)), strides=2)(image)", "8, 16, 16, 6"),
        ("nn.Conv(6, (3, 3), padding=(1, 2))(image)", "8, 32, 34, 6"),
        ("nn.RNN(nn.LSTMCell(9))(x)", "8, 16, 9"),
        ("nn.vmap(nn.Dense, in_axes=None, out_axes=0, axis_size=3)(9)(x)", "3, 8, 16, 9"),
        ("nn.scan(nn.GRUCell)(features=9)(jnp.ones((16, 9)), x)[1]", "8, 16, 9"),
        ("nn.remat(nn.Dense)(7)(x)", "8, 16, 7"),
        ("nnx.LinearGeneral(5, (2, 3), rngs=nnx.Rngs(0))(x)", "8, 16, 2, 3"),
        ("nnx.LinearGeneral((16, 5), 9, axis=(-2, -1), rngs=nnx.Rngs(0))(x)", "8, 9"),
        ("nnx.ConvTranspose(3, 4, (2, 2), strides=(2, 2), rngs=nnx.Rngs(0))(image)", "8, 64, 64, 4"),
        ("x @ nnx.Param(jnp.ones((5, 4)))", "8, 16, 4"),
        ("x @ nnx.Param(jnp.ones((5, 4))).value", "8, 16, 4"),
        ("hk.avg_pool(image, 2, 2, 'VALID')", "8, 16, 16, 3"),
        ("hk.max_pool(image, (2, 2, 1), (2, 2, 1), 'SAME')", "8, 16, 16, 3"),
        ("hk.Conv2DTranspose(4, 3, 2)(image)", "8, 64, 64, 4"),
        ("hk.LSTM(9)(x[:, 0], hk.LSTM(9).initial_state(8))[0]", "8, 9"),
        ("nn.Embed(11, 16).attend(x)", "8, 16, 11"),
        ("hk.LSTM(9).initial_state(8)[1]", "8, 9"),
        ("hk.get_parameter('w', (3, 4), init=jnp.zeros)", "3, 4"),
        ("hk.transform(lambda y: hk.Linear(4)(y)).apply({}, key, x)", "8, 16, 4"),
        ("hk.transform_with_state(lambda y: hk.Linear(4)(y)).apply({}, {}, key, x)[0]", "8, 16, 4"),
        ("eqx.nn.MaxPool2d(2, 2)(image[0].T)", "3, 16, 16"),
        ("eqx.nn.AvgPool2d(3)(image[0].T)", "3, 30, 30"),
        ("eqx.nn.MaxPool2d(3, 2, padding=1)(image[0].T)", "3, 16, 16"),
        ("eqx.nn.AdaptiveAvgPool2d((4, 1))(image[0].T)", "3, 4, 1"),
        ("eqx.nn.ConvTranspose2d(3, 8, kernel_size=2, stride=3, key=key)(image[0].T)", "8, 95, 95"),
        ("eqx.nn.Conv2d(3, 6, 3, stride=2, padding=1, key=key)(image[0].T)", "6, 16, 16"),
        ("eqx.nn.BatchNorm(5, 'batch')(x[0, 0], None)[0]", "5"),
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


NET = (
    HEAD
    + """
class Net(nn.Module):
    def setup(self):
        self.inner = nn.Dense(4)

    @nn.compact
    def __call__(self, y, train=False):
        y = nn.BatchNorm(use_running_average=not train)(self.inner(y))
        scale = self.param("scale", nn.initializers.ones, (4, 3))
        return nn.Dropout(0.1, deterministic=not train)(y) @ scale

    def encode(self, y):
        return self.inner(y)

net = Net()
variables = net.init(key, x)
"""
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("net.apply(variables, x, rngs={'dropout': key})", "8, 16, 3"),
        ("net.apply(variables, x, train=True, mutable=['batch_stats'], rngs={'dropout': key})[0]", "8, 16, 3"),
        ("net.apply(variables, x, mutable=['batch_stats'])[0]", "8, 16, 3"),
        ("net.apply(variables, x, mutable=False)", "8, 16, 3"),
        ("net.apply(variables, x, method=net.encode)", "8, 16, 4"),
        ("net.apply(variables, x, method=Net.encode)", "8, 16, 4"),
        ("net.apply(variables, x, method='encode')", "8, 16, 4"),
        ("net.init_with_output(key, x)[0]", "8, 16, 3"),
        ("nn.Dense(7).apply(variables, x)", "8, 16, 7"),
        ("nn.GRUCell(9).apply(variables, jnp.ones((8, 9)), x[:, 0])[1]", "8, 9"),
        ("nn.BatchNorm().apply(variables, x, mutable=['batch_stats'])[0]", "8, 16, 5"),
        ("nn.Sequential([nn.Dense(4), nn.relu]).apply(variables, x)", "8, 16, 4"),
        ("nn.Dense(7).init_with_output(key, x)[0]", "8, 16, 7"),
    ],
)
def test_a_run_of_a_module_gives_what_its_code_gives(expression, expected):
    assert shape_of(f"{NET}\nresult = {expression}\ny = jnp.copy(result)\n") == expected


def test_numbers_drawn_inside_are_in_what_a_run_gives():
    code = (
        NET + "\nfor _ in range(3):\n    y = net.apply(variables, x, train=True, rngs={'dropout': key})\n    print(y)\n"
    )
    report = audit([SourceFile("net.py", code)], Config(select=("same-key-in-loop",))).report
    assert [one.rule for one in report.issues] == ["same-key-in-loop"]


def test_the_model_of_a_train_state_draws_once():
    code = NET + (
        "\nfrom flax.training.train_state import TrainState\nimport optax\n"
        "state = TrainState.create(apply_fn=net.apply, params=variables, tx=optax.adam(1e-3))\n"
        "result = state.apply_fn(state.params, x, train=True, rngs={'dropout': jax.random.key(1)})\ny = jnp.copy(result)\n"
    )
    assert shape_of(code) == "8, 16, 3"
    assert audit([SourceFile("net.py", code)], Config(select=("random",))).report.issues == ()


MANY = (
    HEAD
    + """
keys = jax.random.split(key, 6)
net = nn.Dense(3)

class Model(eqx.Module):
    inner: eqx.nn.Linear
    scale: jax.Array

    def __init__(self, key):
        self.inner = eqx.nn.Linear(5, 3, key=key)
        self.scale = jnp.ones(3)

    def __call__(self, row):
        return self.inner(row) * self.scale

models = eqx.filter_vmap(Model)(keys)
params = jax.vmap(lambda k: net.init(k, x))(keys)
arrays, static = eqx.partition(models, eqx.is_array)
row = x[0, 0]
"""
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("jax.vmap(lambda m: m(row))(models)", "6, 3"),
        ("eqx.filter_vmap(lambda m, r: m(r), in_axes=(eqx.if_array(0), None))(models, row)", "6, 3"),
        ("jax.vmap(lambda a: jax.vmap(eqx.combine(a, static))(x[0]), out_axes=1)(arrays)", "16, 6, 3"),
        ("jax.vmap(net.apply, in_axes=(0, None), out_axes=2)(params, x)", "8, 16, 6, 3"),
        ('jax.vmap(lambda p: net.apply({"params": p}, row))(params["params"])', "6, 3"),
        ("jax.lax.scan(lambda c, p: (c, net.apply(p, row)), 0.0, params)[1]", "6, 3"),
        ("models.scale + 1", "6, 3"),
    ],
)
def test_a_map_over_many_models_has_as_many_results(expression, expected):
    assert shape_of(f"{MANY}\nresult = {expression}\ny = jnp.copy(result)\n") == expected
