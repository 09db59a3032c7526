"""What `recomputed-from-other-form` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "squashed actions are stored": """
        def logp(w, obs, u):
            return -jnp.sum((u - obs @ w) ** 2, -1)

        def rollout(w, state, key):
            def step(state, key):
                u = state @ w + jax.random.normal(key, (2,))
                action = jnp.tanh(u)
                return 0.9 * state, {"obs": state, "action": action, "logp": logp(w, state, u)}
            return jax.lax.scan(step, state, jax.random.split(key, 10))[1]

        def ratio(w, state, key):
            batch = rollout(w, state, key)
            return jnp.exp(logp(w, batch["obs"], batch["action"]) - batch["logp"])  #! recomputed-from-other-form
        """,
    "temporal differences are no mismatch": """
        def value(w, obs):
            return obs @ w

        def rollout(w, state):
            def step(state, _):
                following = state * 0.9
                return following, (state, following, value(w, state))
            return jax.lax.scan(step, state, None, 10)[1]

        def loss(w, state):
            obs, following, old = rollout(w, state)
            return jnp.mean((value(w, following) - old) ** 2) + jnp.mean((value(w, obs) - old) ** 2)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
