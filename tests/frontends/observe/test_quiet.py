"""Correct programs of which only a trace shows the inside: what JAX's own functions do in there is not told."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import report

pytest.importorskip("jax")

SCRIPT = """\
import jax
import jax.numpy as jnp


@jax.jit
def energy(positions):
    i, j = jnp.triu_indices(positions.shape[0], k=1)
    return jnp.sum((positions[i] - positions[j]) ** 2)


@jax.jit
def received(spikes, weights):
    (senders,) = jnp.nonzero(spikes, size=4, fill_value=spikes.shape[0])
    return weights.at[senders].get(mode="fill", fill_value=0.0).sum(axis=0)


@jax.jit
def factor(gram, noise):
    return jnp.linalg.cholesky(gram + jnp.eye(noise.shape[0]) * noise**2)


@jax.jit
def log_determinant(matrix):
    return 2.0 * jnp.sum(jnp.log(jnp.diag(jnp.linalg.cholesky(matrix))))


@jax.custom_vjp
def applied(weights, x):
    return jnp.tanh(weights["used"] * x)


def forward_rule(weights, x):
    return applied(weights, x), (weights, x)


def backward_rule(kept, given):
    weights, x = kept
    _, pull = jax.vjp(lambda one: jnp.tanh(one["used"] * x), weights)
    return pull(given)[0], jnp.zeros_like(x)


applied.defvjp(forward_rule, backward_rule)


def loss(weights, x):
    return jnp.sum(weights["other"] * applied(weights, x))


@jax.jit
def sampled(logits):
    chances = jax.nn.softmax(logits)
    return chances / jnp.sum(chances, axis=-1, keepdims=True)


def made(key, sizes):
    layers = []
    for d_in, d_out in zip(sizes[:-1], sizes[1:]):
        key, sub = jax.random.split(key)
        layers.append(jax.random.normal(sub, (d_in, d_out)))
    return layers


def forward(layers, x):
    for layer in layers[:-1]:
        x = jax.nn.relu(x @ layer)
    return x @ layers[-1]


@jax.jit
def trained(key, x):
    return forward(made(key, (2, 32, 32, 1)), x)


points = jax.random.normal(jax.random.key(0), (6, 2))
energy(points)
received(points[:, 0] > 0, points)
factor(jnp.eye(6), points[:, 0])
sampled(points)
log_determinant(jnp.eye(4) + 0.1)
jax.grad(loss)({"used": jnp.ones(2), "other": jnp.ones(2)}, points)
trained(jax.random.key(1), points)
"""


def test_correct_programs_are_quiet_in_a_run(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    found = report("run", "script.py", cwd=tmp_path)
    assert [(one["rule"], one["line"]) for one in found["issues"]] == []
