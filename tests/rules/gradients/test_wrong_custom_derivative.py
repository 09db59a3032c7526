"""What `wrong-custom-derivative` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a matrix where its transpose is due": """
        @jax.custom_vjp
        def layer(w, x):
            return jnp.tanh(w @ x)

        def forward(w, x):
            y = layer(w, x)
            return y, (w, x, y)

        def backward(saved, g):
            w, x, y = saved
            h = g * (1 - y**2)
            return jnp.outer(h, x), w @ h  #! wrong-custom-derivative

        layer.defvjp(forward, backward)

        def main(w, x):
            return jax.grad(lambda x: layer(w, x).sum())(x)
        """,
    "rows, and the transpose of the other side": """
        @jax.custom_vjp
        def rows(x, w):
            return x @ w

        def forward(x, w):
            return x @ w, (x, w)

        def backward(saved, g):
            x, w = saved
            return g @ w.T, x.T @ g

        rows.defvjp(forward, backward)

        @jax.custom_vjp
        def other(x, w):
            return x @ w

        def backward_of_other(saved, g):
            x, w = saved
            return g @ w, x.T @ g  #! wrong-custom-derivative

        other.defvjp(forward, backward_of_other)

        def main(x, w):
            return jax.grad(lambda x: (rows(x, w) + other(x, w)).sum())(x)
        """,
    "an implicit function": """
        def residual(x, a):
            return jnp.tanh(a @ x) - x

        @jax.custom_vjp
        def root(a):
            return jax.lax.fori_loop(0, 50, lambda _, x: x + residual(x, a), jnp.ones(3))

        def forward(a):
            x = root(a)
            return x, (x, a)

        def backward(saved, g):
            x, a = saved
            slope = jax.jacfwd(residual)(x, a)
            back = jnp.linalg.solve(jnp.eye(3) - slope, g)  #! wrong-custom-derivative
            right = jnp.linalg.solve(slope.T, g)
            return (jax.vjp(lambda a: residual(x, a), a)[1](back + right)[0],)

        root.defvjp(forward, backward)

        def main(a):
            return jax.grad(lambda a: root(a).sum())(a)
        """,
    "matrices that are their own transpose": """
        def energy(x, a):
            return jnp.sum(x**4) + x @ a @ x

        @jax.custom_vjp
        def lowest(a):
            return jax.lax.fori_loop(0, 50, lambda _, x: x - 0.1 * jax.grad(energy)(x, a), jnp.ones(3))

        def forward(a):
            x = lowest(a)
            return x, (x, a)

        def backward(saved, g):
            x, a = saved
            back = jnp.linalg.solve(jax.hessian(energy)(x, a), -g)
            again = jnp.linalg.solve(jax.jacfwd(jax.grad(energy))(x, a), -g)
            return (jax.vjp(lambda a: jax.grad(energy)(x, a), a)[1](back + again)[0],)

        lowest.defvjp(forward, backward)

        def main(a):
            return jax.grad(lambda a: lowest(a).sum())(a)
        """,
    "a cotangent that is made an array": """
        def lookup():
            @jax.custom_vjp
            def look(w, i):
                return w[i]

            def fwd(w, i):
                return w[i], (i, w.shape)

            def bwd(saved, g):
                i, shape = saved
                g = jnp.asarray(g)
                return jnp.zeros(shape).at[i].add(g), None

            look.defvjp(fwd, bwd)
            return look

        lookup()(jnp.ones((3, 4)), jnp.array([0, 1]))
        """,
    "a rule for arguments with defaults": """
        @jax.custom_vjp
        def spike(x, alpha=80):
            return jnp.heaviside(x, 0.0)

        def fwd(x, alpha):
            return jnp.heaviside(x, 0.0), (x, alpha)

        def bwd(saved, g):
            x, alpha = saved
            return g / (alpha * jnp.abs(x) + 1.0) ** 2, None

        spike.defvjp(fwd, bwd)
        print(spike(jnp.ones(3)))
        """,
    "a fixed point that is iterated until it stands": """
        @jax.custom_jvp
        def fixed_point(a, b):
            def goes_on(state):
                x, old = state
                return jnp.abs(x - old) > 1e-6
            def body(state):
                x, _ = state
                return jnp.cos(a * x) + b, x
            return jax.lax.while_loop(goes_on, body, (b, b + 1.0))[0]

        @fixed_point.defjvp
        def rule(primals, tangents):
            a, b = primals
            da, db = tangents
            x = fixed_point(a, b)
            return x, (db - x * jnp.sin(a * x) * da) / (1.0 + a * jnp.sin(a * x))

        def both(a, b):
            return fixed_point(a, b) + fixed_point(a, 0.2)
        jax.grad(both)(jnp.float32(0.5), jnp.float32(0.3))
        """,
    "the tangent of what a solver depends on is left out": """
        @jax.custom_jvp
        def solve(m, e):
            def body(_, x):
                return x - (x - e * jnp.sin(x) - m) / (1.0 - e * jnp.cos(x))
            return jax.lax.fori_loop(0, 9, body, m)

        @solve.defjvp
        def rule(primals, tangents):
            (m, e), (dm, _) = primals, tangents
            x = solve(m, e)
            return x, dm / (1.0 - e * jnp.cos(x))  #! wrong-custom-derivative
        jax.grad(solve)(jnp.float32(0.5), jnp.float32(0.3))
        """,
    "a loop of Python's that finds a root": """
        @jax.custom_vjp
        def root(y):
            x = y
            for _ in range(8):
                x = x - (x**3 + x - y) / (3 * x**2 + 1)
            return x

        def fwd(y):
            x = root(y)
            return x, x

        def bwd(x, g):
            return (g / (3 * x + 1),)  #! wrong-custom-derivative

        root.defvjp(fwd, bwd)
        jax.grad(root)(jnp.float32(0.5))
        """,
    "the mask of a hard sign asks its output": """
        @jax.custom_vjp
        def binarize(x):
            return jnp.where(x >= 0, 1.0, -1.0)

        def fwd(x):
            out = jnp.where(x >= 0, 1.0, -1.0)
            return out, out

        def bwd(saved, g):
            return (g * (jnp.abs(saved) <= 1.0),)  #! wrong-custom-derivative

        binarize.defvjp(fwd, bwd)
        jax.grad(lambda w: binarize(w).sum())(jnp.linspace(-2.0, 2.0, 5))
        """,
    "the mask of a clipped value asks what was clipped": """
        @jax.custom_vjp
        def clip(x):
            return jnp.clip(x, -1.0, 1.0)

        def fwd(x):
            y = clip(x)
            return y, (y, x)

        def bwd(saved, g):
            y, x = saved
            outside = jnp.logical_or(y < -1.0, y > 1.0)  #! wrong-custom-derivative
            return (jnp.where(outside, 0.0, g),)

        clip.defvjp(fwd, bwd)
        jax.grad(lambda w: clip(w).sum())(jnp.linspace(-2.0, 2.0, 5))
        """,
    "the mask asks the argument": """
        @jax.custom_vjp
        def binarize(x):
            return jnp.sign(x)

        binarize.defvjp(lambda x: (binarize(x), x), lambda x, g: (g * (jnp.abs(x) <= 1.0),))

        @jax.custom_vjp
        def rectify(x):
            return jnp.maximum(x, 0.0)

        def fwd(x):
            y = rectify(x)
            return y, y

        rectify.defvjp(fwd, lambda y, g: (jnp.where(y > 0, g, 0.0),))
        jax.grad(lambda w: (binarize(w) + rectify(w)).sum())(jnp.linspace(-2.0, 2.0, 5))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
