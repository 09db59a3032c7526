"""What `iterator-in-traced-code` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "lists of what zip gives, and of rows": """
        def intervals(low, high, error):
            left = jnp.quantile(low, q=error, axis=0)
            right = jnp.quantile(high, q=1 - error, axis=0)
            return jnp.array(list(zip(left, right)))

        def grid(low, high, count, last):
            return list(jnp.linspace(low, high, count)) + [jnp.array(last)]

        def lazy(low, high):
            return jnp.array(zip(low, high))  #! iterator-in-traced-code
        """,
    "an array of a map": """
        def f(xs, ys):
            pairs = map(lambda a, b: a + b, xs, ys)
            return jnp.array(pairs)  #! iterator-in-traced-code
        """,
    "the turns of a loop share an item": """
        def descend(x, rates):
            rates = iter(rates)

            def body(state):
                i, x = state
                return i + 1, x - next(rates) * jnp.sin(x)  #! iterator-in-traced-code

            return jax.lax.while_loop(lambda state: state[0] < 5, body, (0, x))[1]

        def scaled(xs):
            scales = (0.5**i for i in range(9))
            return jax.lax.map(lambda x: x * next(scales), xs)  #! iterator-in-traced-code
        """,
    "an iterator of each turn, and one that names are made of": """
        import itertools

        def run(xs, key):
            def step(count, x):
                keys = iter(jax.random.split(jax.random.fold_in(key, count), 2))
                noise = jax.random.normal(next(keys)) + jax.random.uniform(next(keys))
                return count + 1, x * noise

            return jax.lax.scan(step, 0, xs)

        def counted(x):
            traces = itertools.count()

            def body(i, x):
                jax.debug.print(f"trace {next(traces)}")
                return x + 1

            return jax.lax.fori_loop(0, 5, body, x)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
