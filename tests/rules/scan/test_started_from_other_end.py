"""What `started-from-other-end` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a smoother that starts with what the filter left": """
        def filtered(ys):
            def step(mean, y):
                mean = 0.9 * mean + 0.1 * y
                return mean, mean
            return lax.scan(step, 0.0, ys)

        def smooth(later, now):
            later = now + 0.5 * (later - now)
            return later, later

        def wrong(ys):
            last, means = filtered(ys)
            return lax.scan(smooth, last, means[:-1])[1]  #! started-from-other-end

        def right(ys):
            last, means = filtered(ys)
            return lax.scan(smooth, last, means[:-1], reverse=True)[1]

        def turned(ys):
            last, means = filtered(ys)
            return lax.scan(smooth, last, means[:-1][::-1])[1]

        wrong(jnp.ones(9)), right(jnp.ones(9)), turned(jnp.ones(9))
        """,
    "back substitution, for many systems at once": """
        def solve(c, d):
            def back(x, row):
                x = row[1] - row[0] * x
                return x, x
            last = d[-1]
            return jnp.append(lax.scan(back, last, (c[:-1], d[:-1]))[1], last)  #! started-from-other-end

        jax.vmap(solve)(jnp.ones((4, 9)), jnp.ones((4, 9)))
        """,
    "layers, passes and ways that start with one state": """
        def layers(params, xs):
            def cell(w):
                def step(h, x):
                    h = jnp.tanh(h @ w + x)
                    return h, h
                return step
            h, ys = lax.scan(cell(params[0]), jnp.zeros(4), xs)
            return lax.scan(cell(params[1]), h, ys)[1]

        def passes(xs, start):
            step = lambda h, x: (0.9 * h + x, h)
            h, _ = lax.scan(step, start, xs)
            return lax.scan(step, h, xs)[1]

        def both_ways(w, xs):
            step = lambda h, x: (jnp.tanh(h + x), h)
            h = xs[0] @ w
            return lax.scan(step, h, xs)[1], lax.scan(step, h, xs, reverse=True)[1]

        layers(jnp.ones((2, 4, 4)), jnp.ones((9, 4)))
        passes(jnp.ones(9), 0.0)
        both_ways(jnp.ones((4, 4)), jnp.ones((9, 4)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
