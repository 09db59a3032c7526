"""What `unchanged-carry` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

NETS = """
        def net(weights, stats, x):
            return (x - stats) @ weights

"""

PROGRAMS = {
    "a copy that is left behind in a tuple": """
        def train(w, s, xs):
            def body(carry, x):
                w, s, slow_w, slow_s = carry
                error = net(w, s, x) - net(slow_w, slow_s, x)
                s = 0.9 * s + 0.1 * x.mean(0)
                w = w - 0.1 * jnp.outer(x.mean(0), error.mean(0))
                slow_w = 0.99 * slow_w + 0.01 * w
                return (w, s, slow_w, slow_s), error.sum()  #! unchanged-carry

            return jax.lax.scan(body, (w, s, w, s), xs)
        """,
    "a copy that is left behind in a record": """
        class State(NamedTuple):
            w: jax.Array
            s: jax.Array
            slow_w: jax.Array
            slow_s: jax.Array

        def step(state, x):
            error = net(state.w, state.s, x) - net(state.slow_w, state.slow_s, x)
            w = state.w - 0.1 * jnp.outer(x.mean(0), error.mean(0))
            return State(  #! unchanged-carry
                w, 0.9 * state.s + 0.1 * x.mean(0), 0.99 * state.slow_w + 0.01 * w, state.slow_s
            )

        def train(w, s, xs):
            state = State(w, s, w, s)
            for x in xs:
                state = step(state, x)
            return state
        """,
    "all four are renewed": """
        def train(w, s, xs):
            def body(carry, x):
                w, s, slow_w, slow_s = carry
                error = net(w, s, x) - net(slow_w, slow_s, x)
                s = 0.9 * s + 0.1 * x.mean(0)
                w = w - 0.1 * jnp.outer(x.mean(0), error.mean(0))
                return (w, s, 0.99 * slow_w + 0.01 * w, s), error.sum()

            return jax.lax.scan(body, (w, s, w, s), xs)
        """,
    "the observation beside the state": """
        def rollout(reset, step, policy, key):
            obs, state = reset(key)

            def body(carry, _):
                obs, state = carry
                seen, state, reward = step(state, policy(obs))  #! unchanged-carry
                return (obs, state), reward

            return jax.lax.scan(body, (obs, state), None, length=9)

        def in_python(env, policy, key):
            obs, state = env.reset(key)
            total = 0.0
            for _ in range(9):
                seen, state, reward = env.step(state, policy(obs))  #! unchanged-carry
                total = total + reward
            return total
        """,
    "an observation that is handed on, or not wanted": """
        def rollout(reset, step, policy, key):
            obs, state = reset(key)

            def body(carry, _):
                obs, state = carry
                obs, state, reward = step(state, policy(obs))
                return (obs, state), reward

            return jax.lax.scan(body, (obs, state), None, length=9)

        def towards(reset, step, policy, key):
            goal, state = reset(key)

            def body(carry, _):
                goal, state = carry
                _, state, reward = step(state, policy(goal))
                return (goal, state), reward

            return jax.lax.scan(body, (goal, state), None, length=9)
        """,
    "a frozen reference": """
        def train(w, s, xs):
            def body(carry, x):
                w, s, first_w, first_s = carry
                error = net(w, s, x) - net(first_w, first_s, x)
                s = 0.9 * s + 0.1 * x.mean(0)
                w = w - 0.1 * jnp.outer(x.mean(0), error.mean(0))
                return (w, s, first_w, first_s), error.sum()

            return jax.lax.scan(body, (w, s, w, s), xs)
        """,
    "statistics that are frozen everywhere": """
        def train(w, s, xs):
            def body(carry, x):
                w, s, slow_w, slow_s = carry
                error = net(w, s, x) - net(slow_w, slow_s, x)
                w = w - 0.1 * jnp.outer(x.mean(0), error.mean(0))
                return (w, s, 0.99 * slow_w + 0.01 * w, slow_s), error.sum()

            return jax.lax.scan(body, (w, s, w, s), xs)
        """,
    "an anchor of one network beside the target of another": """
        def train(policy, value, xs):
            def body(carry, x):
                policy, value, anchor, target = carry
                gap = net(policy, 0.0, x) - net(anchor, 0.0, x)
                error = net(value, 1.0, x) - net(target, 1.0, x)
                policy = policy - 0.1 * jnp.outer(x.mean(0), gap.mean(0))
                value = value - 0.1 * jnp.outer(x.mean(0), error.mean(0))
                return (policy, value, anchor, 0.99 * target + 0.01 * value), error.sum()

            return jax.lax.scan(body, (policy, value, policy, value), xs)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    whole = NETS + program
    assert said(whole) == marked(whole)
