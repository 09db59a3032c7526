"""What a run shows at a line is told with where its values were made, as the source has it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "frontends" / "observe"))
from tool import report

pytest.importorskip("jax")

PROGRAM = """\
import jax
import jax.numpy as jnp


def stacked(members):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=1), *members)


@jax.jit
def predict(ensemble, x):
    return jax.vmap(lambda p: x @ p["w"] + p["b"])(ensemble)


def main(members):
    ensemble = stacked([{"w": jnp.ones((4, 2)) * n, "b": jnp.ones(2)} for n in range(members)])
    return predict(ensemble, jnp.ones((3, 4)))


main(3)
"""


def _why(program: str, folder: Path) -> set[tuple[int, str]]:
    (folder / "program.py").write_text(program)
    (found,) = report("run", "program.py", cwd=folder)["issues"]
    return {(step["line"], step["text"]) for step in found["why"]}


NUMPY = """\
import jax
import jax.numpy as jnp
from numpy import sin as wave

print(jax.grad(lambda x: wave(x) * 2.0)(1.0))
"""


def test_an_exception_names_where_a_function_is_imported(tmp_path: Path) -> None:
    assert (3, "`wave` is imported from `numpy` here") in _why(NUMPY, tmp_path)


CLASS = """\
import jax


class Base:
    def __init__(self, w):
        self.w = w


jax.tree_util.register_pytree_node(Base, lambda one: ((one.w,), None), lambda _, parts: Base(*parts))


class Special(Base):
    pass


print(jax.jit(lambda model: model.w)(Special(1.0)))
"""


def test_an_exception_names_the_class_that_it_is_about(tmp_path: Path) -> None:
    assert (12, "`Special` is defined here") in _why(CLASS, tmp_path)


BODY = """\
import jax


def settle(steps, x):
    def body(_, x):
        return x / 2, None

    return jax.lax.fori_loop(0, steps, body, x)


print(settle(3, 1.0))
"""


def test_an_exception_names_what_the_body_of_a_loop_returns(tmp_path: Path) -> None:
    assert (6, "`body` returns here") in _why(BODY, tmp_path)


LENT = """\
import jax.numpy as jnp
import numpy as np


def marked(grid):
    cells = np.asarray(grid)
    part = cells[1:3]
    part[...] = 1.0
    return cells


print(marked(jnp.zeros(4)))
"""


def test_an_exception_names_where_the_array_that_is_changed_was_made(tmp_path: Path) -> None:
    assert 6 in {line for line, _ in _why(LENT, tmp_path)}


def test_an_exception_names_where_its_arguments_were_made(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (found,) = report("run", "program.py", cwd=tmp_path)["issues"]
    assert (found["rule"], found["line"]) == ("wrong-axis-mapped", 11)
    assert {"line": 6, "text": "an operand comes from here"} in [
        {"line": step["line"], "text": step["text"]} for step in found["why"]
    ]
