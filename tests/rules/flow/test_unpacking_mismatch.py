"""What `unpacking-mismatch` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "what a function made that was returned early": """
        def make(f, simple):
            if simple:
                run = jax.jit(lambda x: (f(x), x))

                def call(x):
                    out, rest = run(x)
                    return out

                return call

            def call(x):
                out, rest, more = run(x)
                return out

            run = jax.jit(lambda x: (f(x), x, x))
            return call

        def wrong(f, simple):
            if simple:
                run = jax.jit(lambda x: (f(x), x))

                def call(x):
                    out, rest, more = run(x)  #! unpacking-mismatch
                    return out

                return call

            run = jax.jit(lambda x: (f(x), x, x))
            return lambda x: run(x)[0]
        """,
    "a script that binds its functions again for a second stage": """
        def render(x):
            return x, x, x

        def step(x):
            def loss(x):
                rgb, acc, depth = render(x)
                return jnp.sum(rgb + acc + depth)

            return jax.grad(loss)(x)

        def render(x):
            return x, x

        def step(x):
            def loss(x):
                rgb, acc = render(x)
                return jnp.sum(rgb + acc)

            return jax.grad(loss)(x)
        """,
    "a function that keeps its name calls the later one": """
        def render(x):
            return x, x, x

        def step(x):
            rgb, acc, depth = render(x)  #! unpacking-mismatch
            return rgb + acc + depth

        def render(x):
            return x, x
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    code = PROGRAMS[name]
    assert said(code) == marked(code)
