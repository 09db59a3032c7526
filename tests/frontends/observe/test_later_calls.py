"""`jaxaudit run` evaluates a later call of what is compiled as well, and compares it with the first."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import report

pytest.importorskip("jax")

WRONG = """\
import functools

import jax
import jax.numpy as jnp


@jax.jit
def entropy(p):
    left = p - 0.3
    return left, -(left * jnp.log(left)).sum()  #! unsafe-domain


@jax.jit
def read(table, at):
    return table[at], at + 3  #! out-of-bounds-index


@functools.partial(jax.jit, donate_argnums=0)
def advance(state, seed):
    push = jax.random.normal(jax.random.key(seed), state["x"].shape)
    return {"x": state["x"] + state["v"], "v": 0.9 * state["v"] + push}


class Trainer:
    def __init__(self, settings):
        self.kept = {"w": jnp.zeros(4), "key": jax.random.key(settings["seed"])}
        self.gradient = jax.jit(jax.grad(self.loss))

    def loss(self, w, batch, key):
        return jnp.mean(((batch + jax.random.normal(key, batch.shape)) @ w - 1.0) ** 2)

    def fit(self, batches):
        for batch in batches:
            slope = self.gradient(self.kept["w"], batch, self.kept["key"])  #! same-key-in-loop
            self.kept["w"] = self.kept["w"] - 0.1 * slope


def simulate(settings):
    state = {"x": jnp.zeros(4), "v": jnp.ones(4)}
    for _ in range(settings["steps"]):
        state = advance(state, settings["seed"])  #! same-key-in-loop
    return state


p, at = jnp.array([1.9, 1.0]), jnp.int32(0)
for _ in range(4):
    p, found = entropy(p)
    row, at = read(jnp.ones((7, 2)), at)
{"train": Trainer}["train"]({"seed": 0}).fit([jnp.full((2, 4), float(turn)) for turn in range(5)])
simulate({"steps": 6, "seed": 3})
"""

RIGHT = """\
import jax
import jax.numpy as jnp


@jax.jit
def train(w, count, key):
    # A new key for every hundred steps.
    x = jax.random.normal(jax.random.fold_in(key, count), (8, 3))
    held = jax.random.normal(jax.random.fold_in(key, 7 + count // 100), (3,))
    return w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - held[0]) ** 2))(w), count + 1


@jax.jit
def carried(state):
    key, sub = jax.random.split(state["key"])
    return {"key": key, "x": state["x"] + jax.random.normal(sub)}


@jax.jit
def evaluate(w, key):
    return jnp.mean((jax.random.normal(key, (32, 3)) @ w - 1.0) ** 2)


@jax.jit
def projected(x):
    return jnp.tanh(x @ jax.random.normal(jax.random.key(0), (3, 3)))


@jax.jit
def noisy(x, key, scale):
    return x + scale * jax.random.normal(key, x.shape)


@jax.jit
def put(buffer, at):
    return buffer.at[at % 4].set(1.0), at + 1


keys = jax.random.split(jax.random.key(1), 4)
w, count, x, y, state = jnp.zeros(3), jnp.int32(0), jnp.ones(3), jnp.ones(3), {"key": keys[2], "x": jnp.float32(0)}
buffer, at = jnp.zeros(4), jnp.int32(0)
for _ in range(9):
    w, count = train(w, count, keys[0])
    state, x, y = carried(state), projected(x), noisy(y, keys[3], 0.0)
    buffer, at = put(buffer, at)
"""


def _marked(program: str) -> list[tuple[int, str]]:
    lines = enumerate(program.splitlines(), 1)
    return [(number, line.partition("#! ")[2]) for number, line in lines if "#! " in line]


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "wrong.py").write_text(WRONG)
    return report("run", "wrong.py", cwd=folder)


def test_what_goes_wrong_in_a_later_call_is_told(wrong: dict) -> None:
    assert sorted({(one["line"], one["rule"]) for one in wrong["issues"]}) == _marked(WRONG)


def test_the_call_is_told(wrong: dict) -> None:
    told = {one["line"]: one for one in wrong["issues"]}
    line = {rule: number for number, rule in _marked(WRONG)}
    assert told[line["unsafe-domain"]]["message"] == "`log` is NaN, seen in this run"
    assert told[line["unsafe-domain"]]["current"] == "in call 4 of `entropy`: results are NaN because of it"
    assert "two calls draw with the same key, seen in this run" in str(told[line["same-key-in-loop"]])


def test_what_is_right_in_every_call_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    found = report("run", "right.py", cwd=tmp_path)
    assert "seen in this run" not in str([*found["issues"], *found["warnings"]])
