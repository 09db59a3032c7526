"""A classifier that is trained on all devices with `pmap`: each has a copy of the parameters and a part of the batch."""

import functools

import jax
import jax.numpy as jnp
import optax

CLASSES, FEATURES, HIDDEN = 10, 32, 64
PER_DEVICE = 16

optimizer = optax.adam(1e-3)


def init(key):
    first, second = jax.random.split(key)
    return {
        "hidden": jax.random.normal(first, (FEATURES, HIDDEN)) / FEATURES**0.5,
        "head": jax.random.normal(second, (HIDDEN, CLASSES)) / HIDDEN**0.5,
    }


def loss(params, features, labels, key):
    hidden = jax.nn.relu(features @ params["hidden"])
    kept = jax.random.bernoulli(key, 0.9, hidden.shape)
    logits = jnp.where(kept, hidden / 0.9, 0.0) @ params["head"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@functools.partial(jax.pmap, axis_name="devices")
def train_step(params, opt_state, features, labels, key):
    key = jax.random.fold_in(key, jax.lax.axis_index("devices"))
    value, grads = jax.value_and_grad(loss)(params, features, labels, key)
    grads = jax.lax.pmean(grads, "devices")
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, jax.lax.pmean(value, "devices")


def batches(key, devices, number):
    for one in jax.random.split(key, number):
        drawn, labelled = jax.random.split(one)
        features = jax.random.normal(drawn, (devices, PER_DEVICE, FEATURES))
        labels = jax.random.randint(labelled, (devices, PER_DEVICE), 0, CLASSES)
        yield features, labels


def replicated(tree, devices):
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (devices, *x.shape)), tree)


def main():
    devices = jax.local_device_count()
    start, data, noise = jax.random.split(jax.random.key(0), 3)
    params = init(start)
    opt_state = replicated(optimizer.init(params), devices)
    params = replicated(params, devices)
    for number, (features, labels) in enumerate(batches(data, devices, 20)):
        keys = replicated(jax.random.fold_in(noise, number), devices)
        params, opt_state, value = train_step(params, opt_state, features, labels, keys)
    print("loss", float(value[0]))


if __name__ == "__main__":
    main()
