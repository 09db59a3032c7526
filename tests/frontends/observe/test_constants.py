"""Names of size constants reach the rules on traced programs, where two constants of one size could be confused."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import report

pytest.importorskip("jax")

SCRIPT = """\
import dataclasses
import jax
import jax.numpy as jnp

HEADS = {heads}
STEPS = 4
WIDTH = 8

@dataclasses.dataclass
class Config:
    num_envs: int = 6
    num_steps: int = 6

config = Config()
squash = getattr(jnp, "".join(["tan", "h"]))

def mix(x, y):
    summed = squash(x).sum(axis=2)
    return summed * y

def turned(x, y):
    return squash(x).sum(axis=2).T * y

def centre(rewards, mean):
    return squash(rewards) - mean[:, None]

def centred(rewards, mean):
    return squash(rewards) - mean[None]

x, y = jnp.ones((STEPS, HEADS, WIDTH)), jnp.ones((HEADS, STEPS))
rewards, mean = jnp.ones((config.num_steps, config.num_envs)), jnp.ones(config.num_envs)
jax.jit(turned)(x, y)
jax.jit(centred)(rewards, mean)
if HEADS == STEPS:
    jax.jit(mix)(x, y)
    jax.jit(centre)(rewards, mean)
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("constants")
    (folder / "script.py").write_text(SCRIPT.format(heads=4))
    return report("run", "script.py", cwd=folder)


def test_constants_of_one_size_are_told_apart_in_traces(found):
    told = [(one["line"], one["front_end"], one["message"]) for one in found["issues"]]
    assert told == [
        (19, "jaxpr", "`HEADS` and `STEPS` are lined up together; axis 0 would fit"),
        (25, "jaxpr", "`num_steps` and `num_envs` are lined up together; axis 1 would fit"),
    ]


def test_arguments_go_by_the_constants_of_their_sizes(found):
    names = {(one["root"], one["name"], one["size"]) for one in found["axes"]}
    assert {("turned", "STEPS", 4), ("turned", "HEADS", 4), ("turned", "WIDTH", 8)} <= names
    assert {("centred", "num_steps", 6), ("centred", "num_envs", 6)} <= names


def test_constants_of_different_sizes_decide_nothing(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT.format(heads=3))
    assert report("run", "script.py", cwd=tmp_path)["issues"] == []
