"""What `numbers-sorted-as-text` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "items, in an order of their own or by number": """
        def start(key, n):
            return {f"layer_{i}": jax.random.normal(k, (8, 8)) for i, k in enumerate(jax.random.split(key, n))}

        def by_text(params, x):
            for _, w in sorted(params.items()):  #! numbers-sorted-as-text
                x = jnp.tanh(x @ w)
            return x

        def by_number(params, x):
            for name in sorted(params, key=lambda name: int(name.split("_")[1])):
                x = jnp.tanh(x @ params[name])
            return x

        def listed(params):
            return [params[name].mean() for name in sorted(params)]

        def main(key, x):
            params = start(key, 12)
            return by_text(params, x), by_number(params, x), listed(params)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
