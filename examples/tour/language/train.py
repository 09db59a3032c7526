"""Trains the decoder to copy a sequence.

    cd examples/tour/language && python train.py
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from model import CONTEXT, VOCAB, apply_model, init_model

BATCH = 8
STEPS = 20


class State(NamedTuple):
    """All that one step hands on to the next."""

    params: dict
    average: dict
    opt_state: optax.OptState
    step: jax.Array


optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3))


def init_state(key):
    """Make fresh parameters, their average and the state of the optimiser."""
    params = init_model(key)
    return State(params, jax.tree.map(jnp.copy, params), optimiser.init(params), jnp.zeros((), jnp.int32))


def make_batch(key, size):
    """Make sequences whose second half repeats the first."""
    half = jax.random.randint(key, (size, CONTEXT // 2), 0, VOCAB)
    return jnp.concatenate([half, half], axis=1)


def loss_fn(params, tokens, key):
    """Give the mean loss of predicting each next token, and how often the guess is right."""
    keys = jax.random.split(key, tokens.shape[0])
    logits = jax.vmap(apply_model, in_axes=(None, 0, 0))(params, tokens[:, :-1], keys)
    targets = tokens[:, 1:]
    log_probs = jax.nn.log_softmax(logits, axis=-1)
    picked = jnp.take_along_axis(log_probs, targets[..., None], axis=-1).squeeze(-1)
    accuracy = jnp.mean(jnp.argmax(logits, axis=-1) == targets)
    return -picked.mean(), accuracy


@partial(jax.jit, static_argnames="size", donate_argnums=0)
def train_step(state, key, size):
    """Improve the parameters by one batch."""
    data_key, dropout_key = jax.random.split(key)
    tokens = make_batch(data_key, size)
    (loss, accuracy), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params, tokens, dropout_key)
    updates, opt_state = optimiser.update(grads, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)
    average = jax.tree.map(lambda old, new: 0.99 * old + 0.01 * new, state.average, params)
    return State(params, average, opt_state, state.step + 1), {"loss": loss, "accuracy": accuracy}


def evaluate(params, key):
    """Give the mean loss on fresh sequences, several batches at once."""
    data_keys, model_keys = jax.random.split(key, (2, 4))
    batches = jax.vmap(make_batch, in_axes=(0, None))(data_keys, BATCH)
    losses, _ = jax.vmap(loss_fn, in_axes=(None, 0, 0))(params, batches, model_keys)
    return losses.mean()


def main():
    """Train for a few steps, and print how it goes."""
    init_key, train_key, test_key = jax.random.split(jax.random.key(0), 3)
    state = init_state(init_key)
    for number in range(STEPS):
        state, metrics = train_step(state, jax.random.fold_in(train_key, number), size=BATCH)
        print(f"step {number}: " + ", ".join(f"{name} {value:.3f}" for name, value in metrics.items()))
    print(f"loss on fresh sequences: {evaluate(state.average, test_key):.3f}")


if __name__ == "__main__":
    main()
