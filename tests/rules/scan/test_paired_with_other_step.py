"""What `paired-with-other-step` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "evidence of the step after the next": """
        def smooth(A, pi, logl):
            L = jnp.exp(logl)
            def fwd(prior, l):
                post = prior * l
                post = post / post.sum()
                pred = post @ A
                return pred, (post, pred)
            _, (posts, preds) = jax.lax.scan(fwd, pi, L)
            def bwd(nxt, x):
                post, pred = x
                g = post * (A @ (nxt / pred))
                return g, g
            last = posts[-1]
            _, g = jax.lax.scan(bwd, last, (posts[:-1], preds[1:]), reverse=True)  #! paired-with-other-step
            return jnp.concatenate([g, last[None]])
        """,
    "evidence on the way to the next step": """
        def smooth(A, pi, logl):
            L = jnp.exp(logl)
            def fwd(prior, l):
                post = prior * l
                post = post / post.sum()
                pred = post @ A
                return pred, (post, pred)
            _, (posts, preds) = jax.lax.scan(fwd, pi, L)
            def bwd(nxt, x):
                post, pred = x
                g = post * (A @ (nxt / pred))
                return g, g
            last = posts[-1]
            _, g = jax.lax.scan(bwd, last, (posts[:-1], preds[:-1]), reverse=True)
            return jnp.concatenate([g, last[None]])
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
