"""An equinox MLP that learns two spirals: per-example model, `vmap` over the batch, an epoch as one `scan`.

    python examples/equinox_mlp.py
    jaxaudit run examples/equinox_mlp.py
    jaxaudit trace examples/equinox_mlp.py:loss_fn --arg model='=Classifier(key)' \
        --arg points='f32[batch=32,2]' --arg labels='i32[batch=32]' --arg keys='key[batch=32]'
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

FEATURES = 2
HIDDEN = 24
CLASSES = 3
POINTS = 192
BATCH = 32
EPOCHS = 3
OPTIMISER = optax.adam(1e-2)


class Classifier(eqx.Module):
    """Maps one point to the logits of its classes."""

    layers: list[eqx.nn.Linear]
    norm: eqx.nn.LayerNorm
    dropout: eqx.nn.Dropout

    def __init__(self, key: jax.Array) -> None:
        first, second, last = jax.random.split(key, 3)
        self.layers = [
            eqx.nn.Linear(FEATURES, HIDDEN, key=first),
            eqx.nn.Linear(HIDDEN, HIDDEN, key=second),
            eqx.nn.Linear(HIDDEN, CLASSES, key=last),
        ]
        self.norm = eqx.nn.LayerNorm(HIDDEN)
        self.dropout = eqx.nn.Dropout(0.1)

    def __call__(self, point: jax.Array, key: jax.Array | None = None) -> jax.Array:
        first, second, last = self.layers
        hidden = jax.nn.relu(first(point))
        hidden = self.dropout(self.norm(hidden), key=key, inference=key is None)
        hidden = jax.nn.relu(second(hidden))
        return last(hidden)


def make_data(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Make points on spirals, one arm a class."""
    radius_key, noise_key = jax.random.split(key)
    labels = jnp.arange(POINTS) % CLASSES
    radius = jax.random.uniform(radius_key, (POINTS,), minval=0.2)
    angle = 3.0 * radius + labels * (2.0 * jnp.pi / CLASSES)
    points = radius[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
    return points + 0.02 * jax.random.normal(noise_key, points.shape), labels


def loss_fn(model: Classifier, points: jax.Array, labels: jax.Array, keys: jax.Array) -> jax.Array:
    """Give the mean cross-entropy of a batch."""
    logits = jax.vmap(model)(points, keys)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@eqx.filter_jit
def train_epoch(model: Classifier, opt_state: optax.OptState, points: jax.Array, labels: jax.Array, key: jax.Array):
    """Go through all points once, in a new order."""
    order_key, dropout_key = jax.random.split(key)
    order = jax.random.permutation(order_key, POINTS)
    batches = (points[order].reshape(-1, BATCH, FEATURES), labels[order].reshape(-1, BATCH))
    step_keys = jax.random.split(dropout_key, POINTS // BATCH)
    arrays, static = eqx.partition(model, eqx.is_array)

    def train_step(carry, step):
        arrays, opt_state = carry
        (points, labels), step_key = step
        model = eqx.combine(arrays, static)
        keys = jax.random.split(step_key, BATCH)
        loss, grads = eqx.filter_value_and_grad(loss_fn)(model, points, labels, keys)
        updates, opt_state = OPTIMISER.update(grads, opt_state, arrays)
        return (eqx.apply_updates(arrays, updates), opt_state), loss

    (arrays, opt_state), losses = jax.lax.scan(train_step, (arrays, opt_state), (batches, step_keys))
    return eqx.combine(arrays, static), opt_state, losses.mean()


@eqx.filter_jit
def accuracy(model: Classifier, points: jax.Array, labels: jax.Array) -> jax.Array:
    """Give how often the likeliest class is right."""
    logits = jax.vmap(model)(points)
    return jnp.mean(jnp.argmax(logits, axis=-1) == labels)


def main() -> None:
    """Train for a few epochs."""
    data_key, model_key, train_key = jax.random.split(jax.random.key(0), 3)
    points, labels = make_data(data_key)
    model = Classifier(model_key)
    opt_state = OPTIMISER.init(eqx.filter(model, eqx.is_array))
    for epoch in range(EPOCHS):
        epoch_key = jax.random.fold_in(train_key, epoch)
        model, opt_state, loss = train_epoch(model, opt_state, points, labels, epoch_key)
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {accuracy(model, points, labels):.2f}")


if __name__ == "__main__":
    main()
