"""The operators of the mutants: what each one does to a line, that lines stay where they are, and what counts as found."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from benchmarks.mutants.draw import Mutant
from benchmarks.mutants.edits import File
from benchmarks.mutants.operators import OPERATORS
from benchmarks.mutants.outcome import judged
from jaxaudit.rules.registry import all_rules

BY_NAME = {operator.name: operator for operator in OPERATORS}
SCAN = (
    "def f(xs, c0):\n def body(c, x):\n  d = c + x\n  return d, c * x\n c, ys = lax.scan(body, c0, xs)\n return c, ys"
)
PARTS = "def body(carry, x):\n a, b = carry\n a2 = a + x\n return (a2, b), x\nlax.scan(body, (0, 1), xs)"
JIT = "import numpy as np\n@jax.jit\ndef f(x, y):\n "
GRAD = (
    "def loss(p, x):\n a = x * p\n return jnp.mean(a)\ndef f(p):\n l, g = jax.value_and_grad(loss)(p, x)\n return l, g"
)
AUX = "def f(p):\n (l, a), g = jax.value_and_grad(loss, has_aux=True)(p)\n return l, a, g"
CASES = {
    "drop-state": ("def f(s):\n o, s = step(s)\n return o, s", " o, _unused = step(s)"),
    "return-old-state": ("def f(s):\n new_s = s.replace(a=1)\n return new_s", " return s"),
    "read-old-part": ("def f(s):\n new_s = g(s)\n return new_s.x, new_s", " return s.x, new_s"),
    "swap-results": ("def g(x):\n return x + 1, x\ndef f(x):\n a, b = g(x)\n return a - b", " b, a = g(x)"),
    "swap-arguments": ("def g(a, b): ...\ndef f(a, b):\n return g(a, b)", " return g(b, a)"),
    "swap-fields": ("def f(a, b):\n return State(a=a, b=b)", " return State(a=b, b=b)"),
    "drop-functional-update": ("def f(x):\n x = x.at[0].set(1)\n return x", " x.at[0].set(1)"),
    "overwrite-sum": ("def f(xs):\n t = jnp.zeros(3)\n for x in xs:\n  t += x\n return t", "  t = x"),
    "forget-mask": ("y = loss * mask", "y = (loss)"),
    "drop-new-parameters": (
        "def f(p, u):\n p = optax.apply_updates(p, u)\n return p",
        " _unused = optax.apply_updates(p, u)",
    ),
    "other-axis": ("y = jnp.mean(x, axis=-1)", "y = jnp.mean(x, axis=-2)"),
    "join-along-other-axis": ("y = jnp.stack([a, b], axis=0)", "y = jnp.stack([a, b], axis=1)"),
    "reduce-everything": ("y = jnp.mean(x, axis=1)", "y = jnp.mean(x, axis=None)"),
    "drop-keepdims": ("y = x - x.sum(axis=-1, keepdims=True)", "y = x - x.sum(axis=-1, keepdims=False)"),
    "expand-other-side": ("y = x * w[:, None]", "y = x * w[None, :]"),
    "drop-transpose": ("y = x.T @ w", "y = (x) @ w"),
    "reshape-for-transpose": ("y = x.T", "y = x.reshape(x.shape[::-1])"),
    "exchange-sizes": ("y = x.reshape((steps, envs, -1))", "y = x.reshape((envs, steps, -1))"),
    "exchange-letters": ('y = jnp.einsum("ij,jk->ik", a, b)', 'y = jnp.einsum("ij,jk->ki", a, b)'),
    "stack-for-concatenate": ("y = jnp.concatenate([a, b])", "y = jnp.stack([a, b])"),
    "uneven-slices": ("def f(x):\n return x[1:] - x[:-1]", " return x[1:] - x[:]"),
    "drop-squeeze": ("def f(x, y):\n return x.squeeze(-1) - y", " return (x) - y"),
    "share-mapped-argument": ("g = jax.vmap(f, in_axes=(0, 0))", "g = jax.vmap(f, in_axes=(None, 0))"),
    "map-shared-argument": ("g = jax.vmap(f, in_axes=(0, None))", "g = jax.vmap(f, in_axes=(0, 0))"),
    "map-other-axis": ("g = jax.vmap(f, in_axes=(0, None))", "g = jax.vmap(f, in_axes=(1, None))"),
    "move-out-axis": ("g = jax.vmap(f, out_axes=1)", "g = jax.vmap(f, out_axes=0)"),
    "drop-vmap": ("def f(x):\n return jnp.sum(x)\ny = jax.vmap(f)(xs)", "y = f(xs)"),
    "share-key": ("y = jax.vmap(f)(keys, xs)", "y = jax.vmap(f, in_axes=(None, 0))(keys, xs)"),
    "flag-of-other-step": (
        "def f(c, k):\n obs, last_done = c\n obs, r, done = step(obs)\n return (obs, done), Transition(obs, r, done)",
        " return (obs, done), Transition(obs, r, last_done)",
    ),
    "never-wrap": ("def f(x, i):\n return x.at[i].set(1), (i + 1) % 8", " return x.at[i].set(1), (i + 1)"),
    "forward-scan": ("y = lax.scan(f, 0, xs, reverse=True)", "y = lax.scan(f, 0, xs, reverse=False)"),
    "swap-carry": (SCAN, "  return c * x, d"),
    "stale-carry": (SCAN, "  return c, c * x"),
    "stale-part-of-carry": (PARTS, " return (a, b), x"),
    "read-init-in-body": (SCAN, "  d = c0 + x"),
    "swap-init-and-elements": (SCAN, " c, ys = lax.scan(body, xs, c0)"),
    "swap-scan-results": (SCAN, " ys, c = lax.scan(body, c0, xs)"),
    "one-turn-less": ("x = zeros(n)\ny = lax.scan(f, x, None, length=n)", "y = lax.scan(f, x, None, length=n - 1)"),
    "skip-first-turn": ("y = lax.fori_loop(0, n, f, x)", "y = lax.fori_loop(1, n, f, x)"),
    "elements-not-shifted": ("y = lax.scan(f, 0, (x[1:], z))", "y = lax.scan(f, 0, (x[:], z))"),
    "wrong-argnums": ("def loss(a, b): ...\ng = jax.grad(loss)(x, y)", "g = jax.grad(loss, argnums=1)(x, y)"),
    "drop-stop-gradient": ("y = lax.stop_gradient(x + 1) * 2", "y = (x + 1) * 2"),
    "stop-other-side": ("y = x - stop_gradient(t)", "y = (stop_gradient(x) - t)"),
    "swap-value-and-gradient": (GRAD, " g, l = jax.value_and_grad(loss)(p, x)"),
    "swap-loss-and-aux": (AUX, " (a, l), g = jax.value_and_grad(loss, has_aux=True)(p)"),
    "no-aux": (AUX, " (l, a), g = jax.value_and_grad(loss, has_aux=False)(p)"),
    "apply-raw-gradient": (
        "def f(g, s, p):\n u, s = tx.update(g, s)\n return optax.apply_updates(p, u), s",
        " return optax.apply_updates(p, g), s",
    ),
    "drop-loss-term": ("def f(p):\n a = p * 2\n b = p\n return a + b\njax.grad(f)(p)", " return (a)"),
    "forget-cotangent": ("def bwd(res, g):\n return (res * g,)\nf.defvjp(fwd, bwd)", " return ((res),)"),
    "loss-of-every-example": (GRAD, " return (a)"),
    "reuse-key": ("def f(key):\n k1, k2 = split(key)\n a = normal(k2)\n return a + normal(k1)", " a = normal(k1)"),
    "keep-old-key": ("def f(key):\n key, sub = split(key)\n return key, sub", " _unused, sub = split(key)"),
    "no-split": ("def f(key):\n a, b = split(key)\n return a, b", " a, b = (key, key)"),
    "use-parent-key": ("def f(key):\n a, b = split(key)\n return a, b", " return key, b"),
    "fixed-key": ("def f(key):\n return jax.random.normal(key)", " return jax.random.normal(jax.random.PRNGKey(0))"),
    "no-fold-in": ("def f(key, i):\n return jax.random.fold_in(key, i)", " return key"),
    "no-static-argument": ("g = jax.jit(f, static_argnums=0)", "g = jax.jit(f, inline=False)"),
    "branch-in-python": (JIT + "return jnp.where(x > 0, x, 0)", " return ((x) if x > 0 else (0))"),
    "cond-in-python": (JIT + "return lax.cond(x > 0, g, h, x)", " return ((g) if x > 0 else (h))(x)"),
    "python-and": (JIT + "return jnp.logical_and(x > 0, y)", " return (x > 0 and y)"),
    "numpy-for-jax": (JIT + "return jnp.exp(x)", " return np.exp(x)"),
    "number-of-traced": (JIT + "return jnp.sum(x)", " return float(jnp.sum(x))"),
    "in-place": ("x = x.at[0].set(1)", "x[0] = 1"),
    "boolean-index": (JIT + "return jnp.where(x > 0, y, 0)", " return (y)[x > 0]"),
    "list-for-array": ("y = x * jnp.array([1, 2])", "y = x * [1, 2]"),
    "print-while-tracing": (JIT + "jax.debug.print(x)", " print(x)"),
    "compile-every-turn": ("g = jax.jit(grad(f))\nfor x in xs:\n y = g(x)", " y = jax.jit(grad(f))(x)"),
    "drop-optimizer-state": ("def f(g, s):\n u, new = tx.update(g, s)\n return u, new", " return u, s"),
    "no-tree-map": ("y = jax.tree.map(lambda a: a * 2, t)", "y = (lambda a: a * 2)(t)"),
    "second-tree-missing": ("y = jax.tree.map(lambda a, b: a - b, t, u)", "y = jax.tree.map(lambda a, b: a - b, t)"),
    "swap-trees": ("y = jax.tree.map(lambda a, b: a - b, t, u)", "y = jax.tree.map(lambda a, b: a - b, u, t)"),
    "not-registered": ("@register_node\nclass A: ...\nx = A()\ny = A()", "@(lambda cls: cls)"),
    "children-in-other-order": (
        "def tree_flatten(self):\n return (self.a, self.b), None",
        " return (self.b, self.a), None",
    ),
    "state-of-other-tree": ("def f(s):\n return optimizer.init(s.params)", " return optimizer.init(s)"),
    "drop-small-number": ("y = jnp.log(x + 1e-8)", "y = jnp.log((x))"),
    "drop-lower-bound": ("y = x / jnp.maximum(n, 1)", "y = x / (n)"),
    "guard-outside": ("y = jnp.log(jnp.where(m, x, 1.0))", "y = jnp.where(m, jnp.log(x), 0.0)"),
    "draw-one-more": ("i = jax.random.randint(k, (), 0, num)", "i = jax.random.randint(k, (), 0, num + 1)"),
    "index-one-further": ("y = x[num - 1]", "y = x[num]"),
    "one-class-less": ("y = jax.nn.one_hot(x, n)", "y = jax.nn.one_hot(x, n - 1)"),
    "narrow-counter": ("t = jnp.array(0, jnp.int32)", "t = jnp.array(0, jnp.int8)"),
    "double-precision": ("x = jnp.zeros(3, jnp.float32)", "x = jnp.zeros(3, jnp.float64)"),
    "narrow-sum": ("y = x.astype(jnp.float32)  # bfloat16", "y = x.astype(jnp.bfloat16)  # bfloat16"),
    "ignore-done": ("y = r + g * v * (1 - done)", "y = r + (g * v)"),
    "done-for-not-done": ("y = r + g * v * (1 - done)", "y = r + g * v * (done)"),
    "reset-where-not-done": ("s = jnp.where(done, s0, s)", "s = jnp.where(done, s, s0)"),
    "never-reset": ("s = jnp.where(done, s0, s)", "s = (s)"),
    "reset-all": ("s = jnp.where(done, s0, s)", "s = jnp.where(done.any(), s0, s)"),
    "bootstrap-from-same-step": ("d = r + g * next_value - value", "d = r + g * value - value"),
    "drop-discount": ("d = reward + gamma * next_value - value", "d = reward + (next_value) - value"),
    "observe-old-state": (
        "def step(state):\n next_state = f(state)\n return get_obs(next_state)",
        " return get_obs(state)",
    ),
    "next-for-current": (
        "def f(obs, next_obs):\n return Transition(obs, next_obs)",
        " return Transition(next_obs, next_obs)",
    ),
    "no-mean-over-devices": ('g = lax.pmean(g, axis_name="i")', "g = (g)"),
    "sum-for-mean": ('g = lax.pmean(g, axis_name="i")', 'g = lax.psum(g, axis_name="i")'),
    "other-axis-name": ('g = lax.pmean(g, "i")\nh = pmap(f, "i")', 'g = lax.pmean(g, "is")'),
    "exchange-partition": ('s = P("a", None)', 's = P(None, "a")'),
    "donate-and-read": ("g = jax.jit(h)\ndef f(x):\n y = g(x)\n return y + x", "g = jax.jit(h, donate_argnums=0)"),
}


def test_every_operator_is_shown():
    assert CASES.keys() == BY_NAME.keys()


def test_refuted_rules_exist():
    known = {rule.name for rule in all_rules()}
    assert {name for operator in OPERATORS for name in operator.denies} <= known


@pytest.mark.parametrize("name", CASES)
def test_an_operator_changes_one_line(name):
    text, expected = CASES[name]
    file = File("program.py", text)
    edit = next(BY_NAME[name].edits(file))
    changed = [new for old, new in zip(text.split("\n"), file.edited(edit).split("\n"), strict=True) if old != new]
    assert changed == [expected]


def test_lines_stay_where_they_are():
    text = "y = lax.stop_gradient(\n    x +\n    1\n)\nz = y\n"
    file = File("program.py", text)
    edited = file.edited(next(BY_NAME["drop-stop-gradient"].edits(file)))
    assert edited.split("\n").index("z = y") == 4
    compile(edited, "program.py", "exec")


def _of(name: str, code: str, folder: Path) -> Mutant:
    file = File("program.py", textwrap.dedent(code))
    return Mutant(BY_NAME[name], folder, file, next(BY_NAME[name].edits(file)))


def test_an_error_that_the_mistake_makes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    code = """
    import jax

    def f(key):
        a_key, b_key = jax.random.split(key)
        b = jax.random.normal(b_key)
        return b + jax.random.normal(a_key)
    """
    result = judged(_of("reuse-key", code, tmp_path))
    assert result.kind == "error"
    assert result.why.startswith("key-reused at line 7")


def test_what_was_missing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    code = """
    import jax.numpy as jnp

    def f(x):
        return jnp.mean(x, axis=-1)
    """
    result = judged(_of("other-axis", code, tmp_path))
    assert (result.kind, result.missing) == ("unknown", ("rank unknown",))
