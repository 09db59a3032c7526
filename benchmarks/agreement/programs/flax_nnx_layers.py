"""Layers of flax.nnx, with an optimizer and a step of training."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

B, D, H, C = 4, 6, 16, 3


class Model(nnx.Module):
    def __init__(self, din: int, dhidden: int, dout: int, *, rngs: nnx.Rngs):
        self.first = nnx.Linear(din, dhidden, rngs=rngs)
        self.norm = nnx.BatchNorm(dhidden, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.second = nnx.Linear(dhidden, dout, rngs=rngs)

    def __call__(self, x):
        h = nnx.relu(self.dropout(self.norm(self.first(x))))
        return self.second(h)


model = Model(D, H, C, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x, y):
    def loss_fn(model):
        logits = model(x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


x, y = jnp.ones((B, D)), jnp.zeros(B, jnp.int32)
loss = step(model, optimizer, x, y)
conv = nnx.Conv(3, 8, (3, 3), rngs=nnx.Rngs(1))
image = conv(jnp.ones((B, 8, 8, 3)))
attention = nnx.MultiHeadAttention(num_heads=2, in_features=D, decode=False, rngs=nnx.Rngs(2))
mixed = attention(jnp.ones((B, 5, D)))
embed = nnx.Embed(10, D, rngs=nnx.Rngs(3))
looked = embed(jnp.zeros((B, 5), jnp.int32))
layer = nnx.LayerNorm(D, rngs=nnx.Rngs(4))
normed = layer(x)
graphdef, state = nnx.split(model)
again = nnx.merge(graphdef, state)
