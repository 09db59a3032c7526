"""What `stale-value` finds in programs that hold old values in containers and records, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a layer's new state is lost, and the list of the old ones is handed on": """
        def cell(p, h, x):
            z = jax.nn.sigmoid(x @ p["wz"] + h @ p["uz"])
            h = (1 - z) * jnp.tanh(x @ p["wn"]) + z * h
            return h @ p["out"], h

        @jax.jit
        def by_name(params, x, hidden):
            for name, h in hidden.items():
                x, h = cell(params[name], h, x)  #! stale-value
            return x, hidden

        @jax.jit
        def in_order(params, x, hidden):
            for p, h in zip(params, hidden):
                x, h = cell(p, h, x)  #! stale-value
            return x, hidden

        def of_a_field(state, i, v):
            table = state.table.at[i].set(v)  #! stale-value
            return state
        """,
    "the state of a recurrent cell": """
        class Decoder(nn.Module):
            @nn.compact
            def __call__(self, carry, x):
                state, last = carry
                newer, y = nn.LSTMCell(8)(state, x)  #! stale-value
                logits = nn.Dense(3)(y + last)
                return (state, logits), logits

        class Looks(eqx.Module):
            cell: eqx.nn.GRUCell

            def __call__(self, xs, h):
                def body(h, x):
                    newer = self.cell(x, h)  #! stale-value
                    return h, newer.sum()

                return jax.lax.scan(body, h, xs)

        class Moves(eqx.Module):
            cell: eqx.nn.LSTMCell

            def __call__(self, xs, h, c):
                def body(state, x):
                    h, c = self.cell(x, state)
                    return (h, c), h.sum()

                return jax.lax.scan(body, (h, c), xs)

        def unrolled(xs):
            core = hk.LSTM(32)
            state = core.initial_state(4)
            outputs = []
            for x in xs:
                y, state = core(x, state)
                outputs.append(y)
            return jnp.stack(outputs), state

        def one_step(x, state):
            y, _ = hk.GRU(32)(x, state)
            return y
        """,
    "the new states are kept, or the old ones are not handed on": """
        def cell(p, h, x):
            z = jax.nn.sigmoid(x @ p["wz"] + h @ p["uz"])
            h = (1 - z) * jnp.tanh(x @ p["wn"]) + z * h
            return h @ p["out"], h

        @jax.jit
        def kept(params, x, hidden):
            new = []
            for p, h in zip(params, hidden):
                x, h = cell(p, h, x)
                new.append(h)
            return x, new

        @jax.jit
        def in_place(params, x, hidden):
            for i, h in enumerate(hidden):
                x, h = cell(params[i], h, x)
                hidden[i] = h
            return x, hidden

        @jax.jit
        def score(params, x, hidden):
            for p, h in zip(params, hidden):
                x, _ = cell(p, h, x)
            return x.sum()

        def beside(state, i, v):
            table = state.table.at[i].set(v)
            return state, table.sum()
        """,
    "statistics of a form that only their fields tell": """
        class Norm(NamedTuple):
            mean: jax.Array
            var: jax.Array
            count: jax.Array

        class Summary(NamedTuple):
            low: jax.Array
            high: jax.Array

        def absorb(n, x):
            total = n.count + x.shape[0]
            mean = n.mean + (x.mean(0) - n.mean) * x.shape[0] / total
            return Norm(mean, jnp.maximum(n.var, x.var(0)), total)

        def band(n):
            return Summary(n.mean - n.var, n.mean + n.var)

        def lost(env_step, policy, state, norm, obs):
            def body(carry, _):
                state, norm, obs = carry
                action = policy((obs - norm.mean) / jnp.sqrt(norm.var + 1e-8))
                state, obs, reward = env_step(state, action)
                newer = absorb(norm, obs)  #! stale-value
                return (state, norm, obs), reward

            return jax.lax.scan(body, (state, norm, obs), None, length=9)

        def frozen(env_step, policy, state, norm, obs):
            def body(carry, _):
                state, norm, obs = carry
                action = policy((obs - norm.mean) / jnp.sqrt(norm.var + 1e-8))
                state, obs, reward = env_step(state, action)
                limits = band(norm)
                return (state, norm, obs), reward

            return jax.lax.scan(body, (state, norm, obs), None, length=9)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
