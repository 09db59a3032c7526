"""Fields of objects from outside: they are assumed to be like what the code stores there, and no finding rests on it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.session import audit

from .reading import shapes

_START = "import jax\nimport jax.numpy as jnp\nfrom typing import NamedTuple\nfrom flax import struct\n"
_STATE = """
@struct.dataclass
class State:
    pos: jax.Array
    any: jax.Array
    time: int = 0
class Pair(NamedTuple):
    a: jax.Array
    b: jax.Array
    c: jax.Array
class Env:
    def __init__(self, n):
        self.w = jnp.zeros((4, 5))
    def step(self, state: State, pair: Pair):
        result = {}
        return result
    def reset(self, n, given):
        return State(pos=jnp.zeros((n, 3)), any=jnp.zeros(3)), Pair(jnp.zeros(2), n, given)
    def other(self):
        return State(pos=jnp.ones((7, 3)), any=jnp.zeros((3, 3)))
"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("state.pos + 1", "state.pos.shape[0] 3"),
        ("state.replace(pos=1).pos + state.time", ""),
        ("state.time + 1", ""),
        ("state.any + 1", "?"),
        ("pair.a * 2", "2"),
        # What is stored there is the size of an axis too, so it is a number.
        ("pair.b * 2", ""),
        ("pair.c * 2", "?"),
        ("self.w * 2", "4 5"),
        ("helper(state) * 1", "state.pos.shape[0] 3"),
    ],
)
def test_a_field_is_like_what_the_code_stores_in_it(read: str, expected: str) -> None:
    code = f"{_START}{_STATE.format(read)}def helper(s: State):\n    return s.pos\n"
    assert shapes(code)[-1] == expected


def test_what_is_given_counts_for_more() -> None:
    code = f"{_START}{_STATE.format('state.pos * 1')}Env(3).step(State(jnp.zeros((2, 3, 4)), 1), None)\n"
    assert shapes(code) == ["2 3 4"]


def test_an_annotation_says_what_an_argument_is_of_which_nothing_is_known() -> None:
    code = f"{_START}{_STATE.format('state.pos * 1')}def run(env, x):\n    return Env(3).step(x, x)\n"
    assert "x.pos.shape[0] 3" in shapes(code)


def test_no_finding_rests_on_an_assumption() -> None:
    text = dedent(_START + _STATE.format("state.pos[:, 0, 0] + state.any.T @ self.w"))
    report = audit([SourceFile("env.py", text)], Config()).report
    assert (report.issues, report.warnings) == ((), ())
    assert any("may be made elsewhere" in one.reason for one in report.unknown)


@pytest.mark.parametrize(
    "made",
    [
        "jax.lax.cond(c, lambda s: State(pos=s.pos + 1, any=1), lambda s: s, state)",
        "jax.lax.cond(c, lambda s: s, lambda s: s.replace(pos=s.pos + 1), state)",
        "State(pos=state.pos + 1, any=1) if c else state",
        "state if c else state.replace(pos=state.pos + 1)",
    ],
)
def test_an_object_that_is_new_on_some_paths_keeps_its_fields(made: str) -> None:
    code = f"{_START}{_STATE.format(1)}def g(state: State, c):\n    made = {made}\n    found, time = made.pos * 1, made.time + 1\n"
    assert shapes(code, "found")[0].endswith(".shape[0] 3")
    assert shapes(code, "time") == [""]


_LEARNER = """
class Learner:
    def __init__(self, loss):
        def step(x):
            return jnp.zeros((x.shape[0], 7))
        self.step = jax.jit(step)
        self.own = jax.jit(self.method)
        self.other = step
        self.changed = step
    def method(self, x):
        return jnp.zeros(3)
    def swap(self, f):
        self.changed = f
    def run(self):
        result = {}
        return result
class Better(Learner):
    def train(self):
        result = {}
        return result
"""


@pytest.mark.parametrize(
    ("read", "expected"), [("step", "2 7"), ("own", "3"), ("other", "2 7"), ("changed", "?"), ("missing", "?")]
)
def test_a_method_that_nobody_calls_reads_the_functions_that_the_constructor_left(read: str, expected: str) -> None:
    code = f"{_START}{_LEARNER.replace('{}', f'self.{read}(jnp.ones(2)) * 1')}"
    assert shapes(code) == [expected]


@pytest.mark.parametrize(
    ("stored", "stores"), [("cast(float, self.scale)", 0), ("self.scale", 0), ("self.scale * 2", 1), ("self.shift", 1)]
)
def test_what_is_there_already_is_not_stored_again(stored: str, stores: int) -> None:
    code = f"""
from typing import cast
import jax

class Layer:
    def __init__(self, scale, shift):
        self.scale, self.shift = scale, shift

    def apply(self, x):
        self.scale = {stored}
        return x * self.scale

def run(x, scale, shift):
    return Layer(scale, shift).apply(x)
"""
    program = audit([SourceFile("layer.py", code)], Config()).program
    found = [op for op in program.named("py.store_attr") if op.span.line == 10]
    assert len(found) == stores


_GRID = """
class Grid:
    table = jnp.zeros((4, 2))
    def __init__(self, rows, columns):
        self.rows, self.cells = rows, rows * columns
        self.board = jnp.zeros((rows, columns))
        self.edges = jnp.zeros((2 * rows - 1, 3))
        self.later = jnp.zeros(rows)
    def read(self, x):
        result = {}
        return result
    def change(self, x):
        self.later = x
"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("self.board + 1", "self.rows self.columns"),
        ("self.board.reshape(self.cells)", "self.columns*self.rows"),
        ("self.edges * 2", "2*self.rows - 1 3"),
        ("self.board + jnp.zeros((self.rows, 1))", "self.rows self.columns"),
        ("self.table * 2", "4 2"),
    ],
)
def test_what_the_constructor_alone_puts_there_is_known_in_terms_of_the_object(read: str, expected: str) -> None:
    assert shapes(f"{_START}{_GRID.format(read)}")[-1] == expected


@pytest.mark.parametrize("made", ["", "def make():\n    return Grid(2, 3)\n"])
def test_findings_rest_on_what_the_constructor_alone_puts_there(made: str) -> None:
    read = "self.table + self.table[1:], self.edges + jnp.zeros((self.rows, 4)), self.board[1:] - self.board"
    report = audit([SourceFile("grid.py", f"{_START}{_GRID.format(read)}{made}")], Config()).report
    assert [one.message.partition(" cannot")[0] for one in report.issues if one.rule == "axis-conflict"] == [
        "(4, 2) and (3, 2)",
        "(2*self.rows - 1, 3) and (self.rows, 4)",
        "(self.rows - 1, self.columns) and (self.rows, self.columns)",
    ]


@pytest.mark.parametrize(
    "changed",
    ["class Long(Grid):\n    table = jnp.zeros((9, 2))\n", "def enlarge(grid):\n    grid.table = jnp.zeros((9, 2))\n"],
)
def test_what_others_put_there_leaves_it_open(changed: str) -> None:
    text = f"{_START}{_GRID.format('self.table + self.table[1:], self.later + jnp.zeros(3)')}{changed}"
    report = audit([SourceFile("grid.py", text)], Config()).report
    assert [one.message for one in report.issues if one.rule == "axis-conflict"] == []
