"""What objects hold: functions in fields, dicts and train states, parts that stay, and references."""

from __future__ import annotations

import pytest

from .reading import ops, shapes

_START = "import jax\nimport jax.numpy as jnp\nimport flax.linen as nn\nimport optax\n"
_STATE = """
from flax.training.train_state import TrainState
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(7)(x)
    def encode(self, x):
        return x[0]
net = Net()
def made(cls, **more):
    return cls.create(apply_fn=net.apply, params={"w": jnp.ones((3, 9))}, tx=optax.sgd(0.1), **more)
class Own(TrainState):
    target: dict = None
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("state = made(TrainState)\nresult = state.apply_fn({}, jnp.ones((2, 3)))", "2 7"),
        ("state = made(TrainState).apply_gradients(grads=1)\nresult = state.apply_fn({}, jnp.ones((2, 3)))", "2 7"),
        ("state = made(Own, target=jnp.ones(4))\nresult = state.params['w'] * 1", "3 9"),
        ("state = made(Own, target=jnp.ones(4)).apply_gradients(grads=1)\nresult = state.params['w'] * 1", "3 9"),
        ("state = made(Own, target=jnp.ones(4)).apply_gradients(grads=1)\nresult = state.target * 1", "4"),
        ("state = made(Own).apply_gradients(grads=1, target=jnp.ones(5))\nresult = state.target * 1", "5"),
        ("state = made(Own).apply_gradients(grads=1)\nresult = state.apply_fn({}, jnp.ones((2, 3)))", "2 7"),
        (
            (
                "state = made(Own, target=jnp.ones(4))\nfor _ in range(3):\n    state = state.apply_gradients(grads=1)\n"
                "result = state.apply_fn({}, jnp.ones((2, 3)))"
            ),
            "2 7",
        ),
        (
            (
                "class Trainer:\n    def __init__(self):\n        self.state = made(Own, target=jnp.ones(4))\n"
                "    def step(self):\n        self.state = self.state.apply_gradients(grads=1)\n"
                "trainer = Trainer()\nfor _ in range(3):\n    trainer.step()\nresult = trainer.state.target * 1"
            ),
            "4",
        ),
        ("result = net.bind({}).encode(jnp.ones((2, 3)))", "3"),
    ],
)
def test_a_new_version_keeps_what_it_does_not_renew(code: str, expected: str) -> None:
    assert shapes(_START + _STATE + code) == [expected]


def test_a_part_that_stays_is_known_though_a_loop_changes_the_object() -> None:
    code = """
class Trainer:
    def __init__(self):
        self.state = made(TrainState)
    def step(self, x):
        result = self.state.apply_fn(self.state.params, x)
        self.state = self.state.apply_gradients(grads=result)
trainer = Trainer()
for _ in range(3):
    trainer.step(jnp.ones((4, 3)))
found = trainer.state.apply_fn({}, jnp.ones((2, 3)))
"""
    assert (shapes(_START + _STATE + code), shapes(_START + _STATE + code, "found")) == (["4 7"], ["2 7"])


def test_a_part_that_a_loop_exchanges_is_not_taken_for_the_first_one() -> None:
    code = """
other = TrainState.create(apply_fn=lambda p, x: x[0], params={}, tx=optax.sgd(0.1))
class Trainer:
    def __init__(self):
        self.state = made(TrainState)
    def step(self, x):
        result = self.state.apply_fn(self.state.params, x)
        self.state = other
trainer = Trainer()
for _ in range(3):
    trainer.step(jnp.ones((4, 3)))
"""
    assert shapes(_START + _STATE + code) == ["?"]


@pytest.mark.parametrize(
    "held",
    [
        "class C:\n    def __init__(self, f):\n        self.f = f\nf = C(g).f",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    f: object\nf = C(g).f",
        "from typing import Any, NamedTuple\nclass C(NamedTuple):\n    f: Any\nf = C(g).f",
        "f = {'a': g}['a']",
        "class C:\n    def __init__(self):\n        self.fs = {}\n    def add(self, f):\n        self.fs['a'] = f\nc = C()\nc.add(g)\nf = c.fs['a']",
    ],
)  # fmt: skip
def test_a_function_that_an_object_holds_is_followed(held: str) -> None:
    assert shapes(f"{_START}def g(x):\n    return x[0]\n{held}\nresult = f(jnp.ones((3, 4)))") == ["4"]


_KERNEL = """
from jax.experimental import pallas as pl
def kernel(x_ref, o_ref):
    result = x_ref[...] * 2
    o_ref[...] = result
    o_ref.at[0].set(result[0])
"""


def test_a_kernel_is_given_references() -> None:
    call = "found = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 4), jnp.float32))(jnp.ones((8, 4)))"
    assert (shapes(_START + _KERNEL + call), shapes(_START + _KERNEL + call, "found")) == (["8 4"], ["8 4"])
    blocks = call.replace("out_shape", "grid=(2,), out_shape")
    assert (shapes(_START + _KERNEL + blocks), shapes(_START + _KERNEL + blocks, "found")) == (["?"], ["8 4"])
    assert [op.kind for op in ops(_START + _KERNEL + call, "py.set_item")] == ["reference"]
    assert ops(_START + _KERNEL + call, "array.scatter") == []


def test_a_kernel_that_nobody_calls_is_given_references_too() -> None:
    made = "call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 4), jnp.float32))"
    assert ops(_START + _KERNEL + made, "array.scatter") == []
    assert len(ops(_START + _KERNEL, "array.scatter")) == 1


def test_a_callback_gives_what_its_specification_says() -> None:
    code = """
def host(x):
    return x if x > 0 else 1
@jax.jit
def f(x):
    spec = {"a": jax.ShapeDtypeStruct((3,), jnp.float32), "b": jax.ShapeDtypeStruct(x.shape, x.dtype)}
    made = jax.pure_callback(host, spec, x)
    result, found = made["a"] * 1, made["b"] * 1
    return result
f(jnp.ones((2, 5)))
"""
    assert (shapes(_START + code), shapes(_START + code, "found")) == (["3"], ["2 5"])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("conv(x, k, (1, 1), 'SAME')", "8 16 32 32"),
        ("conv(x, k, (2, 2), 'VALID')", "8 16 15 15"),
        ("conv_general_dilated(x, k, (1, 1), 'SAME')", "8 16 32 32"),
        ("conv_general_dilated(x, k, (1, 1), ((1, 1), (0, 0)))", "8 16 32 30"),
        ("conv_with_general_padding(x, k, (1, 1), ((0, 0), (1, 1)), None, None)", "8 16 30 32"),
        ("conv_general_dilated(x.transpose(0, 2, 3, 1), k.transpose(2, 3, 1, 0), (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))", "8 32 32 16"),
    ],
)  # fmt: skip
def test_the_layout_of_a_convolution_says_which_axis_has_the_channels(call: str, expected: str) -> None:
    code = f"x, k = jnp.ones((8, 3, 32, 32)), jnp.ones((16, 3, 3, 3))\nresult = jax.lax.{call}\n"
    assert shapes(_START + code) == [expected]


@pytest.mark.parametrize(
    "size", ["Block.STONE.value", "Number.FOUR", "len(Block) + 1", "[b.value for b in (Block.AIR, Block.STONE)][1]"]
)
def test_a_member_of_an_enumeration_has_its_value(size: str) -> None:
    code = "import enum\nclass Block(enum.Enum):\n    AIR = 0\n    STONE = 4\n    PAIR = (2, 3)\nclass Number(enum.IntEnum):\n    FOUR = 4\n"
    assert shapes(f"{_START}{code}result = jnp.zeros({size})") == ["4"]


def test_what_heirs_have_to_give_is_no_field_of_the_constructor() -> None:
    code = """
        import equinox as eqx

        class Path(eqx.Module):
            start: eqx.AbstractVar[float]

        class Made(Path):
            fn: object

            @property
            def start(self):
                return 0.0

        def run(x):
            return Made(x).fn
        """
    assert not ops(code, "py.refused")


def test_a_property_is_read_where_a_base_only_declares_the_name() -> None:
    code = """
        from typing import Any

        class Base:
            start: Any

            def run(self):
                print(self.start)

        class Made(Base):
            def __init__(self, x):
                self.x = x

            @property
            def start(self):
                return self.x + 1

        def main(x):
            Made(x).run()
        """
    assert [op.function for op in ops(code, "array.map")] == ["add"]
    (shown,) = ops(code, "py.print")
    assert shown.operands


_DERIVED = """
class Table:
    def rows(self):
        return jnp.ones((3, 4))
{}
def use(table: Table):
    result = table.rows()
    return result * 1
"""


@pytest.mark.parametrize(
    ("derived", "expected"),
    [
        ("", ["3 4"]),
        ("class Other(Table):\n    def columns(self):\n        return 1", ["3 4"]),
        ("class Other(Table):\n    def rows(self):\n        return jnp.ones((3, 5))", ["?"]),
    ],
)
def test_a_method_that_a_derived_class_overrides_is_open_where_an_annotation_alone_tells_the_class(
    derived: str, expected: list[str]
) -> None:
    assert shapes(_START + _DERIVED.format(derived)) == expected


def test_who_asks_for_none_does_not_believe_the_annotation() -> None:
    code = _DERIVED.format("").replace("    result", "    if table is None:\n        return jnp.zeros(2)\n    result")
    assert len(ops(_START + code, "py.branch")) == 1
    assert len(ops(_START + code, "array.create")) == 2


def test_a_constant_in_a_registered_object_is_a_leaf_that_the_mapped_function_replaces() -> None:
    code = """
from flax import struct
@struct.dataclass
class State:
    row: int
    x: jax.Array
    size: int = struct.field(pytree_node=False)
def step(done, other):
    start = State(row=0, x=jnp.zeros(3), size=4)
    both = jax.tree.map(lambda a, b: jnp.where(done, a, b), start, other)
    result = jnp.zeros(both.size)
    return both.row + 1, result
"""
    assert shapes(_START + code) == ["4"]
    assert [op.attrs["function"] for op in ops(_START + code, "array.map")] == ["add"]


@pytest.mark.parametrize(("maker", "expected"), [("", ["?"]), ("Net(4)(jnp.ones((2, 3)))", ["2"])])
def test_the_default_of_a_field_is_that_of_objects_made_here(maker: str, expected: list[str]) -> None:
    code = f"""
from typing import Callable
def total(x):
    return x.sum(-1)
class Net(nn.Module):
    n: int
    output: Callable = total
    def __call__(self, x):
        result = self.output(x)
        return result
{maker}
"""
    assert shapes(_START + code) == expected


def test_a_record_by_annotation_may_be_of_a_derived_class_or_none() -> None:
    code = """
from typing import NamedTuple
class Transform(NamedTuple):
    init: object
    update: object
class Extended(Transform):
    pass
def extended(tx: Transform):
    if tx is None:
        return jnp.ones(2)
    if isinstance(tx, Extended):
        return jnp.ones(3)
    return jnp.ones(4)
"""
    assert len(ops(_START + code, "array.create")) == 3


def test_a_rule_by_decorator_is_still_the_function() -> None:
    code = """
@jax.custom_jvp
def double(x):
    return 2 * x
@double.defjvp
def rule(primals, tangents):
    return double(*primals), jnp.ones((3, 4))
_, result = rule((1.0,), (1.0,))
again = result
"""
    assert [op.attrs["function"] for op in ops(_START + code, "py.call")][:1] == ["rule"]
