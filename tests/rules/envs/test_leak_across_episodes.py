"""What `leak-across-episodes` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a list of the flags before each step": """
        def rollout(env_step, policy, params, obs, done, keys):
            obss, dones, rews, vals = [], [], [], []
            for key in keys:
                obss.append(obs)
                dones.append(done)  #! leak-across-episodes
                action, value = policy(params, obs, key)
                vals.append(value)
                obs, reward, done = env_step(obs, action)
                rews.append(reward)
            return jnp.stack(obss), jnp.stack(dones), jnp.stack(rews), jnp.stack(vals), obs, done

        def gae(rewards, values, dones, last_value, gamma=0.99, lam=0.95):
            adv = jnp.zeros_like(rewards)
            last = 0.0
            for t in reversed(range(rewards.shape[0])):
                nxt = last_value if t == rewards.shape[0] - 1 else values[t + 1]
                alive = 1.0 - dones[t]
                delta = rewards[t] + gamma * nxt * alive - values[t]
                last = delta + gamma * lam * alive * last
                adv = adv.at[t].set(last)
            return adv

        def update(env_step, policy, params, obs, done, keys):
            obss, dones, rews, vals, obs, done = rollout(env_step, policy, params, obs, done, keys)
            _, last_value = policy(params, obs, keys[0])
            return gae(rews, vals, dones, last_value)
        """,
    "a list of the flags before each step, read one later": """
        def rollout(env_step, policy, params, obs, done, keys):
            obss, dones, rews, vals = [], [], [], []
            for key in keys:
                obss.append(obs)
                dones.append(done)
                action, value = policy(params, obs, key)
                vals.append(value)
                obs, reward, done = env_step(obs, action)
                rews.append(reward)
            return jnp.stack(obss), jnp.stack(dones), jnp.stack(rews), jnp.stack(vals), obs, done

        def gae(rewards, values, dones, last_value, last_done, gamma=0.99, lam=0.95):
            adv = jnp.zeros_like(rewards)
            last = 0.0
            for t in reversed(range(rewards.shape[0])):
                if t == rewards.shape[0] - 1:
                    alive, nxt = 1.0 - last_done, last_value
                else:
                    alive, nxt = 1.0 - dones[t + 1], values[t + 1]
                delta = rewards[t] + gamma * nxt * alive - values[t]
                last = delta + gamma * lam * alive * last
                adv = adv.at[t].set(last)
            return adv

        def update(env_step, policy, params, obs, done, keys):
            obss, dones, rews, vals, obs, done = rollout(env_step, policy, params, obs, done, keys)
            _, last_value = policy(params, obs, keys[0])
            return gae(rews, vals, dones, last_value, done)
        """,
    "the flag of the step after, handed on by a carry": """
        class Step(NamedTuple):
            reward: jax.Array
            value: jax.Array
            done: jax.Array

        def collect(env, net, params, state, obs, key, n):
            def turn(carry, key):
                state, obs = carry
                ka, ke = jax.random.split(key)
                logits, value = net.apply(params, obs)
                action = jax.random.categorical(ka, logits)
                obs, state, reward, done, _ = env.step(ke, state, action)
                return (state, obs), Step(reward, value, done)
            (state, obs), steps = jax.lax.scan(turn, (state, obs), jax.random.split(key, n))
            _, last = net.apply(params, obs)
            return state, obs, steps, last

        def advantages(steps, last):
            def back(carry, step):
                adv, nxt, nxt_done = carry
                keep = 0.99 * (1.0 - nxt_done)  #! leak-across-episodes
                delta = step.reward + keep * nxt - step.value
                adv = delta + keep * 0.95 * adv
                return (adv, step.value, step.done), adv
            zero = jnp.zeros_like(last)
            _, adv = jax.lax.scan(back, (zero, last, zero), steps, reverse=True)
            return adv

        def learn(env, net, params, state, obs, key):
            state, obs, steps, last = collect(env, net, params, state, obs, key, 128)
            return advantages(steps, last)
        """,
    "the flag of the step itself": """
        class Step(NamedTuple):
            reward: jax.Array
            value: jax.Array
            done: jax.Array

        def collect(env, net, params, state, obs, key, n):
            def turn(carry, key):
                state, obs = carry
                ka, ke = jax.random.split(key)
                logits, value = net.apply(params, obs)
                action = jax.random.categorical(ka, logits)
                obs, state, reward, done, _ = env.step(ke, state, action)
                return (state, obs), Step(reward, value, done)
            (state, obs), steps = jax.lax.scan(turn, (state, obs), jax.random.split(key, n))
            _, last = net.apply(params, obs)
            return state, obs, steps, last

        def advantages(steps, last):
            def back(carry, step):
                adv, nxt = carry
                keep = 0.99 * (1.0 - step.done)
                delta = step.reward + keep * nxt - step.value
                adv = delta + keep * 0.95 * adv
                return (adv, step.value), adv
            zero = jnp.zeros_like(last)
            _, adv = jax.lax.scan(back, (zero, last), steps, reverse=True)
            return adv

        def learn(env, net, params, state, obs, key):
            state, obs, steps, last = collect(env, net, params, state, obs, key, 128)
            return advantages(steps, last)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
