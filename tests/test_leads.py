"""Facts that are worth a second look: each kind on a small program, word by word, and silence where it says nothing."""

from __future__ import annotations

import pytest

from jaxaudit.config import Config
from jaxaudit.reports.leads import KINDS
from jaxaudit.session import audit_text

HEAD = "import jax\nimport jax.numpy as jnp\nimport optax\n\n"


def leads(body: str, kind: str) -> list[tuple[int, str]]:
    """Return the leads of a kind, with lines counted from the first of the body."""
    report = audit_text("program.py", (HEAD + body).encode(), Config()).report
    return [(one.line - HEAD.count("\n"), one.text) for one in report.leads if one.kind == kind]


SHOWN = {
    "unread-value": (
        "def f(batch, net):\n    metrics = net.measure(batch)\n    return batch * 2\n",
        [(2, "`metrics` is bound here and never read; `batch`, which it was made of, is read on line 7")],
    ),
    "bound-again": (
        "def f(make, other):\n    env = make(1)\n    env = other(2)\n    return env\n",
        [(2, "`env` is bound again on line 7, before anything reads it")],
    ),
    "unread-parameter": (
        "def scale(x, factor):\n    return x * 2\n",
        [(1, "`scale` never reads its parameter `factor`")],
    ),
    "old-version-read": (
        "def f(x, v):\n    y = x.at[0].set(v)\n    z = jnp.sin(x)\n    return y, z\n",
        [(3, "`x`: read here as before line 6, which made the successor")],
    ),
    "older-name-read": (
        (
            "def f(env, state):\n    new_state = env.step(state)\n    reward = env.reward(state)\n    done = state.t > 9\n"
            "    return new_state, reward, done\n"
        ),
        [(3, "`state` is read here and on 8, after line 6 bound `new_state`")],
    ),
    "gradient-elsewhere": (
        "def step(p, q, g):\n    grads = jax.grad(lambda a, b: jnp.sum(a * b))(p, q)\n    return q - 0.1 * grads\n",
        [(3, "a gradient taken at `p` (line 6) is applied to `q` here")],
    ),
    "carry-left-alone": (
        (
            "def f(h, w, xs):\n    def body(carry, x):\n        h, w = carry\n        return (h * w + x, w), h\n"
            "    return jax.lax.scan(body, (h, w), xs)\n"
        ),
        [(5, "no turn of this loop changes `w`, which it carries")],
    ),
    "axes-grow": (
        "def f(x):\n    a = jnp.ones((5,))\n    b = jnp.zeros((7, 1))\n    return a - b + x\n",
        [(4, "`a` f32[5] with `b` f32[7,1] gives f32[7,5]: each is repeated along the other")],
    ),
    "condition-decided": (
        "def f(key):\n    p = jax.nn.sigmoid(jax.random.normal(key, (3,)))\n    return jnp.where(p < -1.0, 0.0, p)\n",
        [(3, "`p < -1.0` never holds: `p` is [0, 1]")],
    ),
    "buffer-unwritten": (
        "def f(i):\n    buffer = jnp.zeros((5, 3))\n    return buffer[i]\n",
        [(2, "`buffer` is made here, read on line 7, and never written")],
    ),
    "call-differs": (
        "def f(a, b, g):\n    x, y = g(a)\n    y, x = g(b)\n    return x, y\n",
        [(3, "`g` is unpacked into `y`, `x` here and the other way round on line 6")],
    ),
    "option-differs": (
        (
            "def f(a, b, c, d):\n    a = jnp.mean(a, axis=-1)\n    b = jnp.mean(b, axis=-1)\n    c = jnp.mean(c, axis=-1)\n"
            "    return a + b + c + jnp.mean(d, axis=0)\n"
        ),
        [(5, "`jnp.mean` with `axis=0`; its 3 other calls in this file give `axis=-1`")],
    ),
    "branch-differs": (
        "def f(flag, x):\n    if flag:\n        y = x + 1\n    else:\n        y = x + 1\n    return y\n",
        [(5, "the same as the other branch, line 7")],
    ),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_fact_is_told_in_these_words(kind: str) -> None:
    body, told = SHOWN[kind]
    assert leads(body, kind) == told


def test_every_kind_has_a_program() -> None:
    assert {kind.__name__.replace("_", "-") for kind in KINDS} == SHOWN.keys()


SILENT = {
    "unread-value": "def f(x):\n    _, y = x.split()\n    _unused = x.sum()\n    return y\n",
    "bound-again": "def f(make):\n    env = make(1)\n    env = env.wrap()\n    return env\n",
    "unread-parameter": "class Net:\n    def size(self, x):\n        return x.size\n\ndef f(x, _y):\n    return x\n",
    "old-version-read": "def f(x, v):\n    y = x.at[0].set(v)\n    return x - y\n",
    "older-name-read": "def f(env, x):\n    new_x = env.step(x)\n    delta = new_x - x\n    x = new_x\n    return x, delta\n",
    "gradient-elsewhere": "def step(p):\n    return p - 0.1 * jax.grad(lambda a: jnp.sum(a * a))(p)\n",
    "axes-grow": "def f():\n    a = jnp.ones((5,))\n    b = jnp.ones((7, 1))\n    c = a.reshape(1, 5)\n    return a - b[:, 0][:, None], c - b\n",
    "condition-decided": "def f(x):\n    if x.ndim == 2:\n        x = x[None]\n    return jnp.where(x < 0, 0.0, x)\n",
    "buffer-unwritten": "def f(i, v):\n    buffer = jnp.zeros((5,))\n    buffer = buffer.at[0].set(v)\n    return buffer[i]\n",
    "call-differs": "def f(a, b, g):\n    x, y = g(a)\n    x, y = g(b)\n    return x, jnp.outer(x, y), jnp.outer(y, x)\n",
    "option-differs": "def f(a, b, n):\n    return [jnp.mean(a, axis=n), jnp.mean(b, axis=1), jnp.sum(a, axis=0)]\n",
    "branch-differs": "def f(flag, x):\n    if flag:\n        y = x + 1\n    else:\n        y = x + 2\n    return y\n",
}


@pytest.mark.parametrize("kind", SILENT)
def test_nothing_is_told_of_what_is_common(kind: str) -> None:
    assert leads(SILENT[kind], kind) == []


def test_what_a_finding_says_of_a_line_is_not_told_again() -> None:
    body = "def f(key, x):\n    a = jax.random.normal(key, (3,))\n    unread = jax.random.normal(key, (3,))\n    return a\n"
    report = audit_text("program.py", (HEAD + body).encode(), Config()).report
    assert {one.line for one in report.issues}.isdisjoint(one.line for one in report.leads)


def test_the_most_telling_ones_come_first() -> None:
    body = SHOWN["unread-value"][0] + SHOWN["carry-left-alone"][0].replace("def f", "def g") + SHOWN["bound-again"][0]
    report = audit_text("program.py", (HEAD + body).encode(), Config()).report
    weights = [one.weight for one in report.leads]
    assert len(weights) >= 3
    assert weights == sorted(weights, reverse=True)


def test_a_report_of_findings_alone_has_none() -> None:
    body = SHOWN["unread-parameter"][0]
    assert audit_text("program.py", (HEAD + body).encode(), Config(), sections=False).report.leads == ()
