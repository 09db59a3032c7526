"""Python itself: values keep their structure through statements, calls, containers and classes."""

from __future__ import annotations

import pytest

from .reading import ops, read, shapes, unknown_reasons

_START = "import jax\nimport jax.numpy as jnp\nimport jax.random as jr\n"


def _drawn_keys(code: str) -> list[str]:
    """Return the variable names of the keys that are drawn from."""
    found = []
    for op in ops(_START + code, "key.draw"):
        key = op.arguments["key"]
        found.append(getattr(key, "name", repr(key)))
    return found


@pytest.mark.parametrize(
    "code",
    [
        "k, other = jr.split(jr.key(0))\njr.normal(k)",
        "pair = (jr.key(0), 1)\nk, n = pair\njr.normal(k)",
        "d = {'rng': jr.key(0)}\nk = d['rng']\njr.normal(k)",
        "xs = [jr.key(0)]\nk = xs[-1]\njr.normal(k)",
        "k = (lambda: jr.key(0))()\njr.normal(k)",
        "if (k := jr.key(0)) is not None:\n    jr.normal(k)",
        "first, *k = jr.key(0), jr.key(1)\nk, = k\njr.normal(k)",
        "(a, (b, k)) = (1, (2, jr.key(0)))\njr.normal(k)",
        "def f(*args, **kwargs):\n    return args[0], kwargs['k']\nk = f(jr.key(0), k=jr.key(1))[1]\njr.normal(k)",
        "from functools import partial\ndef f(a, k):\n    return jr.normal(k)\npartial(f, 1)(k=jr.key(0))",
        (
            "from typing import NamedTuple\nclass S(NamedTuple):\n    k: jax.Array\n    n: int = 0\n"
            "s = S(jr.key(0))\nk = s._replace(n=1).k\njr.normal(k)"
        ),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass S:\n    k: jax.Array\n    n: int = 0\n"
            "s = dataclasses.replace(S(k=jr.key(0)), n=2)\njr.normal(s.k)"
        ),
        "from collections import namedtuple\nS = namedtuple('S', 'k n')\ns = S(jr.key(0), 1)\njr.normal(s.k)",
        (
            "class A:\n    def __init__(self, k):\n        self.k = k\n    def draw(self):\n        return jr.normal(self.k)\n"
            "A(jr.key(0)).draw()"
        ),
        (
            "class A:\n    def __init__(self, k):\n        self.k = k\n"
            "class B(A):\n    def __init__(self):\n        super().__init__(jr.key(0))\njr.normal(B().k)"
        ),
        "def outer(k):\n    def inner(x):\n        return jr.normal(k) + x\n    return inner\nouter(jr.key(0))(1.0)",
        "match (jr.key(0), 1):\n    case (k, n):\n        jr.normal(k)",
        "with open('x') as f:\n    k = jr.key(0)\njr.normal(k)",
        "try:\n    k = jr.key(0)\nfinally:\n    pass\njr.normal(k)",
        "for i, k in enumerate([jr.key(0), jr.key(1)]):\n    jr.normal(k)",
        "import copy\nd = copy.copy({'k': jr.key(0)})\nk = d.get('k')\njr.normal(k)",
        (
            "class A:\n    @property\n    def k(self):\n        return self._k\n    @staticmethod\n    def s(k):\n"
            "        return jr.normal(k)\nA.s(jr.key(0))"
        ),
    ],
)
def test_a_key_is_followed(code: str) -> None:
    assert set(_drawn_keys(code)) == {"k"}


def test_an_assignment_in_both_branches_merges() -> None:
    (branch,) = ops("def f(c, a, b):\n    if c:\n        x = a\n    else:\n        x = b\n    return x", "py.branch")
    assert [value.name for value in branch.results] == ["x"]


def test_a_known_condition_takes_one_branch() -> None:
    assert ops("LEVEL = 0\ndef f(a):\n    if LEVEL:\n        print(a)\n    return a\nf(1)", "py.print") == []


def test_early_returns_join() -> None:
    joins = ops(
        "def f(c, a, b):\n    if c:\n        return a\n    return b\ndef g(c, a, b):\n    return f(c, a, b)", "py.join"
    )
    assert [op.attrs["kind"] for op in joins] == ["return"]


def test_a_loop_carries_what_it_assigns() -> None:
    (loop,) = ops("def f(x, n):\n    for i in range(n):\n        x = x + i\n    return x", "py.loop")
    assert [value.name for value in loop.operands] == ["x"]
    assert loop.attrs["trips"] is None


def test_a_list_that_grows_in_a_loop_becomes_one_value() -> None:
    code = "def f(n):\n    xs = []\n    for i in range(n):\n        xs.append(i)\n    return xs[0]"
    assert [op.attrs["method"] for op in ops(code, "py.append")] == ["append"]


def test_a_call_gives_the_value_that_its_body_makes() -> None:
    code = "def h(x):\n    return x + 1\ndef f(a, b):\n    return h(a) * h(b)"
    first, second = ops(code, "py.call")
    assert first.regions[0] is not second.regions[0]
    assert first.results == first.regions[0].ops[0].results
    (product,) = (op for op in ops(code, "array.map") if op.function == "multiply")
    assert [value.id for value in product.operands] == [value.id for value in (*first.results, *second.results)]


def test_a_call_that_gives_its_argument_back_gives_what_it_was_given() -> None:
    (call,) = ops("def h(x):\n    return x\ndef f(a):\n    return h(a) + 1", "py.call")
    assert call.results == call.operands
    assert call.regions[0].results == call.regions[0].params


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def f(n):\n    return f(n - 1)\nf(3)", "recursive calls are not followed"),
        ("def f(g):\n    return g(1)", "the callee is not known"),
        ("import somewhere\nsomewhere.thing(1)", "somewhere.thing is not modelled"),
    ],
)
def test_what_is_not_followed_says_why(code: str, reason: str) -> None:
    assert reason in unknown_reasons(code)


def test_a_file_that_does_not_parse_is_a_problem_and_the_rest_goes_on() -> None:
    reading = read({"bad.py": "def f(:\n", "good.py": "def g(): pass\n"})
    assert [problem.path for problem in reading.problems] == ["bad.py"]
    assert reading.reach.entered == 1


def test_every_function_is_entered() -> None:
    code = """
    import jax
    @jax.jit
    def a(x):
        def inner(y):
            return y
        return jax.lax.map(inner, x)
    class C:
        def m(self):
            return lambda z: z
    def unused(f=lambda q: q):
        return f
    """
    reach = read(code).reach
    assert (reach.entered, reach.skipped) == (reach.functions, ())


def test_deep_nesting_does_not_crash() -> None:
    reading = read("x = " + "(" * 80 + "1" + ")" * 80 + "\ny = " + "+".join(["x"] * 900))
    assert reading.reach.files == 1


@pytest.mark.parametrize(
    "call",
    ["visit(other)", "jax.tree.map(visit, other)", "[visit(one) for one in other]", "len(other) and visit(other)"],
)
def test_a_variable_of_the_function_around_that_is_set_on_some_ways_is_open(call: str) -> None:
    code = f"""
import jax
import jax.numpy as jnp
def search(x, other):
    found = False
    def visit(y):
        nonlocal found
        if y is x:
            found = True
        return y
    {call}
    if found:
        return jnp.ones(3)
    return jnp.ones(4)
"""
    assert len(ops(code, "array.create")) == 2


def test_what_is_called_for_every_leaf_leaves_its_counts_open() -> None:
    code = """
import jax
import jax.numpy as jnp
def count(tree):
    n = 0
    def visit(y):
        nonlocal n
        n += 1
        return y
    jax.tree.map(visit, tree)
    result = jnp.ones(n)
    return result
"""
    assert shapes(code) != ["1"]
