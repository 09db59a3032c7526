"""Transformations are recognised in every spelling, with their options and their regions."""

from __future__ import annotations

import pytest

from jaxaudit.ir.ops import REMARKS

from .reading import ops, read, shapes

_START = "import jax, functools\nfrom jax import lax\nimport jax.numpy as jnp\nimport jax.random as jr\n"


@pytest.mark.parametrize(
    "code",
    [
        "@jax.jit\ndef f(x):\n    return x\nf(1.0)",
        "@functools.partial(jax.jit, static_argnums=0)\ndef f(n, x):\n    return x\nf(1, 2.0)",
        "f = jax.jit(lambda x: x)\nf(1.0)",
        "@jax.jit(static_argnums=0)\ndef f(n, x):\n    return x\nf(1, 2.0)",
        "class A:\n    @functools.partial(jax.jit, static_argnums=0)\n    def f(self, x):\n        return x\nA().f(1.0)",
        "class A:\n    def __init__(self):\n        self.f = jax.jit(self.g)\n    def g(self, x):\n        return x\nA().f(1.0)",
        "def make():\n    def f(x):\n        return x\n    return jax.jit(f)\nmake()(1.0)",
        "import equinox as eqx\n@eqx.filter_jit\ndef f(x):\n    return x\nf(1.0)",
        "import flax.linen as nn\nf = nn.jit(lambda x: x)\nf(1.0)",
        "from flax import nnx\n@nnx.jit\ndef f(x):\n    return x\nf(1.0)",
        "from jax.experimental.pjit import pjit\nf = pjit(lambda x: x)\nf(1.0)",
        "def f(x):\n    return x\nf = jax.jit(f)\nf(1.0)",
        "jax.jit(functools.partial(lambda n, x: x, 3))(1.0)",
        "@jax.jit\ndef never_called(x):\n    return x",
    ],
)
def test_jit(code: str) -> None:
    (op,) = ops(_START + code, "jit")
    assert op.regions[0].params or op.qualified


@pytest.mark.parametrize(
    ("call", "axes"),
    [
        ("jax.vmap(f)(x, y)", (0, 0)),
        ("jax.vmap(f, in_axes=(0, None))(x, y)", (0, None)),
        ("jax.vmap(f, (None, 1))(x, y)", (None, 1)),
        ("jax.vmap(f, in_axes=[0, None])(x, y)", (0, None)),
        ("jax.vmap(f, in_axes=axes)(x, y)", ("?", "?")),
        ("jax.vmap(f)(x, y=y)", (0, 0)),
        ("jax.vmap(f)(*axes)", (0,)),
        ("jax.vmap(f, in_axes=(0, None))(x, *axes)", (0, "?")),
        ("jax.vmap(f, in_axes=(0, None))(*axes, y)", ("?",)),
        ("jax.vmap(f, in_axes=(0, None))(*axes, y, **x)", ("?", 0)),
        ("jax.vmap(functools.partial(f, x))(y)", (0,)),
        ("jax.vmap(lambda p: f(*p), in_axes=((0, None),))((x, y))", (0, None)),
        ("jax.vmap(lambda p: f(p['a'], p['b']), in_axes=({'a': 0, 'b': None},))({'a': x, 'b': y})", (0, None)),
    ],
)
def test_vmap_axes(call: str, axes: tuple[object, ...]) -> None:
    (op,) = ops(f"{_START}def f(x, y):\n    return x + y\ndef g(x, y, axes):\n    return {call}", "vmap")
    assert op.attrs["in_axes"] == axes


def test_what_stands_behind_an_unknown_star_has_no_place_of_its_own() -> None:
    code = f"""{_START}
def blend(x, y, z):
    return x - y * z
def g(left, x, right):
    return blend(*left, x, *right), jax.grad(blend, argnums=(0, 2))(*left, x)
"""
    (first,) = ops(code, "py.call")
    assert [op.name for op in first.regions[0].ops[:3]] == ["py.item"] * 3
    row = ops(code, "py.container")[1]
    assert [value.name for value in row.operands] == ["", "right"]
    (gradient,) = ops(code, "grad")
    assert gradient.differentiated is None


def test_nested_transformations_nest_regions() -> None:
    (outer,) = ops(f"{_START}def g(x):\n    return jax.jit(jax.vmap(jax.grad(lambda w: w * w)))(x)", "jit")
    inner = outer.regions[0].ops[0]
    assert inner.name == "vmap"
    assert inner.regions[0].ops[0].name == "grad"


def test_scan_carries_and_stacks() -> None:
    code = f"""{_START}
def g(key, xs):
    def body(carry, x):
        total, k = carry
        return (total + x, k), total
    return lax.scan(body, (0.0, key), xs, reverse=True)
"""
    (op,) = ops(code, "scan")
    assert (op.attrs["carry"], len(op.operands), len(op.results), op.attrs["reverse"]) == (2, 3, 3, True)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("lax.fori_loop(0, 3, lambda i, c: c + i, x)", "fori"),
        ("lax.while_loop(lambda c: c < 3, lambda c: c + 1, x)", "while"),
        ("lax.cond(x > 0, lambda v: v, lambda v: -v, x)", "cond"),
        ("lax.cond(x > 0, lambda: x, lambda: -x)", "cond"),
        ("lax.cond(x > 0, x, lambda v: v, -x, lambda v: v)", "cond"),
        ("lax.switch(x, [lambda v: v, lambda v: -v], x)", "cond"),
        ("lax.map(lambda v: v, x)", "map"),
        ("jax.checkpoint(lambda v: v)(x)", "checkpoint"),
        ("jax.remat(lambda v: v)(x)", "checkpoint"),
        ("jax.value_and_grad(lambda v: v)(x)", "grad"),
        ("jax.vjp(lambda v: v, x)", "vjp"),
        ("jax.jvp(lambda v: v, (x,), (x,))", "jvp"),
        ("jax.pmap(lambda v: v)(x)", "pmap"),
        ("jax.eval_shape(lambda v: v, x)", "abstract"),
        ("jax.tree_util.tree_map(lambda v: v, x)", "tree.map"),
        ("jax.lax.associative_scan(lambda a, b: a + b, x)", "associative_scan"),
        ("jax.debug.callback(lambda v: None, x)", "callback"),
        ("jax.custom_vjp(lambda v: v)(x)", "custom_vjp"),
        ("jax.shard_map(lambda v: v, mesh=None, in_specs=None, out_specs=None)(x)", "shard_map"),
    ],
)
def test_each_transformation_has_its_op(call: str, name: str) -> None:
    (op,) = ops(f"{_START}def g(x):\n    return {call}", name)
    assert op.regions


def test_grad_gives_the_structure_of_its_argument() -> None:
    code = f"""{_START}
def g(x):
    params = {{'w': x, 'b': x}}
    grads, aux = jax.grad(lambda p: (p['w'] + p['b'], x), has_aux=True)(params)
    return jnp.sum(grads['w'])
"""
    reading = read(code)
    made = {op.name: op for op in reading.program.walk()}
    assert made["array.reduce"].arguments["a"] is made["grad"].results[2]


@pytest.mark.parametrize(
    "made",
    [
        "jax.jit(chex.assert_max_traces(f, n=1))",
        "chex.assert_max_traces(jax.jit(f), n=1)",
        "jax.jit(chex.assert_max_traces(n=1)(f))",
        "jax.jit(eqx.debug.assert_max_traces(f, max_traces=1))",
    ],
)
def test_a_function_whose_traces_are_counted_is_that_function(made: str) -> None:
    code = f"{_START}import chex, equinox as eqx\ndef f(x):\n    return x[0]\nresult = {made}(jnp.ones((3, 4)))"
    assert shapes(code) == ["4"]


def test_an_associative_scan_gives_back_the_structure_of_its_elements() -> None:
    code = """
        from typing import NamedTuple
        from jax import lax

        class Message(NamedTuple):
            gain: float
            mean: float

        def join(a, b):
            return a[0] * b[0], a[1] + b[1]

        def run(x):
            return lax.associative_scan(join, Message(x, x)).mean
        """
    assert not ops(code, "py.attr")


def test_what_is_mapped_may_be_given_by_name() -> None:
    (op,) = ops(_START + "def f(rows):\n    return lax.map(lambda row: row + 1, xs=rows, batch_size=8)", "map")
    assert len(op.operands) == len(op.regions[0].params) == 1


def test_a_program_of_jax_is_not_what_its_function_gives() -> None:
    code = _START + "def f(x):\n    print(jax.make_jaxpr(lambda a: (a, a))(x).jaxpr)"
    (made,) = ops(code, "py.unknown")
    assert "a program of JAX" in made.reason
    assert not ops(code, "py.container")


@pytest.mark.parametrize("body", ["lambda c, x: step(c, x)", "outer", "functools.partial(weighted, 1.0)", "Step(1.0)"])
def test_a_body_that_only_calls_a_function_is_that_function(body: str) -> None:
    code = f"""
def step(c, x):
    return c * x, c

def outer(c, x):
    return step(c, x)

def weighted(w, c, x):
    return step(c, x)

class Step:
    def __init__(self, w):
        self.w = w
    def __call__(self, c, x):
        return step(c, x)

def run(xs):
    return lax.scan({body}, 1.0, xs)
"""
    (op,) = ops(_START + code, "scan")
    assert [one.name for one in op.regions[0].ops if one.name not in REMARKS] == ["array.map", "py.return"]
    assert [one.name for one in op.regions[0].params] == ["c", "x"]


@pytest.mark.parametrize(
    ("brackets", "expected"),
    [
        ("jnp.mgrid[0:3, 0:4]", "2 3 4"),
        ("jnp.mgrid[0:1:5j, 2:4]", "2 5 2"),
        ("np.mgrid[1:4]", "3"),
        ("np.r_[0:5, 2.0]", "6"),
        ("jnp.c_[jnp.ones(3), jnp.zeros(3)]", "3 2"),
    ],
)
def test_grids_in_brackets(brackets, expected):
    assert shapes(f"import numpy as np\nimport jax.numpy as jnp\nresult = {brackets}\n") == [expected]


def test_text_in_brackets_says_how_to_join():
    assert shapes("import jax.numpy as jnp\nresult = jnp.r_['0,2', jnp.ones(2), jnp.ones(2)]\n") == ["?"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [("jnp.zeros", "3"), ("lambda n: jnp.ones((n, 2))", "3 2"), ("jnp.asarray", ""), ("lambda n: n * x", "7")],
)
def test_numbers_are_leaves(function, expected):
    code = f"import jax\nimport jax.numpy as jnp\nx = jnp.ones(7)\nresult = jax.tree.map({function}, {{'a': 3}})['a']\n"
    assert shapes(code) == [expected]


def test_what_ravels_a_tree_puts_it_back():
    code = """
        import jax
        import jax.numpy as jnp
        from jax.flatten_util import ravel_pytree

        flat, unravel = ravel_pytree({"w": jnp.ones((3, 4)), "b": (jnp.zeros(2), 1.0)})
        first = unravel(flat * 2)["w"]
        result = jax.vmap(lambda one: unravel(one)["w"] @ jnp.ones(4))(jnp.ones((5, 15)))
    """
    assert [shapes(code, name) for name in ("flat", "first", "result")] == [["15"], ["3 4"], ["5 3"]]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("jax.jacfwd(f)(x, u)", "6 4"),
        ("jax.jacrev(f, argnums=1)(x, u)", "6 2"),
        ("jax.jacrev(f, (0, 1))(x, u)[1]", "6 2"),
        ("jax.hessian(lambda x: (x**2).sum())(x)", "4 4"),
        ("jax.vmap(jax.jacobian(f))(jnp.ones((5, 4)), jnp.ones((5, 2)))", "5 6 4"),
        ("jax.jacfwd(lambda x: (x[:3], x), has_aux=True)(x)[0]", "3 4"),
        ("jax.jacfwd(lambda p: p['a'] * 2)({'a': x, 'b': u})", "?"),
    ],
)
def test_derivatives_have_the_axes_of_both_sides(call, expected):
    code = f"{_START}f = lambda x, u: jnp.concatenate([x, u])\nx, u = jnp.ones(4), jnp.ones(2)\nresult = {call}\n"
    assert shapes(code) == [expected]
