"""What `end-never-written` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "the last one keeps what it was": """
        def transmittance(sigma, delta):
            n = sigma.shape[0]
            out = jnp.ones_like(sigma)
            def body(i, out):
                return out.at[i].set(out[i - 1] * jnp.exp(-sigma[i - 1] * delta[i - 1]))
            return jax.lax.fori_loop(1, n - 1, body, out)  #! end-never-written
        """,
    "the body is called by another function": """
        def transmittance(sigma, delta):
            n = sigma.shape[0]
            out = jnp.ones_like(sigma)
            def body(i, out):
                return out.at[i].set(out[i - 1] * jnp.exp(-sigma[i - 1] * delta[i - 1]))
            return jax.lax.fori_loop(1, n - 1, lambda i, out: body(i, out), out)  #! end-never-written
        """,
    "all are written": """
        def transmittance(sigma, delta):
            n = sigma.shape[0]
            out = jnp.ones_like(sigma)
            def body(i, out):
                return out.at[i].set(out[i - 1] * jnp.exp(-sigma[i - 1] * delta[i - 1]))
            return jax.lax.fori_loop(1, n, body, out)
        """,
    "the second one keeps what it was": """
        def forward(log_init, log_trans, log_obs):
            T = log_obs.shape[0]
            alpha = jnp.zeros_like(log_obs).at[0].set(log_init + log_obs[0])
            def body(t, alpha):
                prev = jax.nn.logsumexp(alpha[t - 1][:, None] + log_trans, axis=0)
                return alpha.at[t].set(prev + log_obs[t])
            return jax.lax.fori_loop(2, T, body, alpha)  #! end-never-written
        """,
    "from the second one on": """
        def forward(log_init, log_trans, log_obs):
            T = log_obs.shape[0]
            alpha = jnp.zeros_like(log_obs).at[0].set(log_init + log_obs[0])
            def body(t, alpha):
                prev = jax.nn.logsumexp(alpha[t - 1][:, None] + log_trans, axis=0)
                return alpha.at[t].set(prev + log_obs[t])
            return jax.lax.fori_loop(1, T, body, alpha)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
