"""Modules of equinox: layers, filtered transformations, a step of training."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

B, D, H, C, T = 4, 6, 16, 3, 7
key = jax.random.key(0)
k1, k2, k3, k4, k5, k6 = jax.random.split(key, 6)


class Net(eqx.Module):
    layers: list
    norm: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout
    scale: jax.Array

    def __init__(self, key):
        a, b = jax.random.split(key)
        self.layers = [eqx.nn.Linear(D, H, key=a), eqx.nn.Linear(H, C, key=b)]
        self.norm = eqx.nn.LayerNorm(H)
        self.dropout = eqx.nn.Dropout(0.3)
        self.scale = jnp.ones(C)

    def __call__(self, x, key=None):
        h = jax.nn.relu(self.norm(self.layers[0](x)))
        h = self.dropout(h, key=key, inference=key is None)
        return self.layers[1](h) * self.scale


net = Net(k1)
x, y = jnp.ones((B, D)), jnp.zeros(B, jnp.int32)
optim = optax.adamw(1e-3)
state = optim.init(eqx.filter(net, eqx.is_array))


def loss_fn(net, x, y, key):
    logits = jax.vmap(net)(x, jax.random.split(key, x.shape[0]))
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


@eqx.filter_jit
def step(net, state, x, y, key):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(net, x, y, key)
    updates, state = optim.update(grads, state, eqx.filter(net, eqx.is_array))
    return eqx.apply_updates(net, updates), state, loss


net, state, loss = step(net, state, x, y, k2)
mlp = eqx.nn.MLP(D, C, 8, 2, key=k3)
out = jax.vmap(mlp)(x)
conv = eqx.nn.Conv2d(3, 5, 3, key=k4)
image = conv(jnp.ones((3, 8, 8)))
pool = eqx.nn.MaxPool2d(2, 2)(image)
gru = eqx.nn.GRUCell(D, H, key=k5)
hidden, _ = jax.lax.scan(lambda h, v: (gru(v, h), None), jnp.zeros(H), jnp.ones((T, D)))
lstm = eqx.nn.LSTMCell(D, H, key=k5)
cell = lstm(jnp.ones(D), (jnp.zeros(H), jnp.zeros(H)))
embed = eqx.nn.Embedding(10, D, key=k6)
row = jax.vmap(embed)(jnp.arange(T))
attention = eqx.nn.MultiheadAttention(2, D, key=k6)
mixed = attention(row, row, row)
group = eqx.nn.GroupNorm(2, 4)(jnp.ones((4, 5)))
batch, stats = eqx.nn.make_with_state(eqx.nn.BatchNorm)(D, axis_name="b", mode="batch")
normed, stats = jax.vmap(batch, axis_name="b", in_axes=(0, None), out_axes=(0, None))(x, stats)
params, static = eqx.partition(net, eqx.is_array)
again = eqx.combine(params, static)
rms = eqx.nn.RMSNorm(D)(x[0])
deconv = eqx.nn.ConvTranspose1d(2, 4, 3, stride=2, key=k4)(jnp.ones((2, 9)))
prelu = eqx.nn.PReLU()(x)
rotary = eqx.nn.RotaryPositionalEmbedding(D)(row)
sequential = eqx.nn.Sequential([eqx.nn.Linear(D, 4, key=k1), eqx.nn.Lambda(jnp.tanh)])(x[0])
