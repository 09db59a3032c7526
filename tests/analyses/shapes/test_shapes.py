"""What the shapes domain knows: sizes as symbols, one context a caller, branches that sizes decide."""

import textwrap

import pytest

from jaxaudit.analyses.dims import UNKNOWN, constant, variable
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import NOTHING, array, integer, join, sequence, shown
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.table import TABLE
from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.ir import ArrayType, Op, Program, Region, Root, Value
from jaxaudit.ir.ops import VOCABULARY
from jaxaudit.spans import Span

SPAN = Span("example.py", 1, 0, 1, 1)
NOT_MODELLED = {"array.at"}
"""Ops on arrays that give values nothing is known of."""


def solved(code: str) -> tuple[Program, Shapes]:
    file = SourceFile("example.py", textwrap.dedent(code))
    program = read_source([file], lambda path: file if path == "example.py" else None).program
    shapes = solve(program, {Shapes}).get(Shapes)
    assert isinstance(shapes, Shapes)
    return program, shapes


def shape_of(code: str, name: str = "result") -> str:
    program, shapes = solved(code)
    facts = [shapes.of(value) for op in program.walk() for value in op.results if value.name == name]
    dims = facts[-1].dims
    return "?" if dims is None else ", ".join(map(shown, dims))


@pytest.mark.parametrize(
    ("turns", "body", "expected"),
    [
        ("for row in jnp.ones((4, 3)):", "total = total + row", "3"),
        ("for i in range(x.shape[0]):", "total = total + x[i] * jnp.ones((2, 3))", "2, 3"),
        ("for row in unseen():", "total = total + jnp.ones(3)", "?"),
        ("for row in jnp.ones((4, 3)):", "total = jnp.ones((2, *total.shape))", "?"),
        ("for row in jnp.ones((4, 3)):", "total = total + row if unseen() else total", "?"),
        ("for row in jnp.ones((4, 3)):", "if unseen(): break\n        total = total + row", "?"),
        ("for row in jnp.ones((4, 3)):", "total = other\n        other = other + row", "?"),
    ],
)
def test_a_loop_may_make_an_array_of_a_number(turns: str, body: str, expected: str) -> None:
    code = f"""
import jax.numpy as jnp
def f(x, unseen):
    n, = x.shape
    total, other = 0.0, 0.0
    {turns}
        {body}
    result = total * 1.0
    return result
"""
    assert shape_of(code) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("jnp.zeros((rows, columns + 1))", "x.shape[0], x.shape[1] + 1"),
        ("x.reshape(rows * columns, -1)", "x.shape[0]*x.shape[1], 1"),
        ("x[:, None] + jnp.ones(columns)", "x.shape[0], 1, x.shape[1]"),
        ("x[1:-1]", "x.shape[0] - 2, x.shape[1]"),
        ("jax.lax.select(unseen(), x, x + 1)", "x.shape[0], x.shape[1]"),
        ("jnp.concatenate([x, x])", "2*x.shape[0], x.shape[1]"),
        ("x.T @ x", "x.shape[1], x.shape[1]"),
        ("jnp.zeros(config['WIDTH'] * 2 if False else (config['WIDTH'], n))", "config['WIDTH'], n"),
        ("jax.vmap(lambda row: row.sum())(x)", "x.shape[0]"),
        ("jnp.stack([x[i] for i in range(n)])", "n, x.shape[1]"),
        ("jnp.stack([row * 2 for row in x])", "x.shape[0], x.shape[1]"),
        ("jnp.concatenate([row for row in [r + 1 for r in x]])", "x.shape[0]*x.shape[1]"),
        ("[jnp.copy(one) for one in (x, x[0])][1]", "x.shape[1]"),
        ("(lambda a, b: b)(*(jnp.copy(one) for one in (x, x[0])))", "x.shape[1]"),
        ("jnp.stack([row * k for k in range(3) for row in x])", "3*x.shape[0], x.shape[1]"),
        ("jnp.stack([x[i] for i in range(3) for _ in range(i)])", "?, x.shape[1]"),
        ("sum(jnp.roll(x, k, axis) for k in (1, -1) for axis in (0, 1))", "x.shape[0], x.shape[1]"),
        ("jnp.stack([row for row in x if row[0] > 0])", "?, x.shape[1]"),
        ("jnp.stack([a + b for a, b in zip(x, [3, 3])])", "?, x.shape[1]"),
        ("jnp.stack([row for row in x][1:])", "?, x.shape[1]"),
        ("jax.tree.map(lambda *rows: jnp.stack(rows), *[(row, n) for row in x])[0]", "x.shape[0], x.shape[1]"),
        ("jax.random.split(jax.random.key(0), config.batch + 1)", "config.batch + 1"),
        ("jax.lax.scan(lambda c, row: (jnp.zeros(3), row), config, x)[0] + 1", "3"),
    ],
)
def test_sizes_are_symbols(expression, expected):
    code = f"""
        import jax, jax.numpy as jnp

        def f(x, n, config):
            rows, columns = x.shape
            result = {expression}
            return jnp.copy(result)
        """
    assert shape_of(code) in (expected, expected.replace("?", "?.shape[0]"), expected.replace("?", "result.shape[0]"))


def test_a_function_is_solved_for_each_caller():
    program, shapes = solved(
        """
        import jax.numpy as jnp

        def double(x):
            return x + x

        a = double(jnp.ones(3))
        b = double(jnp.ones((4, 5)))
        """
    )
    adds = [op for op in program.walk() if op.qualified == "add"]
    assert [str(shapes.of(add.result)) for add in adds] == ["float32[3]", "float32[4, 5]"]
    assert all(context.fit is Fit.FITS for add in adds for context in shapes.contexts(add))


@pytest.mark.parametrize(
    "test",
    [
        "if x.ndim == 1:\n        return x[-1]",
        "if x.ndim == 0:\n        return x\n    elif x.shape[0] < 4:\n        raise ValueError",
        "if not x.ndim == 1:\n        pass\n    else:\n        return x",
    ],
)
def test_code_that_the_rank_rules_out_is_not_judged(test):
    code = f"import jax.numpy as jnp\n\ndef last(x):\n    {test}\n    return x[:, -1]\n\nlast(jnp.ones(3))\n"
    program, shapes = solved(code)
    assert not [context for op in program.walk() for context in shapes.contexts(op) if context.clash]


def test_what_a_callee_makes_up_is_new_at_every_call():
    program, shapes = solved(
        """
        import jax.numpy as jnp
        from somewhere import load

        def data(path):
            return jnp.zeros(load(path).shape[0])

        a = data("a")
        b = data("b")[1:]
        c = a + b
        """
    )
    add = next(op for op in program.walk() if op.qualified == "add")
    assert [context.fit for context in shapes.contexts(add)] == [Fit.OPEN]


def test_exact_types_win():
    value = Value(1, SPAN, "x")
    made = Value(2, SPAN)
    region = Region("root", "f", SPAN, (value,))
    region.ops.append(Op("array.map", (value,), (made,), SPAN, {}, {"function": "exp"}))
    types = {value: ArrayType((3,), "float32"), made: ArrayType((3,), "float16")}
    program = Program((Root("f", "example.py", region),), "jaxpr", {}, types)
    shapes = solve(program, {Shapes}).get(Shapes)
    assert isinstance(shapes, Shapes)
    assert str(shapes.of(made)) == "float16[3]"


def test_joining_keeps_what_both_say():
    n = variable("n")
    first, second = array((constant(3), n), "float32"), array((constant(4), n), "float32")
    assert join(first, second) == array((UNKNOWN, n), "float32")
    assert join(first, first) is first
    assert join(first, array((n,), "float32")) == array(None, "float32")
    assert join(first, array((n,), "int32")) == NOTHING
    assert join(sequence((integer(n), first)), sequence((integer(n), second))).items == (
        integer(n),
        array((UNKNOWN, n), "float32"),
    )


def test_every_op_on_arrays_has_a_transfer_function():
    ops = {name for name in VOCABULARY if name.startswith("array.")}
    assert ops - set(TABLE) == NOT_MODELLED
    assert set(TABLE) <= set(VOCABULARY)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("jax.random.normal(key, (6, 4)) / math.sqrt(6)", "6, 4"),
        ("jnp.zeros((math.prod((2, 5)), math.ceil(7 / 2), int(np.prod((2, 3)))))", "10, 4, 6"),
        ("jnp.zeros(3) * round(float(jnp.ones(())), 2)", "3"),
        ("jnp.zeros(3) + sum(jnp.sum(one**2) for one in jax.tree.leaves(key))", "3"),
        ("jax.tree.map(jnp.ravel, (jax.random.categorical(key, jnp.ones((2, 3, 4))), key))[0]", "6"),
        ("jax.tree.map(jnp.ravel, ((jax.random.categorical(key, jnp.ones((2, 3, 4))), key), key))[0][0]", "6"),
        ("network([dict(w=jnp.ones((m, n))) for m, n in zip(SIZES[:-1], SIZES[1:])], jnp.ones((8, 3)))", "8, 2"),
        ("network(grown(SIZES), jnp.ones((8, 3)))", "8, 2"),
        ("jnp.ones((8, 3)) @ Pair(*(jnp.ones(size) for size in ((3, 5), (5, 2)))).first", "8, 5"),
        ("tuple(jnp.ones(size) for size in ((3, 5), (5, 2)))[1]", "5, 2"),
        ("Env().pull(jnp.ones((7, 4)))", "7, 4"),
        ("jax.nn.initializers.he_normal()(key, (6, 4))", "6, 4"),
    ],
)
def test_what_python_computes_is_known(expression, expected):
    code = f"""
        import math
        from typing import NamedTuple
        import jax, jax.numpy as jnp, numpy as np

        SIZES = (3, 16, 2)

        class Pair(NamedTuple):
            first: jax.Array
            second: jax.Array

        class Env:
            goal = jnp.array([0.0, 1.0, 2.0, 3.0])

            def pull(self, obs):
                return self.goal - obs

        def grown(sizes):
            layers = []
            for m, n in zip(sizes[:-1], sizes[1:]):
                layers.append({{"w": jnp.ones((m, n)) / math.sqrt(m)}})
            return layers

        def network(layers, x):
            for layer in layers[:-1]:
                x = jnp.tanh(x @ layer["w"])
            return x @ layers[-1]["w"]

        key = jax.random.key(0)
        result = jnp.copy({expression})
        """
    assert shape_of(code) == expected


@pytest.mark.parametrize(
    ("made", "dtype"),
    [
        ("jnp.round(jnp.ones(3))", "float32"),
        ("jnp.floor(jnp.arange(3))", None),
        ("jnp.linalg.solve(jnp.eye(2), jnp.ones(2))", "float32"),
        ("jnp.arange(0, 12, 4)", "int32"),
    ],
)
def test_dtypes_are_kept(made: str, dtype: str | None) -> None:
    program, shapes = solved(f"import jax.numpy as jnp\nresult = {made}\n")
    (value,) = (value for op in program.walk() for value in op.results if value.name == "result")
    assert shapes.of(value).dtype == dtype


_RECORDED = "import d4rl, jax.numpy as jnp, numpy as np\ndata = d4rl.qlearning_dataset(env)\n"


@pytest.mark.parametrize(
    ("expression", "rank"),
    [
        ("data['observations'] - data['next_observations']", 2),
        ("np.concatenate([data['observations'], data['actions']], axis=-1)", 2),
        ("jnp.array(data['observations'])[0]", 1),
        ("data['rewards'] * data['terminals']", 1),
    ],
)
def test_the_entries_of_a_dict_that_a_library_gives_have_shapes(expression: str, rank: int) -> None:
    assert len(shape_of(f"{_RECORDED}result = {expression}").split(", ")) == rank
