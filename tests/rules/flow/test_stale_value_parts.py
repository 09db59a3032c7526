"""What `stale-value` finds in programs that hold old values in containers and records, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "all else that is given back was made of the newer one": """
        class Wrapper:
            def __init__(self, env):
                self.env = env

            def step(self, state, action):
                next_state = self.env.step(state, action)  #? stale-value
                return next_state.obs, state, next_state.reward, next_state.done > 0.5, {}

        def cell(params, h, c, x):
            gates = x @ params
            new_c = c * jax.nn.sigmoid(gates) + gates  #? stale-value
            return jnp.tanh(new_c), c

        def measured(f, state, n):
            new_state = f(state)
            return new_state.reward, state, n.total

        def logged(f, state):
            new_state = f(state)
            print(new_state)
            return state, new_state.reward

        def left_out(f, batch):
            new_batch = f(batch)
            return new_batch.x, new_batch, new_batch.y
        """,
    "the optimizer of a state of which nothing is known": """
        import optax
        def step(state, loss_fn, batch):
            grads = jax.grad(loss_fn)(state.params, batch)
            updates, opt_state = state.tx.update(grads, state.opt_state, state.params)  #! stale-value
            return state.replace(params=optax.apply_updates(state.params, updates))

        def steps(agent, params, opt_state, batches):
            def body(carry, batch):
                params, opt_state = carry
                loss, grads = jax.value_and_grad(agent.loss)(params, batch)
                updates, new_opt_state = agent.opt.update(grads, opt_state, params)  #! stale-value
                return (optax.apply_updates(params, updates), opt_state), loss
            return jax.lax.scan(body, (params, opt_state), batches)

        def correct(agent, params, opt_state, batches):
            for batch in batches:
                loss, grads = jax.value_and_grad(agent.loss)(params, batch)
                updates, opt_state = agent.opt.update(grads, opt_state, params)
                params = optax.apply_updates(params, updates)
            return params, opt_state
        """,
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
    "something is added to a part of a state, and the part is handed on as it was": """
        class Log(NamedTuple):
            total: jax.Array
            length: jax.Array

        class Running:
            def __init__(self, width):
                self.mean = jnp.zeros(width)
                self.count = 0

            def __call__(self, x):
                n = self.count + x.shape[0]
                mean = self.mean + (x.mean(0) - self.mean) * x.shape[0] / n  #! stale-value
                self.count = n
                return x - self.mean

            def kept(self, x):
                n = self.count + x.shape[0]
                self.mean = self.mean + (x.mean(0) - self.mean) * x.shape[0] / n
                self.count = n
                return x - self.mean

        def fields(log, reward):
            total = log.total + reward
            length = log.length + 1  #! stale-value
            return Log(total, log.length)

        def in_turn(x, v, dt, n):
            def body(i, carry):
                x, v = carry
                faster = v - dt * x  #! stale-value
                return x + dt * v, v

            return jax.lax.fori_loop(0, n, body, (x, v))

        def looked_at(log, reward):
            longer = log.length + 1
            return Log(log.total + reward, log.length), longer > 9

        def constant(log, reward):
            length = log.length * 2 + 1
            return Log(log.total + reward, length)
        """,
    "a step of a filter that is left out": """
        class Belief(NamedTuple):
            mean: jax.Array
            cov: jax.Array

        def predict(b, a, q):
            return b._replace(mean=a @ b.mean, cov=a @ b.cov @ a.T + q)

        def correct(b, y):
            gain = b.cov @ jnp.linalg.inv(b.cov + 1.0)
            return b._replace(mean=b.mean + gain @ (y - b.mean), cov=b.cov - gain @ b.cov)

        def lost(b: Belief, a, q, ys):
            def body(b, y):
                ahead = predict(b, a, q)  #! stale-value
                b = correct(b, y)
                return b, b.mean

            return jax.lax.scan(body, b, ys)

        def filtered(b: Belief, a, q, ys):
            def body(b, y):
                b = correct(predict(b, a, q), y)
                return b, b.mean

            return jax.lax.scan(body, b, ys)
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
    "the same in a state and in what is observed of it": """
        class State(NamedTuple):
            board: jax.Array
            count: jax.Array

        class Seen(NamedTuple):
            board: jax.Array

        def step(state: State, action):
            board = state.board.at[action].set(1)
            return State(board, state.count + 1), Seen(board)

        def play(state: State, action):
            new_state, seen = jax.jit(step)(state, action)
            return new_state, jnp.array_equal(new_state.board, state.board)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
