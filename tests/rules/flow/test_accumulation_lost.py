"""What loops of JAX add up reaches the end, or only the last turn is asked for."""

import pytest
from rules.programs import marked, said

_PARTS = """
        def part_loss(model, x, y):
            return jnp.mean((jax.vmap(model)(x)[:, 0] - y) ** 2)

        def merge(sums, new):
            return {merged}

        def accumulated(model, xs, ys):
            def body(i, sums):
                value, grads = eqx.filter_value_and_grad(part_loss)(model, xs[i], ys[i])
                return merge(sums, dict(value=value, grads=grads))

            start = dict(value=0.0, grads=jax.tree.map(jnp.zeros_like, eqx.filter(model, eqx.is_array)))
            sums = lax.fori_loop(0, xs.shape[0], body, start)
            return jax.tree.map(lambda s: s / xs.shape[0], sums["grads"]), sums["value"] / xs.shape[0]

        accumulated(eqx.nn.Linear(3, 1, key=random.key(0)), jnp.ones((4, 8, 3)), jnp.ones((4, 8)))
"""
_METRICS = """
        EVALS = 6

        def evaluate(w, keys):
            def episode(carry, key):
                best, mean = carry
                score = jnp.sum(w * random.normal(key, (3,)))
                return (jnp.maximum(best, score), {mean}), None

            (best, mean), _ = lax.scan(episode, (jnp.zeros(()), jnp.zeros(())), keys, length=EVALS)
            return best, mean / EVALS

        evaluate(jnp.ones(3), random.split(random.key(0), EVALS))
"""
PROGRAMS = {
    "a helper gives back what is new alone": _PARTS.format(merged="new").replace(
        "xs[i], ys[i])", "xs[i], ys[i])  #! accumulation-lost"
    ),
    "a helper adds": _PARTS.format(merged="jax.tree.map(jnp.add, sums, new)"),
    "one of two is not added up": _METRICS.format(mean="score").replace(
        "random.normal(key, (3,)))", "random.normal(key, (3,)))  #! accumulation-lost"
    ),
    "both go on from what was there": _METRICS.format(mean="mean + score"),
    "the last position is a share of the way": """
        def walk(xs):
            def step(carry, x):
                last, length = carry
                return (x, length + jnp.abs(x - last)), None

            (last, length), _ = lax.scan(step, (jnp.zeros(()), jnp.zeros(())), xs, length=5)
            return last / 5, length / 5
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
