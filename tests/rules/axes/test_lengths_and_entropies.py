"""What `reduction-over-wrong-axis` says of unit vectors and of entropies, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "one length for all vectors": """
        import optax

        def unit(x, eps=1e-8):
            return x / (jnp.linalg.norm(x) + eps)  #! reduction-over-wrong-axis

        def loss(images, texts):
            logits = unit(images) @ unit(texts).T / 0.1
            return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(16)).mean()

        def angles(a, b):
            a = a * jax.lax.rsqrt(jnp.sum(jnp.square(a)))  #! reduction-over-wrong-axis
            b = b / jnp.sqrt(jnp.sum(b * b))  #! reduction-over-wrong-axis
            return jnp.arccos(jnp.sum(a * b, axis=-1))

        def right(a, b, v, w):
            whole = jnp.sum(a / jnp.linalg.norm(a) * (b / jnp.linalg.norm(b)))
            scaled = jax.nn.softmax(a / jnp.linalg.norm(a) @ w)
            rows = jax.vmap(lambda x: x / jnp.linalg.norm(x))
            return whole, scaled, v / jnp.linalg.norm(v), jnp.argmax(rows(a) @ rows(b).T, axis=1)

        loss(jnp.ones((16, 8)), jnp.ones((16, 8)))
        angles(jnp.ones((16, 8)), jnp.ones((16, 8)))
        right(jnp.ones((16, 8)), jnp.ones((16, 8)), jnp.ones(8), jnp.ones((8, 4)))
        """,
    "entropies of two distributions": """
        def entropy(logits):
            p = jax.nn.softmax(logits, axis=-1)
            return -(p * jax.nn.log_softmax(logits, axis=1)).sum(-1).mean()  #! reduction-over-wrong-axis

        def divergence(teacher, student):
            p, log_p = jax.nn.softmax(teacher), jax.nn.log_softmax(teacher)
            log_q = student - jax.nn.logsumexp(student, axis=0, keepdims=True)  #! reduction-over-wrong-axis
            return jnp.sum(p * (log_p - log_q), axis=-1)

        class Head:
            def probabilities(self, logits):
                return jnp.exp(logits) / jnp.exp(logits).sum(axis=0, keepdims=True)

            def cost(self, logits, target):
                log_q = jax.nn.log_softmax(logits, axis=1)  #! reduction-over-wrong-axis
                return -(self.probabilities(target) * log_q).mean()

        def right(logits, prior):
            p = jax.nn.softmax(logits, axis=-1)
            both = jax.nn.softmax(logits, axis=0) * p
            return both, (p * (jax.nn.log_softmax(logits) - jax.nn.log_softmax(prior, axis=0))).sum(-1)

        entropy(jnp.ones((4, 9, 5)))
        divergence(jnp.ones((8, 5)), jnp.ones((8, 5)))
        Head().cost(jnp.ones((8, 5)), jnp.ones((8, 5)))
        right(jnp.ones((8, 5)), jnp.ones(5))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
