"""What `logits-as-log-probabilities` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "scores that are normalised under another temperature": """
        def loss_of(q, chosen, target, temperature, alpha):
            error = jnp.square(chosen - target)
            penalty = jax.scipy.special.logsumexp(q / temperature, axis=-1) - chosen / temperature
            return (error + alpha * penalty).mean(), distrax.Categorical(logits=q / temperature).entropy()

        def update(params, batch, config):
            def loss(params):
                q = batch["observations"] @ params["w"]
                chosen = q[jnp.arange(len(batch["actions"])), batch["actions"]]
                return loss_of(q, chosen, batch["targets"], config["temperature"], config["alpha"])

            return jax.grad(loss, has_aux=True)(params)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
