"""What is differentiated, what reaches the loss, and how, on small programs."""

from __future__ import annotations

import textwrap

import pytest

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Gradient, gradients_of
from jaxaudit.discover import decode_file, loader
from jaxaudit.frontends.source.read import read_source


def gradient(code: str) -> Gradient:
    """Return the only gradient of a program; its text starts with the imports."""
    text = "import jax\nimport jax.numpy as jnp\n" + textwrap.dedent(code)
    files = [decode_file("case.py", text.encode())]
    (found,) = [one for one in gradients_of(Facts(read_source(files, loader(files)).program)) if one.op.name == "grad"]  # type: ignore[arg-type]
    return found


def ways(found: Gradient) -> dict[str, str]:
    """Return the best way of each leaf to the loss."""
    mask = found.mask
    kinds = ("live", "maybe", "cut", "zero")
    return {one.name: next((kind for kind in kinds if getattr(mask, kind) & one.bit), "none") for one in found.leaves}


@pytest.mark.parametrize(
    ("expression", "way"),
    [
        ("jnp.sum(p['a'])", "live"),
        ("jnp.sum(jnp.clip(p['a'], 0, 1))", "live"),
        ("jnp.sum(jnp.where(x > 0, p['a'], 0.0))", "live"),
        ("jnp.sum(jnp.sort(p['a']))", "live"),
        ("jnp.sum(x[jnp.argsort(p['a'])])", "zero"),
        ("jnp.sum(jnp.where(p['a'] > 0, x, 0.0))", "zero"),
        ("jnp.sum(jnp.round(p['a']) * x)", "zero"),
        ("jnp.sum(p['a'].astype(int) * x)", "zero"),
        ("jnp.sum(jnp.array(p['a'], dtype=int) * x)", "zero"),
        ("jnp.sum(jax.nn.one_hot(jnp.argmax(p['a']), 3) * x)", "zero"),
        ("jnp.sum(jnp.sign(p['a']) * x)", "zero"),
        ("jnp.sum(p['a'] // 2.0)", "zero"),
        ("jnp.sum(jax.lax.stop_gradient(p['a']) * x)", "cut"),
        ("jnp.sum(jax.lax.stop_gradient(p['a']) * p['a'])", "live"),
        ("jnp.sum(jnp.round(p['a']) + p['a'])", "live"),
        ("helper(p['a'])", "maybe"),
    ],
)
def test_way_to_the_loss(expression: str, way: str) -> None:
    code = f"""
    from elsewhere import helper

    def loss(p, x):
        return {expression}

    def step(p, x):
        return jax.grad(loss)(p, x)
    """
    assert ways(gradient(code)) == {"p['a']": way}


def test_loops_and_branches_pass_gradient_on() -> None:
    code = """
    def loss(p, xs, flag):
        def body(carry, x):
            return carry * p["a"] + x, jnp.floor(p["b"]) * x
        last, ys = jax.lax.scan(body, p["c"], xs)
        chosen = jax.lax.cond(flag, lambda v: v * p["d"], lambda v: v, last)
        return chosen + jnp.sum(ys)

    def step(p, xs, flag):
        return jax.grad(loss)(p, xs, flag)
    """
    assert ways(gradient(code)) == {"p['a']": "live", "p['b']": "zero", "p['c']": "live", "p['d']": "live"}


def test_each_call_of_a_shared_function_counts_by_itself() -> None:
    code = """
    def layer(w, x):
        return jnp.tanh(x @ w)

    def loss(p, x):
        return jnp.sum(layer(p["a"], x)) + jnp.sum(jax.lax.stop_gradient(layer(p["b"], x)))

    def step(p, x):
        return jax.grad(loss)(p, x)
    """
    assert ways(gradient(code)) == {"p['a']": "live", "p['b']": "cut"}


def test_an_attribute_of_an_attribute_is_what_is_differentiated() -> None:
    code = """
    def loss(q, t):
        return jnp.sum(q["w"] * t["w"])

    def step(params):
        return jax.grad(loss)(params.q.online, params.q.target)
    """
    assert ways(gradient(code)) == {"q['w']": "live"}


def test_unknown_arguments_are_said_to_be_so() -> None:
    code = """
    def loss(p, x):
        return jnp.sum(p * x)

    def step(p, x, which):
        return jax.grad(loss, argnums=which)(p, x)
    """
    assert not gradient(code).known


def test_layers_of_a_module_depend_on_what_apply_is_given() -> None:
    code = """
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.relu(nn.Dense(8)(x)))

    net = Net()

    def loss(params, x):
        return jnp.mean(net.apply(params, x) ** 2)

    def step(params, x):
        return jax.grad(loss)(params, x)
    """
    assert ways(gradient(code)) == {"params (Dense at 9:16)": "live", "params (Dense at 9:36)": "maybe"}
