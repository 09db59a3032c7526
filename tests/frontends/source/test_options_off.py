"""What stands behind switches that are off: it is read, and nothing of it reaches what comes after."""

from __future__ import annotations

import pytest

from .reading import functions, ops, shapes

_START = (
    "import jax\nimport jax.numpy as jnp\nkey = jax.random.key(0)\nconfig = {'fast': False, 'algo': 'ppo', 'n': 4}\n"
)
_DRAW = "    result = jax.random.normal(key, (9,))\n"


@pytest.mark.parametrize(
    "test", ["config['fast']", "not not config['fast']", "config['algo'] == 'dqn'", "config['algo'] in ('dqn', 'sac')"]
)
def test_the_side_that_is_off_is_read(test: str) -> None:
    assert functions(_START + f"if {test}:\n{_DRAW}") == ["jax.random.normal"]


@pytest.mark.parametrize("test", ["config['n'] > 5", "isinstance(key, str)", "key is None"])
def test_what_follows_from_the_data_is_no_choice(test: str) -> None:
    assert functions(_START + f"if {test}:\n{_DRAW}") == []


def test_nothing_of_it_reaches_what_comes_after() -> None:
    code = f"result = jnp.ones(3)\nif config['fast']:\n{_DRAW}    config['n'] = 7\nresult = jnp.ones(config['n']) + result[0]\n"
    assert shapes(_START + code)[-1] == "4"


def test_what_would_raise_there_is_not_for_sure() -> None:
    (draw,) = ops(_START + f"if config['fast']:\n{_DRAW}", "key.draw")
    assert draw.guarded


def test_a_side_that_another_call_takes_is_read_once() -> None:
    code = "def f(fast):\n    if fast:\n        return jax.random.normal(key)\n    return 0.0\nf(True)\nf(False)\n"
    assert functions(_START + code) == ["jax.random.normal"]
