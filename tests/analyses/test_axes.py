"""Names of sizes ride on dims: through loops, maps and reshapes, until two of them meet."""

import textwrap

import pytest

from jaxaudit.analyses.axes import Axes
from jaxaudit.analyses.dims import Dim, constant, variable
from jaxaudit.analyses.labels import Label, contradiction, related
from jaxaudit.analyses.regroup import displaced, regrouped
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.solve import solve
from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.ir import Size
from jaxaudit.session import audit

HEAD = "import jax\nimport jax.numpy as jnp\n\nBATCH, TIME, WIDTH = 12, 12, 6\n"


def solved(code):
    program = audit([SourceFile("example.py", HEAD + textwrap.dedent(code))], Config(select=("random",))).program
    facts = solve(program, {Axes, Shapes})
    return program, facts.get(Shapes), facts.get(Axes)


def names_of(code, variable_name):
    """Return the names of the axes of a variable, `-` where there is none."""
    program, shapes, _ = solved(code)
    values = [value for op in program.walk() for value in op.results if value.name == variable_name]
    return [_text(dim) for dim in shapes.of(values[-1]).dims or ()]


def _text(dim):
    return "|".join(sorted(label.name for label in dim.labels if label.kind in ("size", "declared"))) or "-"


def named(size, name, scope="module"):
    return constant(size).labelled(frozenset((Label("size", name, scope),)))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("y = jnp.zeros((BATCH, WIDTH)).T", ["WIDTH", "BATCH"]),
        ("y = jnp.zeros((BATCH, TIME, WIDTH)).sum(axis=1)", ["BATCH", "WIDTH"]),
        ("y = jnp.zeros((BATCH, 1)) + jnp.zeros((1, TIME))", ["BATCH", "TIME"]),
        ("y = jnp.zeros((BATCH, WIDTH)) @ jnp.zeros((WIDTH, 3))", ["BATCH", "-"]),
        ("y = jnp.zeros((BATCH, TIME))[:, :, None]", ["BATCH", "TIME", "-"]),
        ("y = jnp.zeros((BATCH, TIME))[1:]", ["-", "TIME"]),
        ("y = jax.vmap(lambda x: x.sum())(jnp.zeros((BATCH, WIDTH)))", ["BATCH"]),
        ("y = jax.vmap(lambda x: x * 2, in_axes=1, out_axes=1)(jnp.zeros((BATCH, WIDTH)))", ["BATCH", "WIDTH"]),
        ("_, ys = jax.lax.scan(lambda c, x: (c, x), 0.0, jnp.zeros((TIME, WIDTH)))\ny = ys * 2", ["TIME", "WIDTH"]),
        ("y = jax.random.split(jax.random.key(0), BATCH)", ["BATCH"]),
        ("y = jnp.zeros((BATCH, TIME, WIDTH)).reshape(BATCH * TIME, WIDTH)", ["-", "WIDTH"]),
        ("def f(size):\n    return jnp.zeros(size)\n\ny = f(BATCH)", ["BATCH"]),
        ("def f(size=7):\n    return jnp.zeros(size)\n\ny = f()", ["size"]),
        ("config = {'envs': 7}\ny = jnp.zeros(config['envs'])", ["envs"]),
    ],
)
def test_names_ride_along(code, expected):
    assert names_of(code, "y") == expected


def test_a_dict_keeps_its_parts_through_a_loop():
    code = """
    params = {"w": jnp.zeros((WIDTH, 3)), "b": jnp.zeros(3)}
    for _ in range(4):
        params = jax.tree.map(lambda p: p * 0.9, params)
    y = jnp.zeros((BATCH, WIDTH)) @ params["w"]
    """
    assert names_of(code, "y") == ["BATCH", "-"]


def test_a_dict_that_is_changed_in_a_loop_is_not_taken_for_the_old_one():
    code = """
    params = {"w": jnp.zeros((WIDTH, 3))}
    for _ in range(4):
        params["w"] = jnp.zeros((BATCH, 3))
        params = dict(params)
    y = params["w"] * 2
    """
    assert "WIDTH" not in names_of(code, "y")


def test_only_names_of_one_scope_contradict():
    batch, time, other = named(12, "BATCH"), named(12, "TIME"), named(12, "n", "function")
    assert contradiction(batch.labels, time.labels) is not None
    assert contradiction(batch.labels, other.labels) is None
    assert contradiction(batch.labels, batch.labels | time.labels) is None
    assert related(batch.labels, named(12, "batch", "function").labels)


def test_a_reshape_keeps_what_keeps_its_stride():
    old = (named(16, "T"), named(4, "B"), named(3, "D"))
    assert displaced(old, (named(16, "T"), named(4, "B"), constant(3))) is None
    assert displaced(old, (named(4, "B"), named(16, "T"), constant(3))) is not None
    flat = regrouped(old, (constant(64), constant(3)))
    assert displaced(flat, (named(16, "T"), named(4, "B"), constant(3))) is None
    assert displaced(flat, (named(4, "B"), constant(16), constant(3))) is not None


def test_symbols_are_compared_by_what_they_stand_for():
    b, t, d = (variable(name) for name in "btd")
    assert displaced((b, t, d), (b, t * d)) is None
    assert displaced((b, t, d), (t, b, d)) is not None
    assert displaced((b, t, d), (Dim(None), d)) is None


def test_threads_tell_the_way_of_an_axis():
    _, _, axes = solved("y = jax.vmap(lambda x: x.sum())(jnp.zeros((BATCH, WIDTH))).mean()")
    ways = {thread.name: [station.deed for station in thread.stations] for thread in axes.threads}
    assert ways["BATCH"][0] == "enters"
    assert {"vmapped", "collected", "reduced"} <= set(ways["BATCH"])
    assert "reduced" in ways["WIDTH"]


def test_a_size_is_the_integer_it_is():
    size = Size(8, "ENVS", "module")
    assert (size, repr(size), f"{size}", size + 1) == (8, "8", "8", 9)
    assert not isinstance(size + 1, Size)
    assert {8: "x"}[size] == "x"
