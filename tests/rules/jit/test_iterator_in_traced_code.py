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
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
