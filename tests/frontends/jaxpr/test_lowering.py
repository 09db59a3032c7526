"""What equations become: ops, arguments, types, places and names, in the form of the source front end."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp
from jax import lax

from frontends.jaxpr.tracing import ops, trace
from jaxaudit.ir import ArrayType, Value

X = jnp.ones((4, 3))


def only(function, name, *args):
    (op,) = ops(trace(function, *args), name)
    return op


@pytest.mark.parametrize(
    ("function", "op", "arguments"),
    [
        (lambda x: x.sum(1), "array.reduce", {"axis": (1,)}),
        (lambda x: x.reshape(2, 6), "array.reshape", {"shape": (2, 6)}),
        (lambda x: x.T, "array.permute", {"axes": (1, 0)}),
        (lambda x: x[:, None], "array.expand", {"shape": (4, 1, 3), "broadcast_dimensions": (0, 2)}),
        (lambda x: x @ x.T, "array.dot", {"dimension_numbers": (((1,), (0,)), ((), ()))}),
        (lambda x: x[1], "py.item", {"index": 1}),
        (lambda x: x[:, 2], "py.item", {"index": ({"start": None, "stop": None, "step": None}, 2)}),
        (lambda x: x[1:3], "py.item", {"index": {"start": 1, "stop": 3, "step": 1}}),
        (lambda x: jnp.concatenate([x, x], 1), "array.join", {"axis": 1}),
        (lambda x: jnp.cumsum(x, 0), "array.scan", {"axis": 0}),
        (lambda x: jnp.argmax(x, 1), "array.order", {"axis": 1}),
        (lambda x: x * 2.0, "array.map", {"y": 2.0}),
        (lambda x: x.astype(int), "array.convert", {"dtype": "int32"}),
    ],
)
def test_arguments_have_their_names_and_constants(function, op, arguments):
    found = only(function, op, X)
    assert {name: found.arguments[name] for name in arguments} == arguments


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda x: x + x, ["add"]),
        (lambda x: x < 1, ["less"]),
        (lambda x: (x > 0) & (x < 1), ["greater", "less", "logical_and"]),
        (lambda x: jnp.maximum(x, 0), ["maximum"]),
        (lambda x: x**2, ["power"]),
    ],
)
def test_functions_have_the_names_of_numpy(function, names):
    found = [op.qualified for op in ops(trace(function, X), "array.map")]
    assert found == names or (names == ["power"] and found == ["square"])


def test_every_value_has_its_exact_type():
    program = trace(lambda x, k: (x.sum(), jax.random.normal(k)), X, jax.random.key(0))
    region = program.roots[0].region
    assert [program.types[value] for value in region.params] == [
        ArrayType((4, 3), "float32"),
        ArrayType((), "key<fry>"),
    ]
    assert all(value in program.types for op in program.walk() for value in op.results)


def test_an_equation_inside_a_library_blames_the_user():
    def main(x):
        y = jax.nn.softmax(x)
        return jnp.where(y > 0, y, 0.0)

    first = main.__code__.co_firstlineno
    lines = {op.span.line for op in trace(main, X).walk()}
    assert lines == {first + 1, first + 2}


def test_columns_and_variables_are_the_users():
    def main(x):
        total = x.sum()
        return total * 2

    program = trace(main, X)
    op = ops(program, "array.reduce")[0]
    assert op.result.name == "total"
    assert op.span.end_column - op.span.column == len("x.sum()")
    assert [value.name for value in program.roots[0].region.params] == ["x"]


def test_scan_hands_in_what_it_carries_and_scans_and_sees_the_rest():
    def main(x, w):
        return lax.scan(lambda c, a: (c + a * w, c), x[0], x)

    program = trace(main, X, jnp.ones(3))
    (op,) = ops(program, "scan")
    assert (op.attrs["carry"], op.attrs["length"], op.attrs["reverse"]) == (1, 4, False)
    assert len(op.operands) == len(op.regions[0].params) == 2
    assert [program.types[value].shape for value in op.regions[0].params] == [(3,), (3,)]
    w = program.roots[0].region.params[1]
    assert any(w in inner.operands for inner in op.regions[0].ops)


@pytest.mark.parametrize("bound", [5, None], ids=["constant", "traced"])
def test_fori_loop_is_told_from_scan_and_while(bound):
    def main(x, n):
        return lax.fori_loop(0, bound or n, lambda i, c: c + x[i], x[0])

    op = only(main, "fori", X, 3)
    assert op.attrs["trips"] == bound
    assert len(op.operands) == 3
    # jax 0.6 calls them all `loop_carry`.
    index, carried = (value.name for value in op.regions[0].params)
    assert (index, carried) == ("i", "c") or (index, carried[:10]) == ("loop_carry[0]", "loop_carry")


def test_while_has_a_condition_and_a_body():
    op = only(lambda x: lax.while_loop(lambda v: v.sum() < 3, lambda v: v + 1, x), "while", X)
    assert len(op.regions) == 2
    assert [len(region.params) for region in op.regions] == [1, 1]


def test_cond_has_its_true_branch_first():
    op = only(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), "cond", X)
    assert [region.ops[0].qualified for region in op.regions] == ["sin", "cos"]
    assert isinstance(op.operands[0], Value)


def test_a_cond_that_vmap_turned_into_selections_has_branches_again():
    def main(x):
        return jax.vmap(lambda a: lax.cond(a.sum() > 0, lambda a: jnp.sin(a), lambda a: jnp.cos(a), a))(x)

    op = only(main, "cond", X)
    assert [region.ops[-1].qualified for region in op.regions] == ["sin", "cos"]


def test_map_is_told_from_scan():
    op = only(lambda x: lax.map(lambda row: row.sum(), x), "map", X)
    assert op.attrs["in_axes"] == (0,)


def test_a_users_jit_is_a_boundary_and_jaxs_own_is_not():
    @jax.jit
    def inner(x):
        return jax.nn.relu(jnp.where(x > 0, x, 0.0))

    program = trace(lambda x: inner(x), X)
    assert [op.qualified for op in ops(program, "jit")] == ["inner"]
    assert ops(program, "custom_jvp") == []


def test_pmap_and_shard_map():
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("d")

    def main(x):
        y = jax.pmap(lambda a: lax.psum(a, "i"), axis_name="i")(x[:1])
        return jax.shard_map(lambda a: lax.psum(a, "d"), mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(y)

    program = trace(main, X)
    (pmap,), (shard,) = ops(program, "pmap"), ops(program, "shard_map")
    assert (pmap.attrs["axis_name"], pmap.attrs["in_axes"]) == ("i", (0,))
    assert shard.attrs["in_axes"] == (0,)
    assert {op.arguments["axis_name"] for op in ops(program, "collective")} == {("i",), ("d",)}


def test_what_is_not_modelled_says_so():
    program = trace(lambda x: lax.rng_bit_generator(jnp.zeros(4, "uint32"), (3,))[1] + x[0].astype("uint32"), X)
    (op,) = ops(program, "py.call_unknown")
    assert op.callee == "rng_bit_generator"
    assert "not modelled" in op.reason


def test_a_function_that_is_called_twice_is_two_calls():
    def norm(x):
        centred = x - x.mean()
        return centred / x.std()

    def main(x):
        return norm(x) + norm(2 * x)

    program = trace(main, X)
    calls = ops(program, "py.call")
    assert [op.qualified for op in calls] == ["norm", "norm"]
    assert all(len(op.operands) == 1 and len(op.results) == 1 for op in calls)
