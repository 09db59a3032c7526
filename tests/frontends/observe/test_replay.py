"""`jaxaudit run` evaluates first calls once more, and tells what their numbers show."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import report

pytest.importorskip("jax")

DATA = """\
import sys

import jax
import jax.numpy as jnp
import numpy as np

drawn = np.random.default_rng(len(sys.argv))
"""
WRONG = (
    DATA
    + """
ids, far = drawn.integers(3, 9, 40), drawn.integers(4, 9, 5)
table, counts = drawn.normal(size=(6, 2)), drawn.integers(60_000, 70_000, 8)
chances = np.maximum(drawn.normal(size=50), 0.0)
weights, signal = drawn.normal(size=3), drawn.normal(size=6)


@jax.jit
def looked_up(table, ids):
    return table[ids].sum()  #! out-of-bounds-index


@jax.jit
def filled(x, places):
    def write(buffer, at):
        return buffer.at[at].add(1.0), jax.lax.dynamic_slice(x, (at,), (3,))  #! out-of-bounds-index
    return jax.lax.scan(write, x, places)


@jax.jit
def squared(counts):
    bytes = counts.astype(jnp.int16)  #! integer-overflow
    return (counts * counts).sum(), bytes  #! integer-overflow


@jax.jit
def entropy(p):
    logs = jnp.log(p)  #! unsafe-domain
    return -(p * logs).sum()


def length(w, x):
    moved = (x * w).sum(axis=1) ** 2
    return jnp.where(moved > 0, jnp.sqrt(moved), 0.0).sum()  #! where-nan-gradient


@jax.jit
def noisy(seeds):
    first = jax.random.normal(jax.random.key(seeds[0]))
    second = jax.random.uniform(jax.random.PRNGKey(seeds[1]))  #! key-reused
    each = jax.vmap(lambda seed: jax.random.normal(jax.random.key(seed)))(seeds)  #! same-key-across-vmap

    def add(total, seed):
        return total + jax.random.normal(jax.random.key(seed + 9)), None  #! same-key-in-loop

    return first + second + each, jax.lax.scan(add, 0.0, seeds)


@jax.jit
def flown(x, codes):
    def turn(x, code):
        return jax.lax.switch(code, (jnp.sin, jnp.cos, jnp.tanh), x), x  #! out-of-bounds-index

    return jax.lax.scan(turn, x, codes)


class Moves:
    def __init__(self, numbers):
        self.numbers, self.each = numbers, (jnp.sin, jnp.cos)

    def __call__(self, names, x):
        codes = jnp.array([self.numbers[name] for name in names])
        return jax.vmap(lambda code, v: jax.lax.switch(code, [*self.each, jnp.tanh], v))(codes, x)  #! out-of-bounds-index


flown(0.5, jnp.asarray(np.append(ids % 3, [0, 2]) + 1))
Moves({"up": 1, "down": 2, "on": 3})(["on", "up"], jnp.ones(2))
looked_up(table, ids)
filled(jnp.asarray(signal), jnp.asarray(far))
squared(jnp.asarray(counts, jnp.int32))
entropy(jnp.asarray(chances))
jax.grad(length)(jnp.asarray(weights), jnp.asarray(drawn.normal(size=(2, 3)) * np.array([[0.0], [1.0]])))
noisy(jnp.asarray(np.concatenate([ids[:1], ids[:1], ids[1:3]]), jnp.uint32))
"""
)
RIGHT = (
    DATA
    + """
ids, labels = drawn.integers(-6, 6, 40), drawn.integers(0, 9, 5)
table, words = drawn.normal(size=(6, 2)), drawn.integers(0, 2**31 - 1, 64)


@jax.jit
def looked_up(table, ids, labels):
    from_end = table[ids]
    given = table.at[labels].get(mode="clip") + table.at[labels].get(mode="fill", fill_value=0.0)
    masked = jnp.where((labels < 6)[:, None], table[labels], 0.0) + jnp.take(table, labels, axis=0, mode="clip")
    weighted = table[labels] * (labels < 6)[:, None]
    encoded = jax.nn.one_hot(labels, 6)
    kept = jnp.zeros(6).at[labels].add(1.0, mode="drop")
    found = jnp.nonzero(table[:, 0] > 0, size=6, fill_value=6)[0]
    return from_end, given, masked, weighted, encoded, kept, jnp.bincount(labels, length=6), found


@jax.jit
def hashed(words, steps):
    word = words.astype(jnp.uint32) * jnp.uint32(2654435761)
    state = (words * 1103515245 + 12345) & 0x7FFFFFFF
    return word ^ (word >> 16), state, (words * 31 + 7) % 1024, (steps + 1) % 8


@jax.jit
def attended(scores, valid):
    masked = jnp.where(valid, scores, -jnp.inf)
    guarded = jnp.where(scores > 0, jnp.log(jnp.where(scores > 0, scores, 1.0)), 0.0)
    unread = jnp.where(scores > 0, jnp.log(scores), 0.0)
    return jax.nn.softmax(masked), masked.max(), guarded, unread


def length(w, x):
    squared = (x * w).sum(axis=1) ** 2
    safe = jnp.where(squared > 0, squared, 1.0)
    return jnp.where(squared > 0, jnp.sqrt(safe), 0.0).sum()


@jax.jit
def restarted(keys):
    def start(key):
        key, sub = jax.random.split(key)
        return jax.random.normal(sub), key

    def step(state, _):
        x, key = state
        key, sub = jax.random.split(key)
        x = x + jax.random.normal(sub)
        # Both sides of the choice draw, since there are several states, and one of them is thrown away.
        return jax.lax.cond(jnp.abs(x) > 2.0, lambda one: start(one[1]), lambda one: one, (x, key)), x

    return jax.vmap(lambda key: jax.lax.scan(step, start(key), None, length=20))(keys)


@jax.jit
def noisy(key):
    first, second, *more = jax.random.split(key, 6)

    def add(carry, x):
        key, total = carry
        key, sub, other = jax.random.split(key, 3)
        return (key, total + jax.random.normal(sub)), jax.random.permutation(other, 3)

    each = jax.vmap(lambda one: jax.random.normal(one, (2,)))(jnp.stack(more[1:]))
    drawn = jax.checkpoint(lambda w: (w * jax.random.normal(second)).sum())
    return jax.random.gamma(first, 2.0), each, jax.grad(drawn)(jnp.ones(3)), jax.lax.scan(add, (more[0], 0.0), None, 4)


@jax.jit
def flown(x, codes):
    ways = (jnp.sin, jnp.cos, jnp.tanh)
    last = jax.lax.switch(jnp.clip(codes.max(), 0, 2), ways, x)
    unread = jax.lax.switch(codes[0] + 3, (jnp.sin, jnp.sin, jnp.sin), x)
    return jax.lax.scan(lambda x, code: (jax.lax.switch(code - 1, ways, x), x), x, codes), last, unread


flown(0.5, jnp.asarray(np.append(labels % 3, [0, 2]) + 1))
looked_up(jnp.asarray(table), jnp.asarray(ids), jnp.asarray(labels))
hashed(jnp.asarray(words, jnp.int32), jnp.arange(20))
attended(jnp.asarray(table[:, 0]), jnp.asarray(table[:, 0] > 0).at[0].set(True))
jax.grad(length)(jnp.ones(3), jnp.asarray(drawn.normal(size=(2, 3)) * np.array([[0.0], [1.0]])))
restarted(jax.random.split(jax.random.key(7), 5))
noisy(jax.random.key(len(sys.argv)))
"""
)


def _marked(program: str) -> list[tuple[int, str]]:
    lines = enumerate(program.splitlines(), 1)
    return [(number, line.partition("#! ")[2]) for number, line in lines if "#! " in line]


def _found(found: dict) -> list[tuple[int, str]]:
    return sorted({(one["line"], one["rule"]) for one in found["issues"]})


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "wrong.py").write_text(WRONG)
    return report("run", "wrong.py", cwd=folder)


def test_what_went_wrong_with_these_numbers_is_told_at_its_line(wrong: dict) -> None:
    assert _found(wrong) == _marked(WRONG)


def test_the_numbers_are_told(wrong: dict) -> None:
    told = {one["rule"]: one for one in wrong["issues"] if "seen in this run" in one["message"]}
    assert told["same-key-in-loop"]["message"] == "4 turns draw with 3 keys, seen in this run"
    assert told["key-reused"]["message"] == "the same key was drawn with before, seen in this run"
    assert told["unsafe-domain"]["message"] == "`log` is infinite, seen in this run"
    assert "in 1 call of `noisy`, 4 turns: " in told["same-key-in-loop"]["current"]


def test_what_is_meant_or_does_not_matter_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    found = report("run", "right.py", cwd=tmp_path)
    assert [(one["rule"], one["line"], one["message"]) for one in found["issues"]] == []
    assert "seen in this run" not in str(found["warnings"])


def test_without_probes_nothing_is_evaluated_again(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    found = report("run", "--no-probe", "wrong.py", cwd=tmp_path)
    assert "seen in this run" not in str(found)


PAIRS = DATA + (
    """
seeds = drawn.integers(0, 99, 1)[0]


def score(weight, key):
    return weight * jax.random.normal(key, (3,)).sum()


@jax.jit
def step(weights, key):
    keys = jnp.tile(jax.random.split(key, 4), 2)
    above, below = jnp.split(jax.vmap(score)(weights, keys), 2)
    return above - below


print(step(jnp.arange(8.0), jax.random.key(int(seeds))))
"""
)


def test_several_keys_that_serve_as_many_elements_each_are_a_warning(tmp_path):
    (tmp_path / "pairs.py").write_text(PAIRS)
    found = report("run", "pairs.py", cwd=tmp_path)
    assert found["issues"] == []
    assert [(one["rule"], one["message"]) for one in found["warnings"]] == [
        ("same-key-across-vmap", "8 elements draw with 4 keys, seen in this run")
    ]
