"""What `malformed-entropy` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "the entropy of logits with the logarithm of their sum, and without": """
        def entropy(logits):
            probs = jax.nn.softmax(logits, axis=-1)
            return -(probs * logits).sum(axis=-1) + jax.scipy.special.logsumexp(logits, axis=-1)

        def wrong(logits):
            probs = jax.nn.softmax(logits, axis=-1)
            return -(probs * logits).sum(axis=-1)  #! malformed-entropy

        def normalised(logits):
            logits = logits - jax.scipy.special.logsumexp(logits, axis=-1, keepdims=True)
            logits = logits.clip(min=jnp.finfo(logits.dtype).min)
            return -(logits * jax.nn.softmax(logits)).sum(-1)

        def main(x):
            return entropy(x), normalised(x), wrong(x)
        """
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
