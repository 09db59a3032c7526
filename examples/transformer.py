"""A small flax transformer that learns to copy a sequence: one compiled training step, called in a loop.

    python examples/transformer.py
    jaxaudit run examples/transformer.py
    jaxaudit trace examples/transformer.py:train_step --arg state='=init_state(key)' \
        --arg tokens='i32[batch=8,time=32]' --arg dropout_key=key
"""

from dataclasses import dataclass

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model; they all differ, so that no two axes are equal by accident."""

    vocab: int = 17
    width: int = 48
    heads: int = 4
    layers: int = 2
    hidden: int = 96
    context: int = 32


SIZES = Sizes()
BATCH = 8
STEPS = 5


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    sizes: Sizes

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array) -> jax.Array:
        head_width = self.sizes.width // self.sizes.heads
        project = lambda name: nn.DenseGeneral((self.sizes.heads, head_width), use_bias=False, name=name)(x)  # noqa: E731
        query, key, value = project("query"), project("key"), project("value")
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(head_width)
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
        return nn.DenseGeneral(self.sizes.width, axis=(-2, -1), use_bias=False, name="out")(mixed)


class Block(nn.Module):
    """Attention and a feed-forward network, each with its own norm and a way around it."""

    sizes: Sizes

    @nn.compact
    def __call__(self, x: jax.Array, mask: jax.Array, *, train: bool) -> jax.Array:
        attended = Attention(self.sizes)(nn.LayerNorm()(x), mask)
        x = x + nn.Dropout(0.1, deterministic=not train)(attended)
        hidden = nn.gelu(nn.Dense(self.sizes.hidden)(nn.LayerNorm()(x)))
        return x + nn.Dropout(0.1, deterministic=not train)(nn.Dense(self.sizes.width)(hidden))


class Transformer(nn.Module):
    """A decoder: tokens in, logits of the next token out."""

    sizes: Sizes

    @nn.compact
    def __call__(self, tokens: jax.Array, *, train: bool) -> jax.Array:
        time = tokens.shape[1]
        embedding = nn.Embed(self.sizes.vocab, self.sizes.width)
        positions = self.param("positions", nn.initializers.normal(0.02), (self.sizes.context, self.sizes.width))
        x = embedding(tokens) + positions[:time]
        mask = nn.make_causal_mask(tokens)
        for _ in range(self.sizes.layers):
            x = Block(self.sizes)(x, mask, train=train)
        return embedding.attend(nn.LayerNorm()(x))


def init_state(key: jax.Array) -> TrainState:
    """Make fresh parameters and the optimiser's state."""
    model = Transformer(SIZES)
    variables = model.init(key, jnp.zeros((1, SIZES.context), jnp.int32), train=False)
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 2, 100)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=0.01))
    return TrainState.create(apply_fn=model.apply, params=variables["params"], tx=optimiser)


def loss_fn(params, state: TrainState, tokens: jax.Array, dropout_key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Give the mean loss of predicting each next token, and how often the guess is right."""
    logits = state.apply_fn({"params": params}, tokens[:, :-1], train=True, rngs={"dropout": dropout_key})
    targets = tokens[:, 1:]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    accuracy = jnp.mean(jnp.argmax(logits, axis=-1) == targets)
    return losses.mean(), accuracy


@jax.jit
def train_step(state: TrainState, tokens: jax.Array, dropout_key: jax.Array) -> tuple[TrainState, dict[str, jax.Array]]:
    """Improve the parameters by one batch."""
    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, accuracy), grads = grad_fn(state.params, state, tokens, dropout_key)
    metrics = {"loss": loss, "accuracy": accuracy, "grad_norm": optax.tree.norm(grads)}
    return state.apply_gradients(grads=grads), metrics


def make_batch(key: jax.Array) -> jax.Array:
    """Make sequences whose second half repeats the first."""
    half = jax.random.randint(key, (BATCH, SIZES.context // 2), 0, SIZES.vocab)
    return jnp.concatenate([half, half], axis=1)


def main() -> None:
    """Train for a few steps."""
    init_key, data_key, dropout_key = jax.random.split(jax.random.key(0), 3)
    state = init_state(init_key)
    for step in range(STEPS):
        tokens = make_batch(jax.random.fold_in(data_key, step))
        state, metrics = train_step(state, tokens, jax.random.fold_in(dropout_key, step))
        print(f"step {step}: " + ", ".join(f"{name} {value:.3f}" for name, value in metrics.items()))


if __name__ == "__main__":
    main()
