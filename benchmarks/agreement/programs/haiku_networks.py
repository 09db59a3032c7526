"""Networks of haiku by transform and transform_with_state."""

import haiku as hk
import jax
import jax.numpy as jnp

B, D, T = 4, 6, 5
rng = jax.random.PRNGKey(0)
x, image, sequence = jnp.ones((B, D)), jnp.ones((B, 8, 8, 3)), jnp.ones((T, B, D))


def mlp(x):
    h = hk.Linear(16)(x)
    h = hk.LayerNorm(-1, True, True)(h)
    h = hk.dropout(hk.next_rng_key(), 0.1, jax.nn.relu(h))
    return hk.nets.MLP([8, 3])(h)


def conv(x, is_training):
    h = hk.Conv2D(8, 3, stride=2)(x)
    h = hk.BatchNorm(True, True, 0.9)(h, is_training)
    h = hk.max_pool(jax.nn.relu(h), 2, 2, "VALID")
    return hk.Linear(10)(hk.Flatten()(h))


def recurrent(xs):
    core = hk.GRU(7)
    out, state = hk.dynamic_unroll(core, xs, core.initial_state(xs.shape[1]))
    return out, state


def attention(x):
    mixed = hk.MultiHeadAttention(2, 4, w_init=hk.initializers.VarianceScaling(1.0))(x, x, x)
    table = hk.Embed(9, 4)
    scale = hk.get_parameter("scale", [x.shape[-1]], init=jnp.ones)
    return mixed, table(jnp.arange(3)), x * scale


def lstm(x):
    core = hk.LSTM(5)
    return core(x, core.initial_state(x.shape[0]))


f = hk.transform(mlp)
params = f.init(rng, x)
y = f.apply(params, rng, x)
g = hk.transform_with_state(conv)
params, state = g.init(rng, image, True)
z, state = g.apply(params, state, rng, image, True)
h = hk.without_apply_rng(hk.transform(recurrent))
params = h.init(rng, sequence)
out, last = h.apply(params, sequence)
a = hk.without_apply_rng(hk.transform(attention))
params = a.init(rng, jnp.ones((T, 8)))
mixed, rows, scaled = a.apply(params, jnp.ones((T, 8)))
m = hk.without_apply_rng(hk.transform(lstm))
params = m.init(rng, x)
out, last = m.apply(params, x)
