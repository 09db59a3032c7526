"""Masks tell apart what a softmax weighs against each other, whatever applies them."""

import pytest
from rules.programs import marked, said

_MODULE = """
        class Block(nn.Module):
            @nn.compact
            def __call__(self, x, pad):
                q, k, v = (nn.Dense(8)(x) for _ in range(3))
                logits = q @ jnp.swapaxes(k, -1, -2)
                hidden = jnp.broadcast_to({mask}, logits.shape)
                logits = jnp.where(hidden, jnp.finfo(logits.dtype).min, logits){mark}
                return nn.softmax(logits, axis=-1) @ v

        x = random.normal(random.key(0), (4, 7, 8))
        pad = jnp.arange(7) >= jnp.array([[3], [7], [5], [2]])
        Block().init_with_output(random.key(1), x, pad)
"""
_ONE = """
        class Pool(eqx.Module):
            score: eqx.nn.Linear

            def attend(self, frames, bias):
                pairs = jax.vmap(self.score)(frames) @ frames.T
                return jax.nn.softmax(pairs + bias, axis={axis}){mark}

            def __call__(self, frames, length):
                bias = jnp.where(jnp.arange(frames.shape[0]) < length, 0.0, -jnp.inf)
                return self.attend(frames, bias[None, :]){turned} @ frames

        pool = Pool(eqx.nn.Linear(6, 6, key=random.key(0)))
        jax.vmap(pool)(random.normal(random.key(1), (5, 9, 6)), jnp.array([2, 9, 4, 5, 8]))
"""
_WRONG = "  #! mask-along-other-axis"
PROGRAMS = {
    "padding along the queries, in a module": _MODULE.format(mask="pad[..., None]", mark=_WRONG),
    "padding along the keys, in a module": _MODULE.format(mask="pad[:, None, :]", mark=""),
    "a bias for one element of a batch": _ONE.format(axis=0, turned=".T", mark=_WRONG),
    "a bias along the axis of the softmax": _ONE.format(axis=-1, turned="", mark=""),
    "another mask has the axis": """
        def attend(scores, valid):
            scores = jnp.where(jnp.tril(jnp.ones((9, 9), bool)), scores, -1e30)
            return jax.nn.softmax(jnp.where(valid[:, None], scores, -1e30), axis=-1)

        attend(jnp.ones((9, 9)), jnp.arange(9) < 7)
        """,
    "both sides at once": """
        def attend(scores, valid):
            both = valid[:, :, None] & valid[:, None, :]
            return jax.nn.softmax(jnp.where(both, scores, -1e9), axis=-1)

        attend(jnp.ones((4, 9, 9)), jnp.ones((4, 9)) > 0)
        """,
    "actions that are not allowed": """
        def policy(logits, allowed):
            return jax.nn.log_softmax(jnp.where(jnp.repeat(allowed, 2, axis=-1), logits, -1e9))

        policy(jnp.ones((9, 6)), jnp.ones((9, 3)) > 0)
        """,
    "the largest is taken off": """
        def stable(x):
            return jax.nn.softmax(x - jnp.max(x, axis=-1, keepdims=True), axis=-1)

        stable(jnp.ones((9, 6)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert [one for one in said(program) if one[1] == "mask-along-other-axis"] == marked(program)
