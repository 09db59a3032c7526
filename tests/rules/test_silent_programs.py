"""Programs in which no rule finds anything."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "grids in brackets": """
        @jax.jit
        def solve(x, ts, p):
            return x + ts.sum() + p

        def run(x, p, n):
            ts = jnp.r_[: n * 3]
            return solve(x, ts, p) + np.c_[x, p].sum()
        """,
    "functions that are given nothing but stars": """
        def all_of_them(xs, key):
            return (jnp.sum(*xs), np.sum(*xs), np.linalg.norm(*xs), jnp.var(*xs), np.concatenate(*xs), jnp.einsum(*xs),
                    jnp.take(*xs), np.cumsum(*xs), jnp.dot(*xs), jnp.where(*xs), jax.nn.softmax(*xs), jnp.stack(*xs),
                    jax.nn.one_hot(*xs), jnp.linspace(*xs), np.arange(*xs), jnp.reshape(*xs), jnp.quantile(*xs))
        """,
    "letters for einsum": """
        LETTERS = string.ascii_lowercase + string.ascii_uppercase

        def names(n):
            return LETTERS[0] + LETTERS[n]
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
