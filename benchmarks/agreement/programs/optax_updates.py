"""Optimizers of optax, each over a few steps of a small regression."""

import jax
import jax.numpy as jnp
import optax

IN, OUT, BATCH = 5, 3, 8


def loss(params, x, y):
    return optax.l2_loss(x @ params["w"] + params["b"], y).mean()


def train(optimizer, params, x, y, steps=1):
    state = optimizer.init(params)
    for _ in range(steps):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params, state


key = jax.random.key(0)
x = jax.random.normal(key, (BATCH, IN))
y = jnp.ones((BATCH, OUT))
params = {"w": jnp.zeros((IN, OUT)), "b": jnp.zeros(OUT)}
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 10, 100)
for optimizer in (
    optax.sgd(0.1, momentum=0.9, nesterov=True),
    optax.adam(1e-3),
    optax.adamw(schedule, weight_decay=1e-4),
    optax.rmsprop(1e-2, centered=True),
    optax.adagrad(0.1),
    optax.lamb(1e-3),
    optax.lion(1e-3),
    optax.adafactor(1e-2),
    optax.yogi(1e-2),
    optax.adabelief(1e-2),
    optax.radam(1e-2),
    optax.novograd(1e-2),
    optax.amsgrad(1e-2),
    optax.adadelta(1e-2),
    optax.adamax(1e-2),
    optax.nadam(1e-2),
    optax.fromage(1e-2),
    optax.chain(
        optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.add_decayed_weights(1e-4), optax.scale(-1e-3)
    ),
    optax.multi_transform({"a": optax.sgd(0.1), "b": optax.adam(0.1)}, {"w": "a", "b": "b"}),
    optax.masked(optax.adam(1e-2), {"w": True, "b": False}),
    optax.contrib.muon(1e-2),
):
    new_params, state = train(optimizer, params, x, y)
