"""The same training on all devices: each has a share of the batch, and all take the same step.

    cd examples/tour/language && python parallel.py
"""

import jax
import jax.numpy as jnp
import optax
from train import BATCH, init_state, loss_fn, make_batch, optimiser


def shard_step(params, opt_state, tokens, key):
    """Improve the parameters by the gradients of all devices."""
    (loss, _), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, tokens, key)
    grads = jax.lax.pmean(grads, axis_name="devices")
    updates, opt_state = optimiser.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, jax.lax.pmean(loss, axis_name="devices")


def main():
    """Take a few steps, and print how it goes."""
    count = jax.local_device_count()
    init_key, train_key = jax.random.split(jax.random.key(1))
    state = init_state(init_key)
    params, opt_state = jax.tree.map(lambda x: jnp.stack([x] * count), (state.params, state.opt_state))
    step = jax.pmap(shard_step, axis_name="devices")
    for number in range(3):
        data_key, model_key = jax.random.split(jax.random.fold_in(train_key, number))
        tokens = make_batch(data_key, count * BATCH).reshape((count, BATCH, -1))
        params, opt_state, loss = step(params, opt_state, tokens, jax.random.split(model_key, count))
        print(f"step {number}: loss {loss[0]:.3f}")


if __name__ == "__main__":
    main()
