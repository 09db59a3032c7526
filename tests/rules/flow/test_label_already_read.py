"""The label of a step is not what the model has read in that step."""

import pytest
from rules.programs import marked, said

_DECODER = """
        class Decoder(nn.Module):
            @nn.compact
            def __call__(self, ids):
                x = nn.Embed(11, 8)(ids) + self.param("place", nn.initializers.zeros, (7, 8))[: ids.shape[1]]
                q, k, v = nn.Dense(8)(x), nn.Dense(8)(x), nn.Dense(8)(x)
                pairs = q @ jnp.swapaxes(k, 1, 2)
                seen = jnp.tril(jnp.ones((ids.shape[1], ids.shape[1]), bool))
                x = x + nn.softmax(jnp.where(seen, pairs, -1e9)) @ v
                return nn.Dense(11)(nn.LayerNorm()(x))

        model = Decoder()

        def loss(params, ids):
            logits = model.apply(params, {read})
            return optax.softmax_cross_entropy_with_integer_labels(logits, {asked}).mean(){mark}

        ids = random.randint(random.key(1), (4, 7), 0, 11)
        jax.grad(loss)(model.init(random.key(0), ids), ids)
"""
_RECURRENT = """
        def cross_entropy(logits, ids):
            flat = logits.reshape(-1, 11)
            return optax.softmax_cross_entropy_with_integer_labels(flat, ids.reshape(-1)).mean(){mark}

        def run(params, ids):
            def turn(h, token):
                h = jnp.tanh(jax.nn.one_hot(token, 11) @ params["in"] + h @ params["on"])
                return h, jax.nn.relu(h) @ params["out"]

            _, logits = lax.scan(turn, jnp.zeros((ids.shape[0], 8)), ids.T)
            return jnp.swapaxes(logits, 0, 1)

        def loss(params, ids):
            return cross_entropy(run(params, {read}), {asked})

        params = {{"in": jnp.ones((11, 8)), "on": jnp.eye(8), "out": jnp.ones((8, 11))}}
        jax.grad(loss)(params, random.randint(random.key(1), (4, 7), 0, 11))
"""
_WRONG = "  #! label-already-read"
PROGRAMS = {
    "attention that sees no later steps, at the same step": _DECODER.format(read="ids", asked="ids", mark=_WRONG),
    "attention that sees no later steps, at the next one": _DECODER.format(
        read="ids[:, :-1]", asked="ids[:, 1:]", mark=""
    ),
    "a scan in a helper, at the same step": _RECURRENT.format(read="ids", asked="ids", mark=_WRONG),
    "a scan in a helper, at the next one": _RECURRENT.format(read="ids[:, :-1]", asked="ids[:, 1:]", mark=""),
    "the last step is left out on both sides": _RECURRENT.format(read="ids[:, :-1]", asked="ids[:, :-1]", mark=_WRONG),
    "what was read is shifted": _RECURRENT.format(read="jnp.pad(ids, ((0, 0), (1, 0)))[:, :-1]", asked="ids", mark=""),
    "all steps are seen": _DECODER.replace("jnp.where(seen, pairs, -1e9)", "pairs").format(
        read="ids", asked="ids", mark=""
    ),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert [one for one in said(program) if one[1] == "label-already-read"] == marked(program)
