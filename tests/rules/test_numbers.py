"""The rules on ranges: five ways to write each bug, and correct programs that look like it, on both front ends."""

from __future__ import annotations

import textwrap

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

HEAD = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\nN = 16\n"

# Each line that ends in `# !` must give an error of the rule, in `# ?` a warning, and no other line anything.
PROGRAMS = {
    "unsafe-domain": """
        def b1(x, y): return (y * jnp.log(jnp.maximum(x, 0.0))).mean()  # !
        def b2(x): return 1.0 / jnp.arange(x.shape[0])  # !
        def b3(labels): return jnp.mean(jnp.log(jax.nn.one_hot(labels, 10)))  # !
        def b4(x): return x / (x - x.max())  # !
        def b5(x): return jnp.sqrt(-jax.nn.softplus(x) - 1.0)  # !
        def b6(x, m): return jnp.sum(x * m) / jnp.where(m, x, 0.0)  # !
        def b7(x, t): return x.sum() / (t > 0).sum()  # ?
        def b8(a, b): return jnp.arccos(a / jnp.linalg.norm(a) @ (b / jnp.linalg.norm(b)))  # ?
        def b9(x): return jnp.log(jax.nn.softmax(x)).sum()  # ?
        def c1(x): return jnp.exp(jnp.clip(x, -100.0, 100.0)).sum()  # ?
        def c2(x): return jnp.exp(jnp.clip(x, -20.0, 20.0)), jnp.exp(x - x.max()), jnp.exp(x)
        def o0(x): valid = jnp.arange(16) > 4; return jnp.sum(x * valid) / valid.sum()
        def d2(r): t = (r / jax.nn.relu(r)) * r; return jnp.where(r > 0, t * r, 0.0)
        def d1(x): return (1 / jnp.arange(8)).at[0].set(0.0), (1 / jnp.arange(8))[1:]
        def o1(x, y): return (y * jnp.log(jnp.maximum(x, 1e-6))).mean()
        def o2(x): return 1.0 / (1 + jnp.arange(x.shape[0]))
        def o3(x): return jax.nn.softmax(x + jnp.log((x > 0).astype(jnp.float32)))
        def o4(x): return jnp.where(x > 0, 1 / jax.nn.relu(x), 0.0)
        def o5(x): return (x - x.mean()) / (x.std() + 1e-8), x / x.std()
        def o6(x): p = jax.nn.softmax(x); return -jnp.sum(p * jnp.log(p + 1e-9))
        def o7(x): return jnp.sqrt(jax.nn.relu(x)), 10000.0 ** (jnp.arange(4) / 4)
        def o8(x): n = (x > 0).sum(); return jax.lax.cond(n > 0, lambda: x.sum() / n, lambda: 0.0)
        def o9(x): best = x == x.max(); return best / best.sum(), jnp.log(jnp.diag(jnp.tril(x))).sum()
    """,
    "where-nan-gradient": """
        def g1(w, x): r = x @ w; return jnp.where(r > 0, jnp.log(r), 0.0).sum()  # !
        def g2(w, x): n = jnp.linalg.norm(x * w, axis=-1); return jnp.where(n > 1e-6, 1.0 / n, 0.0).sum()  # !
        def g3(w, x): r = x @ w; return jnp.where(r == 0, 0.0, jnp.sin(r) / r).sum()  # !
        def g4(w, x): r = jnp.maximum(x @ w, 0.0); return jnp.sqrt(r).sum()  # !
        def g5(w, x): y = x * w; d = y[:, None] - y[None]; return jnp.sqrt((d ** 2).sum(-1)).sum()  # !
        def g6(w, x): r = x @ w; return jnp.where(jnp.abs(r) < 1, jnp.arccos(r), 0.0).sum()  # !
        def k1(w, x): r = x @ w; s = jnp.where(r > 0, r, 1.0); return jnp.where(r > 0, jnp.log(s), 0.0).sum()
        def k2(w, x): n = jnp.sqrt(((x * w) ** 2).sum(-1) + 1e-8); return jnp.where(n > 1e-3, 1.0 / n, 0.0).sum()
        def k3(w, x): r = x @ w; return jnp.where(x[:, 0] > 0, jnp.exp(-r * r), 0.0).sum()
        def k4(w, x): return jnp.where(x > 0, jnp.log(x), 0.0).sum() * w.sum()
        def k5(w, x): r = x @ w; return jnp.where(r > 0, jnp.log(jax.lax.stop_gradient(r)), 0.0).sum() + r.sum()
        def k6(w, x): r = x @ w; return jnp.where(r > 0, r ** 2, -r).sum()
        def k7(w, x): r = x @ w; return jnp.sqrt(jax.nn.relu(r)).sum() + jnp.sqrt(jnp.where(r > 0, r, 0.0)).sum()
        W = jax.random.normal(jax.random.key(0), (3,))
        X = jax.random.normal(jax.random.key(1), (4, 3))
        for _ in range(1):
            jax.grad(g1)(W, X), jax.grad(g2)(W, X), jax.grad(g3)(W, X), jax.grad(g4)(W, X), jax.grad(g5)(W, X)
            jax.grad(g6)(W, X), jax.grad(k1)(W, X), jax.grad(k2)(W, X), jax.grad(k3)(W, X), jax.grad(k4)(W, X)
            jax.grad(k5)(W, X), jax.grad(k6)(W, X), jax.grad(k7)(W, X)
    """,
    "integer-overflow": """
        K = jax.random.key(0)
        A = jax.random.randint(K, (8,), 0, 255).astype(jnp.uint8)
        S = jax.random.randint(K, (8,), -100, 100).astype(jnp.int8)
        b1 = jnp.mean((A - A[::-1]).astype(jnp.float32))  # !
        b2 = jax.random.randint(K, (9,), 0, 50000) * 50000  # !
        b3 = 10 ** jnp.arange(12)  # !
        b4 = S * S  # !
        b5 = (jnp.arange(100000) + 1) * 30000  # !
        o1 = A.astype(jnp.float32) - A[::-1].astype(jnp.float32)
        o2 = jax.random.randint(K, (9,), 0, 40000) * 40000
        o3 = A // 2 + A // 4
        o4 = (A * 31 + 7) % 256
        o5 = (255 - A, A > 3, A.sum())
        o6 = 300000 * 300000
        o7 = np.arange(100000) * 100000
    """,
    "low-precision-accumulation": """
        M = jax.random.bernoulli(jax.random.key(0), 0.5, (1000,))
        X = jax.random.normal(jax.random.key(0), (1000,), dtype=jnp.bfloat16)
        p1 = jnp.arange(1024, dtype=jnp.bfloat16) * 0.5  # !
        p2 = jnp.cos(jnp.arange(4096).astype(jnp.bfloat16)[:, None])  # !
        p3 = jnp.arange(2**24 + 2).astype(jnp.float32)  # !
        p4 = jax.lax.fori_loop(0, 5000, lambda i, c: c + 1, jnp.zeros((), jnp.float16))  # !
        p5 = jax.lax.scan(lambda c, v: (c + v, c), jnp.zeros((), jnp.bfloat16), X)  # ?
        q1 = (jnp.arange(1024) / 1024).astype(jnp.bfloat16)
        q2 = (X.sum(), X.mean())
        q3 = jnp.cumsum(M.astype(jnp.int32))
        q4 = jax.lax.fori_loop(0, 5000, lambda i, c: c + 1, 0)
        q5 = jax.lax.scan(lambda c, v: (0.9 * c + v, c), jnp.zeros((), jnp.bfloat16), X)
    """,
    "out-of-bounds-index": """
        X = jax.random.normal(jax.random.key(0), (N,))
        I = jnp.arange(N)
        b1 = (X[I + 1] - X[I]).sum()  # !
        b2 = jax.lax.fori_loop(0, N, lambda k, t: t + X[k + 1], 0.0)  # !
        b3 = X.at[I + 1].set(0.0)  # !
        b4 = X[N]  # !
        b5 = jnp.take(X, I * 2)  # !
        o1 = X[jnp.arange(N - 1) + 1] - X[jnp.arange(N - 1)]
        o2 = jax.lax.fori_loop(0, N - 1, lambda k, t: t + X[k + 1], 0.0)
        o3 = jnp.where(I < N - 1, X[I + 1], 0.0)
        o4 = X[(I + 1) % N] + X[jnp.clip(I + 1, 0, N - 1)] + X[I - 1]
        o5 = (X[jnp.argmax(X)], X[jnp.argsort(X)], X[jnp.searchsorted(X, 0.5) - 1])
        o6 = X[I + 1] * (I < N - 1)
        o7 = (X.at[I + 1].set(1.0, mode="drop"), jnp.take(X, I + 1, mode="clip"), X.at[I + 1].get(mode="fill"))
    """,
}


def code_of(rule: str) -> str:
    return HEAD + textwrap.dedent(PROGRAMS[rule])


def wanted(code: str, mark: str) -> list[int]:
    return [number for number, line in enumerate(code.splitlines(), 1) if line.endswith(f"# {mark}")]


@pytest.mark.parametrize("rule", PROGRAMS)
def test_bugs_are_found_and_what_looks_like_them_is_not(rule):
    code = code_of(rule)
    outcome = audit([SourceFile("numbers.py", code)], Config(select=(rule,)), sections=False)
    assert outcome.faults == ()
    assert sorted({one.line for one in outcome.report.issues}) == wanted(code, "!")
    assert sorted({one.line for one in outcome.report.warnings}) == wanted(code, "?")


def messages(rule: str) -> list[str]:
    report = audit([SourceFile("numbers.py", code_of(rule))], Config(select=(rule,)), sections=False).report
    return [one.message for one in (*report.issues, *report.warnings)]


def test_messages_name_the_reason():
    unsafe = messages("unsafe-domain")
    assert unsafe[0] == "log of its argument, which is 0: `max(x, 0)` is 0 for every negative input"
    assert unsafe[4] == "sqrt of a value, which is <= -1, is NaN"
    assert unsafe[6] == "division by its argument, which may be 0: no element of the mask is 1"
    masked = messages("where-nan-gradient")
    assert masked[0] == "the gradient of log is NaN at the points that this `where` masks out"
    assert messages("integer-overflow")[0] == "this difference wraps around in `uint8`: it is integer [-254, 254]"
    coarse = messages("low-precision-accumulation")
    assert coarse[0] == "whole numbers up to 1,023 collide in `bfloat16`, which is exact up to 256"
    assert coarse[3] == "a counter in `float16` stops at 2,048: 2,048 + 1 is 2,048 there"
    assert messages("out-of-bounds-index")[0] == "the index goes up to 16 in an axis of size 16"


def test_64_bit_integers_hold_more():
    code = "import jax\nimport jax.numpy as jnp\n{}\nx = jnp.arange(100000) * 100000\n"
    switch = 'jax.config.update("jax_enable_x64", True)'
    found = [
        audit([SourceFile("a.py", code.format(one))], Config(select=("integer-overflow",))) for one in ("", switch)
    ]
    assert [len(one.report.issues) for one in found] == [1, 0]
