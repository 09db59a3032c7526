"""The ranges that the data flow shows for programs that everybody writes: attention, PPO's clipping, GAE."""

from __future__ import annotations

import textwrap

import pytest

pytest.importorskip("jax")

import jax.numpy as jnp

from jaxaudit import audit
from jaxaudit.reports.model import FlowValue

CODE = textwrap.dedent(
    """
    import jax
    import jax.numpy as jnp


    def attention(q, k, v, mask):
        scores = q @ k.T / jnp.sqrt(8.0)
        masked = jnp.where(mask, scores, -1e9)
        weights = jax.nn.softmax(masked, axis=-1)
        mixed = weights @ jnp.tanh(v)
        return mixed


    def by_hand(scores):
        highest = jnp.max(scores, axis=-1, keepdims=True)
        shifted = scores - highest
        weights = jnp.exp(shifted)
        total = weights.sum(axis=-1, keepdims=True)
        normalised = weights / total
        log_total = jnp.log(total)
        return normalised, log_total


    def clipped_loss(log_prob, old, advantage):
        ratio = jnp.exp(log_prob - old)
        clipped = jnp.clip(ratio, 0.8, 1.2)
        kl = (ratio - 1.0) ** 2
        return -jnp.minimum(ratio * advantage, clipped * advantage).mean() + kl.mean()


    def gae(rewards, values, dones):
        def step(carry, x):
            gae, following = carry
            reward, value, done = x
            alive = 1.0 - done
            delta = reward + 0.99 * following * alive - value
            gae = delta + 0.9405 * alive * gae
            return (gae, value), gae

        rewards = jnp.clip(rewards, 0.0, 1.0)
        (_, _), advantages = jax.lax.scan(step, (0.0, values[-1]), (rewards, values, dones), reverse=True)
        return advantages
    """
)


@pytest.fixture(scope="module")
def functions(tmp_path_factory) -> dict:
    path = tmp_path_factory.mktemp("shown") / "shown.py"
    path.write_text(CODE)
    space: dict = {}
    exec(compile(CODE, str(path), "exec"), space)
    return space


def shown(function, *args) -> dict[str, str]:
    """Return the range of every value of the data flow by its name, or by what its step does."""
    report = audit(function, *args)
    found: dict[str, str] = {}
    for step in report.data_flow:
        values: tuple[FlowValue, ...] = (*step.makes, *step.enters)
        found.update({one.name or step.what: one.range for one in values})
    return found


def test_attention_weights_are_probabilities(functions):
    rows = jnp.ones((4, 8))
    ranges = shown(functions["attention"], rows, rows, rows, jnp.ones((4, 4), bool))
    assert ranges["mask"] == "mask"
    assert ranges["scores"] == ""
    assert ranges["weights"] == "[0, 1], sums to 1 along axis -1"
    assert ranges["mixed"] == "[-1, 1]"


def test_softmax_by_hand_is_safe(functions):
    ranges = shown(functions["by_hand"], jnp.ones((4, 8)))
    assert ranges["shifted"] == "<= 0"
    assert ranges["weights"] == "[0, 1]"
    assert ranges["total"] == "[1, 8]"
    assert ranges["normalised"] == "[0, 1], sums to 1 along axis -1"
    assert ranges["log_total"] == "[0, 2.079]"


def test_the_ratio_of_ppo_is_clipped(functions):
    ranges = shown(functions["clipped_loss"], *(jnp.ones(4),) * 3)
    assert ranges["ratio"] == ">= 0, may be infinite"
    assert "[0.8, 1.2]" in ranges.values()
    assert ranges["kl"] == ">= 0, may be infinite"


def test_gae_knows_what_ends_an_episode(functions):
    ranges = shown(functions["gae"], jnp.ones(4), jnp.ones(4), jnp.zeros(4, bool))
    assert ranges["dones"] == "mask"
    assert ranges["alive"] == "mask"
    assert "[0, 1]" in ranges.values()
    assert ranges["delta"] == ""


def test_draws_of_a_trace_have_ranges(functions):
    code = (
        "def draws(key, logits):\n"
        "    order = jax.random.permutation(key, 12)\n"
        "    action = jax.random.categorical(key, logits)\n"
        "    place = jax.random.randint(key, (3,), 0, 5)\n"
        "    share = jax.random.uniform(key, (3,), minval=-1.0, maxval=2.0)\n"
        "    return order, action, place, share\n"
    )
    space = {"jax": functions["jax"]}
    exec(compile(code, "draws.py", "exec"), space)
    report = audit(space["draws"], functions["jax"].random.key(0), jnp.ones((6, 4)))
    ranges = [one.range for step in report.data_flow for one in step.makes if one.range]
    assert ranges == ["integer [0, 11]", "integer [0, 3]", "integer [0, 4]", "[-1, 2]"]
