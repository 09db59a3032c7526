"""Calls are followed as far as cost stays linear in the text; what is left out is counted."""

from __future__ import annotations

import pytest

from jaxaudit.frontends.source.interpret.budget import PLENTY

from .reading import read, unknown_reasons


def _program(calls: int, steps: int = 40) -> str:
    """Write a method that no two calls share, and functions that call it."""
    body = "\n".join(f"        x = jnp.sin(x) * self.scale + {number}" for number in range(steps))
    users = "\n".join(f"def use{number}(x):\n    return Layer({number}).run(x)" for number in range(calls))
    return f"""import jax.numpy as jnp
class Layer:
    def __init__(self, scale):
        self.scale = scale
    def run(self, x):
{body}
        return x
{users}
"""


def test_a_few_calls_are_all_followed() -> None:
    reading = read(_program(calls=8))
    assert reading.reach.unfollowed == 0
    assert unknown_reasons(_program(calls=8)) == []


def test_what_one_function_costs_is_bounded() -> None:
    few, many = read(_program(calls=60)), read(_program(calls=240))
    assert 0 < few.reach.unfollowed < many.reach.unfollowed
    grown = len(list(many.program.walk())) - len(list(few.program.walk()))
    assert grown < 180 * 10  # the callers alone: each body would take 120 ops


def test_calls_that_are_left_out_say_why() -> None:
    assert set(unknown_reasons(_program(calls=60))) == {"this program is too large to follow every call"}


def test_longer_functions_may_cost_more() -> None:
    assert read(_program(calls=30, steps=4)).reach.unfollowed == 0
    assert read(_program(calls=30, steps=40)).reach.unfollowed < 15
    assert PLENTY.line > 0


@pytest.mark.parametrize("loop", ["lax.scan(body, state, None, length=3)[0]", "lax.fori_loop(0, 3, step, state)"])
def test_a_carry_of_which_parts_appear_keeps_its_length(loop: str) -> None:
    code = f"""
    import jax, flax, jax.numpy as jnp
    from jax import lax
    @flax.struct.dataclass
    class State:
        obs: jax.Array
        done: jax.Array
    def body(state, _):
        return state.replace(obs=state.obs + 1), None
    def step(i, state):
        return state.replace(obs=state.obs + 1)
    def run(state: State):
        return {loop}
    """
    loops = [op for op in read(code).program.walk() if op.name in ("scan", "fori")]
    assert loops
    assert all(len(op.regions[0].results) == op.attrs["carry"] for op in loops)


_SCRIPT = """
import jax.numpy as jnp
import library
def step(x):
    return jnp.cos(x)
def main(data):
    made = library.build(data)
    for row in data:
        made = step(made)
    return made
"""


@pytest.mark.parametrize("started", ["", "\nif __name__ == '__main__':\n    main(jnp.ones(3))\n"])
def test_a_large_library_takes_nothing_from_the_functions_of_the_file(started: str) -> None:
    layers = "".join(
        f"def layer{number}(x):\n" + "    x = jnp.sin(x)\n" * 400 + "    return x\n" for number in range(30)
    )
    build = "def build(x):\n" + "".join(f"    x = layer{number}(x)\n" for number in range(30)) + "    return x\n"
    reading = read(_SCRIPT + started, {"library.py": "import jax.numpy as jnp\n" + layers + build})
    assert reading.reach.unfollowed > 0
    left_out = {op.attrs["callee"] for op in reading.program.walk() if op.name == "py.call_unknown"}
    assert "step" not in left_out
    assert [op for op in reading.program.walk() if op.name == "array.map" and op.function == "cos"]


def test_importing_costs_the_importer_nothing() -> None:
    library = "import jax.numpy as jnp\nx = jnp.ones(3)\n" + "x = jnp.sin(x)\n" * 9_000
    assert (
        read(
            "import library\n" + _SCRIPT.replace("library.build(data)", "data") + "main(0)", {"library.py": library}
        ).reach.unfollowed
        == 0
    )
