"""Losses, schedules, projections and helpers of optax."""

import jax
import jax.numpy as jnp
import optax

B, C, T = 6, 4, 9
key = jax.random.key(1)
logits = jax.random.normal(key, (B, C))
labels = jnp.arange(B) % C
onehot = jax.nn.one_hot(labels, C)
a = optax.softmax_cross_entropy(logits, onehot)
b = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
c = optax.sigmoid_binary_cross_entropy(logits, onehot)
d = optax.huber_loss(logits, onehot, delta=0.5)
e = optax.log_cosh(logits, onehot)
f = optax.cosine_similarity(logits, onehot)
g = optax.cosine_distance(logits, onehot)
h = optax.hinge_loss(logits[:, 0], jnp.sign(logits[:, 1]))
i = optax.kl_divergence(jax.nn.log_softmax(logits), onehot)
j = optax.smooth_labels(onehot, 0.1)
k = optax.safe_norm(logits, 1e-3, axis=-1)
m = optax.ctc_loss(jnp.zeros((B, T, C)), jnp.zeros((B, T)), jnp.ones((B, 3), jnp.int32), jnp.zeros((B, 3)))
n = optax.squared_error(logits, onehot)
o = optax.sigmoid_focal_loss(logits, onehot)
q = optax.convex_kl_divergence(jax.nn.log_softmax(logits), onehot)
r = optax.losses.make_fenchel_young_loss(jax.nn.logsumexp)(logits, onehot)
s = optax.projections.projection_simplex(logits[0])
t = optax.projections.projection_box(logits, -1.0, 1.0)
u = optax.global_norm({"w": logits, "b": labels * 1.0})
v = optax.incremental_update({"w": logits}, {"w": onehot}, 0.1)["w"]
w = optax.tree_utils.tree_add({"w": logits}, {"w": onehot})
z = optax.tree_utils.tree_vdot({"w": logits}, {"w": onehot})
schedules = [
    optax.constant_schedule(0.1),
    optax.linear_schedule(1.0, 0.0, 10),
    optax.exponential_decay(1.0, 10, 0.9),
    optax.cosine_decay_schedule(1.0, 10),
    optax.polynomial_schedule(1.0, 0.0, 2, 10),
    optax.piecewise_constant_schedule(1.0, {3: 0.1}),
    optax.join_schedules([optax.constant_schedule(0.1), optax.constant_schedule(0.2)], [5]),
    optax.sgdr_schedule([dict(init_value=0.0, peak_value=1.0, decay_steps=10, warmup_steps=2)]),
    optax.cosine_onecycle_schedule(10, 1.0),
]
rates = [schedule(jnp.asarray(3)) for schedule in schedules]
