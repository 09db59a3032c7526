"""What guards tell: a test that is decided runs one side, any other both, and each side knows which it is."""

from __future__ import annotations

import pytest

from .reading import ops, shapes

_START = "import jax\nimport jax.numpy as jnp\nfrom functools import partial\n"
_DEFAULT = """
def f(x, mask=None):
    if mask is None:
        mask = jnp.ones((9,))
    result = mask * 2
    return x
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f(jnp.ones(3), jnp.ones(2))", ["2"]),
        ("f(jnp.ones(3), mask=jnp.ones(2) > 0)", ["2"]),
        ("partial(f, mask=jnp.ones(2))(jnp.ones(3))", ["2"]),
        ("jax.jit(partial(f, mask=jnp.ones(2)))(jnp.ones(3))", ["2"]),
        ("jax.jit(f)(jnp.ones(3), jnp.ones(2))", ["2"]),
        ("jax.vmap(f)(jnp.ones(3), jnp.ones((3, 2)))", ["2"]),
        ("f(jnp.ones(3))", ["9"]),
        ("partial(f, mask=None)(jnp.ones(3))", ["9"]),
    ],
)
def test_a_default_is_made_only_where_none_is_given(call: str, expected: list[str]) -> None:
    assert shapes(_START + _DEFAULT + call) == expected


_MADE = """
def g(key, x, y):
    f(jnp.ones(3), {given})
"""


@pytest.mark.parametrize(
    "given",
    [
        "jax.random.split(key)[0]",
        "jax.random.normal(key, (2,))",
        "x * y",
        "-x",
        "x > y",
        "jax.vmap(lambda one: one + y)(x)",
        "jax.lax.scan(lambda c, one: (c + one, c + y), x * 1.0, y)[1]",
        "x * y if len(x) > 2 else x > y",
    ],
)
def test_what_is_computed_is_not_none(given: str) -> None:
    made = ops(_START + _DEFAULT + _MADE.format(given=given), "array.create")
    assert (9,) not in [op.arguments.get("shape") for op in made]


@pytest.mark.parametrize("given", ["x", "x[0]", "x or y", "x * y if len(x) > 2 else y", "y.mask"])
def test_what_may_be_none_enters_both_sides(given: str) -> None:
    assert len(ops(_START + _DEFAULT + _MADE.format(given=given), "py.test")) >= 1


def test_a_loop_may_exchange_what_is_computed_for_none() -> None:
    code = """
def g(n, c, y):
    x = y * 2
    for _ in range(n):
        if x is None:
            found = jnp.ones(4)
        x = None if c else x
"""
    assert shapes(_START + code, "found") != []


def test_a_value_that_may_be_none_enters_both_sides() -> None:
    code = "def g(m):\n    return f(jnp.ones(3), m)\n"
    (branch,) = ops(_START + _DEFAULT + code, "py.branch")
    assert [region.label for region in branch.regions] == ["then", "else"]


@pytest.mark.parametrize("turns", ["2", "n"])
def test_a_loop_may_exchange_an_array_for_none(turns: str) -> None:
    code = f"""
def g(n, c):
    x = jnp.ones(3)
    for _ in range({turns}):
        if x is None:
            found = jnp.ones(4)
        x = None if c else x
"""
    assert shapes(_START + code, "found") != []


def test_an_array_is_no_tuple() -> None:
    code = "def f(x):\n    result = x[0] if isinstance(x, tuple) else x * 2\n    return result\n"
    assert shapes(f"{_START}{code}f(jnp.ones((3, 4)))") == ["3 4"]


@pytest.mark.parametrize(
    "code",
    [
        "def g(c):\n    f = jnp.tanh if c else None\n    if f is not None:\n        result = f(jnp.ones(3))\n",
        "def g(c):\n    f = jnp.tanh if c else None\n    if f is None:\n        return 1\n    result = f(jnp.ones(3))\n",
        "def g(c):\n    f = jnp.tanh if c else None\n    assert f is not None\n    result = f(jnp.ones(3))\n",
        "def g(c):\n    f = jnp.tanh if c else None\n    y = f is not None and f(jnp.ones(3))\n    result = jnp.copy(f(jnp.ones(3)))\n",
        "def g(c):\n    f = jnp.tanh if c else jnp.exp\n    result = f(jnp.ones(3))\n",
        "def g(c):\n    f = (lambda x: x * 2) if c else (lambda x: x + 1)\n    result = jax.vmap(f)(jnp.ones(3))\n",
        "F = {'a': jnp.tanh, 'b': lambda x: -x}\ndef g(n):\n    result = F[n](jnp.ones(3))\n",
        "F = {'a': jnp.tanh, 'b': lambda x: -x}\ndef g(n):\n    result = F.get(n, jnp.sin)(jnp.ones(3))\n",
    ],
)
def test_a_function_that_is_one_of_several_is_followed(code: str) -> None:
    assert shapes(_START + code)[-1] == "3"


def test_an_object_of_one_of_several_classes_keeps_its_methods_apart() -> None:
    code = """
class A:
    def size(self):
        return 3
class B(A):
    def size(self):
        return 5
class Fake(A):
    def size(self):
        return None
def g(c):
    made = A() if c else B()
    found = jnp.zeros(made.size())
    return found
def h(o: A):
    result = jnp.zeros(o.size())
    return result
h(A())
h(B())
"""
    assert shapes(_START + code) == ["3", "5"]
    # Which of the two sizes it is depends on the path.
    assert shapes(_START + code, "found") != ["3"]


def test_the_right_side_of_and_runs_where_the_left_is_true() -> None:
    (branch,) = ops("def f(n, x):\n    return n > 0 and g(x / n)\ndef h(n, x):\n    return n > 0 and x", "py.branch")
    assert [len(region.ops) for region in branch.regions] == [3, 0]
    (branch,) = ops("def f(n, x):\n    return n == 0 or g(x / n)", "py.branch")
    assert [len(region.ops) for region in branch.regions] == [0, 3]


def test_a_known_left_side_decides() -> None:
    code = "def f(x, n):\n    if n and True or False:\n        result = x * 1\n    else:\n        never = x * 2\nf(jnp.ones(3), {})\nf(jnp.ones(4), 0)\nf(jnp.ones(5), 1)"
    assert (shapes(_START + code), shapes(_START + code, "never")) == (["5"], ["3", "4"])


def test_state_that_functions_fill_is_not_taken_as_empty() -> None:
    code = """
TABLE, ITEMS = {}, []
class Trainer:
    def __init__(self):
        self.state = None
        self.size = 3
    def step(self):
        if self.state is None:
            raise ValueError
        result = jnp.ones(self.size)
        return result
trainer = Trainer()
def main():
    return trainer.step()
def use(name):
    if not TABLE or name not in TABLE:
        raise KeyError
    first = jnp.ones(3)
    for item in ITEMS:
        second = jnp.ones(4)
def fill(name, item):
    TABLE[name] = item
    ITEMS.append(item)
def start():
    trainer.state = 1
"""
    assert [shapes(_START + code, name) for name in ("result", "first", "second")] == [["3"], ["3"], ["4"]]


def test_a_function_that_cannot_take_the_arguments_is_not_the_one_that_is_called() -> None:
    code = """
def pick(c):
    if c:
        return jax.vmap(lambda x: x[0], in_axes=(0,))
    return jax.vmap(lambda x, y: x + y, in_axes=(0, None))
def g(c):
    result = pick(c)(jnp.ones((5, 3)), jnp.ones(3))
    return result
"""
    assert shapes(_START + code) == ["5 3"]
