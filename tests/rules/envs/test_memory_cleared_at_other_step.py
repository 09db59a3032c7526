"""What `memory-cleared-at-other-step` finds where one module runs in the rollout and in the loss."""

import pytest
from rules.programs import marked, said

PROGRAM = """
        class Core(nn.Module):
            @nn.compact
            def __call__(self, h, inputs):
                obs, first = inputs
                h = jnp.where(first[:, None], jnp.zeros_like(h), h)
                h, _ = nn.GRUCell(16)(h, obs)
                return h, nn.Dense(2)(h)

        class Policy(nn.Module):
            @nn.compact
            def __call__(self, h, obs, first):
                core = nn.scan(Core, variable_broadcast="params", split_rngs={{"params": False}})
                return core()(h, (obs, first))

        def update(env, params, h, obs, done, keys):
            net = Policy()

            def act(carry, key):
                obs, done, h = carry
                h, logits = net.apply(params, h, obs[None], done[None])
                action = jax.random.categorical(key, logits[0])
                later, reward, ended = env(obs, action)
                return (later, ended, h), (obs, action, {flag}){recorded}

            _, (seen, actions, flags) = jax.lax.scan(act, (obs, done, h), keys)

            def loss(params):
                _, logits = net.apply(params, h, seen, flags){mark}
                logs = jax.nn.log_softmax(logits)
                return -jnp.take_along_axis(logs, actions[..., None], axis=-1).mean()

            return jax.grad(loss)(params)
        """


KEPT = PROGRAM.format(flag="done", mark="", recorded="")
SHIFTED = PROGRAM.format(flag="ended", mark="  #! memory-cleared-at-other-step", recorded="  #! rerun-on-other-step")


@pytest.mark.parametrize("program", [KEPT, SHIFTED], ids=["the flag before the step", "the flag after it"])
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
