"""Derivative rules to probe, right ones, wrong ones, and ones that differ on purpose."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

X = jnp.linspace(0.2, 1.3, 12).reshape(3, 4)
Y = jnp.linspace(-1.0, 0.7, 12).reshape(3, 4)


def backward(function, forward, rule, **options):
    made = jax.custom_vjp(function, **options)
    made.defvjp(forward, rule)
    return made


def forward(function, rule):
    made = jax.custom_jvp(function)
    made.defjvp(rule)
    return made


def root(a):
    """Return the fixed point of `x = cos(a x)` by a loop that reverse mode cannot enter."""
    return lax.while_loop(
        lambda c: c[1] < 80, lambda c: (jnp.cos(a * c[0]), c[1] + 1), (jnp.ones_like(a), jnp.asarray(0))
    )[0]


def root_back(sign):
    def back(saved, g):
        a, x = saved
        return (sign * g * -x * jnp.sin(a * x) / (1 + a * jnp.sin(a * x)),)

    return back


def soft(x):
    return jax.nn.softmax(x)


def solve(a):
    return jnp.linalg.slogdet(a)[1]


def square():
    return backward(lambda x: x**2, lambda x: (x**2, x), lambda x, g: (2 * x * g,)), (X,)


def scaled():
    def back(saved, g):
        x, scale = saved
        return g * scale, jnp.sum(g * x, axis=0)

    return backward(lambda x, scale: x * scale, lambda x, s: (x * s, (x, s)), back), (X, Y[0])


def quotient():
    def tangent(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return x / y, dx / y - x * dy / y**2

    return forward(lambda x, y: x / y, tangent), (X, Y)


def lookup():
    def back(saved, g):
        table, index = saved
        return jnp.zeros_like(table).at[index].add(g), None

    return backward(lambda t, i: t[i], lambda t, i: (t[i], (t, i)), back), (X, jnp.array([0, 2, 2]))


def implicit():
    return backward(root, lambda a: (root(a), (a, root(a))), root_back(1.0)), (X[0],)


def safe_norm():
    def norm(x):
        return jnp.sqrt(jnp.sum(x * x))

    return backward(norm, lambda x: (norm(x), x), lambda x, g: (g * x / jnp.maximum(norm(x), 1e-12),)), (X[0],)


def symmetric_logdet():
    """A rule that is right for symmetric matrices alone, as such rules are."""

    def back(a, g):
        return (g * jnp.linalg.inv(a),)

    return backward(solve, lambda a: (solve(a), a), back), (X[:, :3] @ X[:, :3].T + jnp.eye(3),)


def cubic_by_custom_gradient():
    return jax.custom_gradient(lambda x: (x**3, lambda g: (3 * x**2 * g,))), (X,)


def power_with_static():
    def back(n, x, g):
        return (n * x ** (n - 1) * g,)

    return backward(lambda n, x: x**n, lambda n, x: (x**n, x), back, nondiff_argnums=(0,)), (3, X)


AGREES = (
    square, scaled, quotient, lookup, implicit, safe_norm, symmetric_logdet, cubic_by_custom_gradient, power_with_static
)  # fmt: skip


def rounding():
    return backward(lambda x: jnp.round(x), lambda x: (jnp.round(x), None), lambda _, g: (g,)), (X,)


def clipping():
    def clip(x):
        return jnp.clip(x, 0.0, 1.0)

    return backward(clip, lambda x: (clip(x), None), lambda _, g: (g,)), (X,)


def reversal():
    return backward(lambda x: x, lambda x: (x, None), lambda _, g: (-0.3 * g,)), (X,)


def gradient_clipping():
    def back(low, high, _, g):
        return (jnp.clip(g, low, high),)

    made = backward(lambda lo, hi, x: x, lambda lo, hi, x: (x, None), back, nondiff_argnums=(0, 1))
    return made, (-0.1, 0.1, X)


def spike():
    def fire(x):
        return (x > 0).astype(x.dtype)

    return backward(fire, lambda x: (fire(x), x), lambda x, g: (g / (1 + jnp.abs(x)) ** 2,)), (X,)


def clipped_exponential():
    return backward(jnp.exp, lambda x: (jnp.exp(x), x), lambda x, g: (jnp.clip(g * jnp.exp(x), -1, 1),)), (X,)


ESTIMATORS = (rounding, clipping, reversal, gradient_clipping, spike, clipped_exponential)


def wrong_factor():
    return backward(lambda x: x**2, lambda x: (x**2, x), lambda x, g: (x * g,)), (X,)


def wrong_sign():
    return backward(jnp.cos, lambda x: (jnp.cos(x), x), lambda x, g: (g * jnp.sin(x),)), (X,)


def ignored_cotangent():
    return backward(jnp.sin, lambda x: (jnp.sin(x), x), lambda x, g: (jnp.cos(x),)), (X,)


def swapped_residuals():
    def back(saved, g):
        y, x = saved
        return g * jnp.exp(y), g * x * jnp.exp(y)

    return backward(lambda x, y: x * jnp.exp(y), lambda x, y: (x * jnp.exp(y), (x, y)), back), (X, Y)


def exchanged_gradients():
    def back(saved, g):
        x, y = saved
        return g * x**2, 2 * g * x * y

    return backward(lambda x, y: x**2 * y, lambda x, y: (x**2 * y, (x, y)), back), (X, Y)


def mean_without_size():
    def mean(x):
        return jnp.mean(x**2)

    return backward(mean, lambda x: (mean(x), x), lambda x, g: (2 * x * g,)), (X,)


def diagonal_softmax():
    return backward(soft, lambda x: (soft(x), soft(x)), lambda s, g: (g * s * (1 - s),)), (X,)


def tangent_sign():
    def tangent(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return x / y, dx / y + x * dy / y**2

    return forward(lambda x, y: x / y, tangent), (X, Y)


def implicit_sign():
    return backward(root, lambda a: (root(a), (a, root(a))), root_back(-1.0)), (X[0],)


def unsummed():
    def back(saved, g):
        x, scale = saved
        return g * scale, g * x

    return backward(lambda x, scale: x * scale, lambda x, s: (x * s, (x, s)), back), (X, Y[0])


def cubic_factor_by_custom_gradient():
    return jax.custom_gradient(lambda x: (x**3, lambda g: (x**2 * g,))), (X,)


def other_argument():
    return backward(lambda x, w: x * w, lambda x, w: (x * w, (x, w)), lambda saved, g: (g * saved[1], saved[0])), (X, Y)


DIFFERS = {
    other_argument: "does not depend on the cotangent",
    wrong_factor: "0.5 times",
    wrong_sign: "-1 times",
    ignored_cotangent: "does not depend on the cotangent",
    swapped_residuals: "residuals 1 and 2 exchanged",
    exchanged_gradients: "are exchanged",
    mean_without_size: "12 times",
    diagonal_softmax: "times what it should be",
    tangent_sign: "-1 times",
    implicit_sign: "-1 times",
    unsummed: "has shape (3,4) and must have (4)",
    cubic_factor_by_custom_gradient: "0.333 times",
}


def one_step_implicit():
    """A cheap stand-in for the gradient of a fixed point, as equilibrium models use it."""

    def back(saved, g):
        a, x = saved
        return (g * -x * jnp.sin(a * x),)

    return backward(root, lambda a: (root(a), (a, root(a))), back), (X[0],)


def dropped():
    return backward(lambda x, t: x * t, lambda x, t: (x * t, t), lambda t, g: (g * t, jnp.zeros_like(t))), (X, Y)


def callback():
    def host(x):
        return jax.pure_callback(lambda v: v * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    return backward(host, lambda x: (host(x), None), lambda _, g: (g,)), (X,)


def quantised():
    """A rule for the scale of a quantiser, which is a matter of choice."""

    def quantise(x, scale):
        return jnp.round(x / scale) * scale

    def back(saved, g):
        x, scale = saved
        return g, jnp.sum(g * (jnp.round(x / scale) - x / scale))

    return backward(quantise, lambda x, s: (quantise(x, s), (x, s)), back), (X * 9, jnp.asarray(0.5))


def statistic():
    """Hand a running maximum on in the place of a gradient, as quantised training does."""

    def ahead(x, history):
        return 2 * x, jnp.roll(history, 1).at[0].set(jnp.max(jnp.abs(x)))

    return backward(lambda x, history: 2 * x, ahead, lambda saved, g: (2 * g, saved)), (X, Y[0])


def kept_statistic():
    return backward(lambda x, s: 2 * x, lambda x, s: (2 * x, s), lambda saved, g: (2 * g, saved)), (X, Y[0])


UNDECIDED = (one_step_implicit, dropped, callback, quantised, statistic, kept_statistic)
