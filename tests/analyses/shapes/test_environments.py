"""What environments show, where the library says it for the name that they are made by."""

import pytest

from tests.analyses.shapes.test_shapes import shape_of

_START = """
import gymnax, jax, jax.numpy as jnp, optax
from gymnax.environments import spaces

class Proxy:
    def __init__(self, env):
        self._env = env

    def __getattr__(self, name):
        return getattr(self._env, name)

class Wrapper(Proxy):
    def reset(self, key, params=None):
        obs, state = self._env.reset(key, params)
        return obs, state

key = jax.random.key(0)
env, params = gymnax.make("{name}"{options})
env = Proxy(Wrapper(Proxy(env)))
"""


@pytest.mark.parametrize(
    ("name", "expression", "expected"),
    [
        ("CartPole-v1", "env.reset(key, params)[0]", "4"),
        ("Acrobot-v1", "jax.vmap(env.reset, in_axes=(0, None))(jax.random.split(key, 8), params)[0]", "8, 6"),
        ("Breakout-MinAtar", "env.step(key, 0, 0, params)[0]", "10, 10, 4"),
        ("CartPole-v1", "jnp.zeros(env.observation_space(params).shape)", "4"),
        ("CartPole-v1", "jnp.zeros(env.action_space(params).n)", "2"),
        ("Pendulum-v1", "jnp.zeros((3, *env.action_space(params).shape))", "3, 1"),
        ("CartPole-v1", "jnp.zeros((3, *env.action_space(params).shape))", "3"),
        ("Unheard-of", "env.reset(key, params)[0]", "?"),
        ("Unheard-of", "jnp.zeros(spaces.Box(0, 1, (2, 3)).shape)", "2, 3"),
        ("Unheard-of", "jnp.zeros((spaces.Discrete(5).n, 2))", "5, 2"),
    ],
)
def test_what_an_environment_shows(name: str, expression: str, expected: str) -> None:
    start = _START.replace("{name}", name).replace("{options}", "")
    assert shape_of(f"{start}result = {expression} + 1") == expected


def test_an_environment_with_options_may_show_something_else() -> None:
    start = _START.replace("{name}", "Breakout-MinAtar").replace("{options}", ", use_minimal_action_set=False")
    assert shape_of(f"{start}result = env.reset(key, params)[0] + 1") == "?"


def test_a_schedule_is_given_a_number() -> None:
    code = """
        import optax

        def train(rate):
            def decay(count):
                result = rate * 0.5 ** (count // 10)
                return result

            return optax.chain(optax.clip(1.0), optax.adam(learning_rate=decay))

        train(0.1)
    """
    assert shape_of(code) == ""
