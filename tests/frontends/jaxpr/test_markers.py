"""The markers: same results as without them, what they tell, and a clean way in and out."""

from __future__ import annotations

import functools

import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp
import numpy as np
from jax import lax

from frontends.jaxpr.tracing import ops, trace
from jaxaudit.frontends.jaxpr import lower, patches
from jaxaudit.frontends.jaxpr.records import RECORDS

X = jnp.arange(12.0).reshape(4, 3) / 7
W = jnp.arange(6.0).reshape(2, 3) / 5
KEY = jax.random.key(3)


def vmaps(x, w):
    outer = jax.vmap(jax.vmap(lambda a, b: jnp.tanh(a @ b), in_axes=(None, 0)), in_axes=(0, None), out_axes=1)
    return outer(x, w), jax.vmap(lambda a: {"s": a.sum(), "n": 1.0}, in_axes=1)(x)


def gradients(x, w):
    def loss(w, x):
        return jnp.mean(jax.vmap(lambda a: jnp.tanh(w @ a).sum())(x)), x

    value, grads = jax.value_and_grad(loss, has_aux=True)(w, x)
    return value, grads, jax.jacfwd(lambda w: w @ x[0])(w), jax.hessian(lambda a: (a**3).sum())(x[0])


def loops(x, w):
    carry, ys = lax.scan(lambda c, a: (c + w @ a, c.sum()), jnp.zeros(2), x, reverse=True)
    count = lax.while_loop(lambda n: n < 9, lambda n: n + 2, 0)
    total = lax.fori_loop(0, 4, lambda i, t: t + x[i].sum(), 0.0)
    chosen = lax.cond(total > 1, lambda a: a * 2, lambda a: a - 1, x)
    return carry, ys, count, total, chosen, lax.map(jnp.sum, x), lax.switch(1, [jnp.sin, jnp.cos], x)


@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, power):
    return jnp.sin(x) ** power


@jax.custom_vjp
def clipped(x):
    return jnp.clip(x, -1, 1)


clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (g * (x > 0),))


def derivatives(x, w):
    y, back = jax.vjp(lambda a: clipped(a).sum() + layer(a, 2).sum(), x)
    tangent = jax.jvp(jnp.sin, (x,), (x,))
    return y, back(1.0), tangent, jax.vmap(jax.grad(lambda a: layer(a, 3).sum()))(x), jax.linearize(jnp.cos, x)[0]


def randomness(x, w):
    keys = jax.random.split(KEY, 4)
    noise = jax.vmap(lambda k, a: a + jax.random.normal(k, a.shape))(keys, x)
    return noise, jax.vmap(lambda f, k: lax.cond(f, jax.random.normal, jax.random.uniform, k))(x[:, 0] > 0.5, keys)


@pytest.mark.parametrize("program", [vmaps, gradients, loops, derivatives, randomness])
@pytest.mark.parametrize("way", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_results_are_the_same_with_and_without_markers(program, way):
    lower.uninstall_markers()
    plain = way(program)(X, W)
    lower.install_markers()
    try:
        marked = way(lambda *args: program(*args))(X, W)
    finally:
        lower.uninstall_markers()
    assert jax.tree.structure(plain) == jax.tree.structure(marked)
    for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(marked), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("program", [vmaps, gradients, loops, derivatives, randomness])
def test_every_program_is_lowered_soundly(program):
    assert trace(program, X, W).roots


def test_markers_leave_jax_as_it_was():
    lower.uninstall_markers()
    before = {name: getattr(jax, name) for name in ("vmap", "grad", "jit", "checkpoint")}
    scan, call = lax.scan, jax.custom_vjp.__call__
    lower.install_markers()
    assert jax.vmap is not before["vmap"]
    lower.install_markers()
    lower.uninstall_markers()
    assert {name: getattr(jax, name) for name in before} == before
    assert (lax.scan, jax.custom_vjp.__call__) == (scan, call)
    assert not patches.is_installed()


def test_an_exception_while_tracing_passes_through():
    def wrong(x):
        return jax.vmap(jnp.dot)(x, x[:2])

    lower.uninstall_markers()
    with pytest.raises(ValueError, match="vmap got inconsistent sizes"):
        lower.trace_and_lower(wrong, (X,), {}, name="wrong", path=__file__)
    assert not patches.is_installed()


def test_an_eager_scan_is_traced_once():
    traced = []

    def body(carry, x):
        traced.append(1)
        return carry + x, None

    lower.install_markers()
    try:
        for _ in range(3):
            lax.scan(body, jnp.zeros(3), X)
    finally:
        lower.uninstall_markers()
    assert len(traced) == 1


def test_an_eager_call_leaves_no_record():
    lower.install_markers()
    try:
        before = len(RECORDS.by_uid)
        jax.vmap(jnp.sin)(X)
        assert len(RECORDS.by_uid) == before
    finally:
        lower.uninstall_markers()


def test_vmap_tells_axes_sizes_and_paths():
    def main(x, params):
        return jax.vmap(lambda a, p: (p["w"] @ a, a), in_axes=(1, None), out_axes=(1, 0))(x, params)

    (op,) = ops(trace(main, jnp.ones((3, 5)), {"w": jnp.ones((2, 3))}), "vmap")
    assert op.attrs["in_axes"] == (1, None)
    assert op.attrs["axis_size"] == 5
    assert op.attrs["mapped_in"] == (1, None)
    assert op.attrs["out_axes"] == (1, 0)
    assert op.attrs["mapped_out"] == (1, 0)
    assert op.attrs["paths"] == ("a", "p['w']")
    assert [value.name for value in op.regions[0].params] == ["a", "p['w']"]


def test_nested_vmaps_keep_physical_shapes_and_say_where_their_axis_is():
    def main(x, w):
        return jax.vmap(jax.vmap(lambda a, b: a @ b, in_axes=(None, 0)), in_axes=(0, None))(x, w)

    program = trace(main, jnp.ones((4, 3)), jnp.ones((2, 3)))
    outer, inner = ops(program, "vmap")
    assert (outer.attrs["axis_size"], inner.attrs["axis_size"]) == (4, 2)
    assert outer.attrs["mapped_in"] == (0, None)
    assert inner.attrs["mapped_in"] == (None, 0)
    physical = [program.types[value].shape for value in inner.regions[0].params]
    assert physical == [(4, 3), (2, 3)]


def test_grad_tells_its_arguments_and_its_gradients():
    def main(w, x):
        return jax.value_and_grad(lambda w, x: (w * x).sum(), argnums=(0, 1))(w, x)

    program = trace(main, jnp.ones(3), jnp.ones(3))
    (op,) = ops(program, "grad")
    assert op.attrs["value"] is True
    assert op.attrs["options"] == {"argnums": (0, 1)}
    assert op.attrs["gradients"] == (1, 2)
    assert len(op.operands) == 2
    assert any(inner.attrs.get("backward") for inner in op.regions[0].ops)


def test_what_a_library_maps_inside_is_hidden():
    def main(x):
        return jnp.vectorize(lambda a: a + 1)(x)

    assert ops(trace(main, X), "vmap") == []
