"""`jaxaudit run` tells of compiled code that still computes with what has changed since, where a call shows it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import jaxaudit, report

pytest.importorskip("jax")

STALE = """\
import jax
import jax.numpy as jnp
import numpy as np


def set_in(owner, name, value):
    setattr(owner, name, value)


class Schedule:
    temperature = 1.0


class Agent:
    def __init__(self, weights):
        self.targets = {"w": weights}
        self.loss = jax.jit(self._loss)

    def _loss(self, x):
        return jnp.sum(x * self.targets["w"])  # self.targets['w']

    def sync(self, w):
        self.targets.update(w=w)


@jax.jit
def anneal(x):
    return x / Schedule.temperature  # Schedule.temperature


TABLE = np.arange(4.0, dtype=np.float32)


def look_up(i):
    return jnp.asarray(TABLE)[i]  # TABLE


@jax.jit
def read(i):
    return look_up(i) * 2


def league(first):
    pool = [first] * 2

    @jax.jit
    def score(x):
        return sum(jnp.dot(x, one) for one in pool)  # pool[0]

    return pool, score


agent, (pool, score) = Agent(jnp.ones(3)), league(jnp.ones(3))
for i in range(6):
    agent.loss(jnp.ones(3))
    agent.sync(jnp.full(3, float(i)))
    anneal(jnp.ones(2))
    set_in(Schedule, "temperature", 0.5 ** (i + 1))
    read(jnp.int32(1))
    np.add(TABLE, 1.0, out=TABLE)
    score(jnp.ones(3))
    pool[0] = jnp.full(3, float(i))
"""

FRESH = """\
import jax
import jax.numpy as jnp

config, history, params = {"gain": 1.0}, [], jnp.ones(3)


@jax.jit
def before(x):
    return jnp.sum(x * params)


@jax.jit
def only_shape(x):
    return x + jnp.zeros(params.shape)


@jax.jit
def grown(x):
    return x + config["gain"]


@jax.jit
def offset(x):
    return x + config["offset"]


class Trainer:
    def __init__(self):
        self.state, self.count = jnp.ones(3), 0

    def _update(self, state):
        return state * 0.9

    def fit(self):
        update = jax.jit(self._update)
        for _ in range(3):
            self.state = update(self.state)
            self.count += 1


@jax.jit
def precise(x):
    history.append(len(history))
    return x * 2


trainer = Trainer()
before(params)
with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
    for i in range(4):
        precise(jnp.ones(3))
        history.append(i)
for size in (2, 3, 2, 3):
    config["offset"] = float(size)
    jax.clear_caches()
    offset(jnp.ones(size))
for i in range(5):
    history.append(i)
    only_shape(params)
    params = params * 0.5
    config["seen"] = i
    grown(params)
trainer.fit()
config["gain"] = 2.0
"""


def test_what_changed_before_a_call_is_told(tmp_path):
    (tmp_path / "train.py").write_text(STALE)
    found = [one for one in report("run", "train.py", cwd=tmp_path)["issues"] if one["rule"] == "stale-captured-state"]
    told = {line: text.split("# ")[1] for line, text in enumerate(STALE.splitlines(), 1) if "# " in text}
    assert {one["line"]: one["message"].split("`")[3] for one in found} == told
    (one,) = [one for one in found if "pool" in one["message"]]
    assert one["message"] == "`score` still computes with what `pool[0]` was when it was compiled, seen in this run"
    assert one["current"] == "`pool[0]` has changed by call 2, which runs the compiled program of before"
    assert [step["text"] for step in one["why"]][-2:] == ["call 2 is made here", "`score` is transformed here"]


def test_what_no_call_comes_after_and_what_makes_no_difference_is_not(tmp_path):
    (tmp_path / "train.py").write_text(FRESH)
    found = report("run", "train.py", cwd=tmp_path)
    assert [one for one in found["issues"] if "seen in this run" in one["message"]] == []


USES = """\
import copy
import functools
import inspect
import pickle

import jax
import jax.numpy as jnp


class Model:
    def __init__(self):
        self.scale = 2.0

    @functools.partial(jax.jit, static_argnums=0)
    def apply(self, x):
        '''Scale.'''
        return x * self.scale


@jax.jit
def step(x, n=3):
    return x + n


model = Model()
print(model.apply(jnp.ones(())), Model.apply(model, jnp.ones(())))
print(step.__name__, step.__wrapped__(1), inspect.signature(step), isinstance(step, jax.stages.Wrapped))
print(step.lower(1.0).compile()(1.0), jax.eval_shape(step, 1.0).shape, jax.vmap(step)(jnp.ones(2)))
print(copy.copy(step)(1.0), jax.jit(step)(1.0), step._cache_size() > 0, Model.apply.__doc__)
print({step: 1}[step], functools.wraps(step)(lambda x: x).__name__)
"""


def test_a_compiled_function_is_used_as_ever(tmp_path):
    (tmp_path / "train.py").write_text(USES)
    done = jaxaudit("run", "train.py", cwd=tmp_path)
    assert done.stdout.splitlines()[:5] == [
        "2.0 2.0",
        "step 4 (x, n=3) True",
        "4.0 () [4. 4.]",
        "4.0 4.0 True Scale.",
        "1 step",
    ], done.stderr
