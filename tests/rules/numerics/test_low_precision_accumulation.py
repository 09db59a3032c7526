"""What `low-precision-accumulation` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, messages, said

PROGRAMS = {
    "whole numbers that collide": """
        M = jax.random.bernoulli(jax.random.key(0), 0.5, (1000,))
        X = jax.random.normal(jax.random.key(0), (1000,), dtype=jnp.bfloat16)
        p1 = jnp.arange(1024, dtype=jnp.bfloat16) * 0.5  #! low-precision-accumulation
        p2 = jnp.cos(jnp.arange(4096).astype(jnp.bfloat16)[:, None])  #! low-precision-accumulation
        p3 = jnp.arange(2**24 + 2).astype(jnp.float32)  #! low-precision-accumulation
        p4 = jax.lax.fori_loop(0, 5000, lambda i, c: c + 1, jnp.zeros((), jnp.float16))  #! low-precision-accumulation
        p5 = jax.lax.scan(lambda c, v: (c + v, c), jnp.zeros((), jnp.bfloat16), X)  #? low-precision-accumulation
        q1 = (jnp.arange(1024) / 1024).astype(jnp.bfloat16)
        q2 = (X.sum(), X.mean())
        q3 = jnp.cumsum(M.astype(jnp.int32))
        q4 = jax.lax.fori_loop(0, 5000, lambda i, c: c + 1, 0)
        q5 = jax.lax.scan(lambda c, v: (0.9 * c + v, c), jnp.zeros((), jnp.bfloat16), X)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_messages_name_the_reason():
    found = messages(PROGRAMS["whole numbers that collide"], "low-precision-accumulation")
    assert found[0] == "whole numbers up to 1,023 collide in `bfloat16`, which is exact up to 256"
    assert found[3] == "a counter in `float16` stops at 2,048: 2,048 + 1 is 2,048 there"
