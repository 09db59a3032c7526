"""Verdicts of the rules about data flow on small programs, read by the source front end."""

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

HEADER = "import jax\nimport jax.numpy as jnp\nimport optax\nfrom typing import NamedTuple\n"


def findings(code: str) -> list[str]:
    text = HEADER + textwrap.dedent(code)
    report = audit([SourceFile("program.py", text)], Config(select=("flow",))).report
    lines = text.split("\n")
    return [f"{one.severity} {one.rule}: {lines[one.line - 1].strip()}" for one in (*report.issues, *report.warnings)]


def test_a_new_state_with_a_name_of_its_own():
    code = """
    def cell(params, h, x):
        out = jnp.tanh(h @ params["w"] + x @ params["u"])
        return out, out @ params["o"]

    def decode(params, h, x, steps):
        for _ in range(steps):
            h_next, y = cell(params, h, x)
            x = jax.nn.softmax(y)
        return x
    """
    assert findings(code) == ["error stale-value: h_next, y = cell(params, h, x)"]


def test_a_scan_that_carries_the_old_state():
    code = """
    def run(w, xs):
        def step(h, x):
            new_h = jnp.tanh(h @ w + x)
            return h, h @ w
        return jax.lax.scan(step, jnp.zeros(4), xs)
    """
    assert findings(code) == ["error stale-value: new_h = jnp.tanh(h @ w + x)"]


def test_running_averages_that_never_move():
    code = """
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.BatchNorm(use_running_average=False)(x)

    def loss(params, stats, x):
        y, new = Net().apply({"params": params, "batch_stats": stats}, x, mutable=["batch_stats"])
        return y.mean(), new["batch_stats"]

    def train(params, stats, x):
        (value, moved), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, x)
        return jax.tree.map(lambda p, g: p - g, params, grads), stats, value
    """
    assert findings(code) == [
        "error stale-value: (value, moved), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, x)"
    ]


def test_squashed_actions_are_stored():
    code = """
    def logp(w, obs, u):
        return -jnp.sum((u - obs @ w) ** 2, -1)

    def rollout(w, state, key):
        def step(state, key):
            u = state @ w + jax.random.normal(key, (2,))
            action = jnp.tanh(u)
            return 0.9 * state, {"obs": state, "action": action, "logp": logp(w, state, u)}
        return jax.lax.scan(step, state, jax.random.split(key, 10))[1]

    def ratio(w, state, key):
        batch = rollout(w, state, key)
        return jnp.exp(logp(w, batch["obs"], batch["action"]) - batch["logp"])
    """
    assert findings(code) == [
        'error recomputed-from-other-form: return jnp.exp(logp(w, batch["obs"], batch["action"]) - batch["logp"])'
    ]


@pytest.mark.parametrize(
    "body",
    [
        "y = x.at[0].set(1)\n    del y\n    return x",
        "y = x.at[0].set(1)\n    return x, lambda: y",
        "global y\n    y = x.at[0].set(1)\n    return x",
        "y = x.at[0].set(1)\n    print(locals())\n    return x",
        "_y = x.at[0].set(1)\n    return x",
        "for i in range(3):\n        if i: print(y)\n        y = x.at[i].set(1)\n    return x",
    ],
)
def test_what_may_be_read_is_left_alone(body):
    assert findings(f"def f(x):\n    {body}\n") == []


def test_temporal_differences_are_no_mismatch():
    code = """
    def value(w, obs):
        return obs @ w

    def rollout(w, state):
        def step(state, _):
            following = state * 0.9
            return following, (state, following, value(w, state))
        return jax.lax.scan(step, state, None, 10)[1]

    def loss(w, state):
        obs, following, old = rollout(w, state)
        return jnp.mean((value(w, following) - old) ** 2) + jnp.mean((value(w, obs) - old) ** 2)
    """
    assert findings(code) == []


@pytest.mark.parametrize(
    "code",
    [
        # The divergence is meant to be reversed.
        "def kl(p, q):\n    return jnp.sum(p * (p - q))\n\ndef f(net, x):\n    p = net(x)\n    q = p + 1\n    return kl(q, p)\n",
        # Warming up and measuring.
        "step = jax.jit(lambda x: x + 1)\n\ndef f(x):\n    step(x)\n    for _ in range(9):\n        jnp.dot(x, x)\n",
        # Each input is scored from the same state.
        (
            "def cell(h, x):\n    h = h + x\n    return h, h * 2\n\ndef f(h, xs):\n    out = []\n    for x in xs:\n"
            "        h_new, y = cell(h, x)\n        out.append(y)\n    return out\n"
        ),
        # What is stored is mapped for its effect.
        "def f(tree):\n    jax.tree.map(lambda x: x.block_until_ready(), tree)\n",
    ],
)
def test_correct_programs_give_no_error(code):
    assert [one for one in findings(code) if one.startswith("error")] == []
