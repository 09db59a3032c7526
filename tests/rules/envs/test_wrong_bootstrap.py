"""What `wrong-bootstrap` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "its own value": """
        def td_lambda(r, v, d, gamma, lam):
            # v has T + 1 entries, r and d have T
            delta = r + gamma * v[:-1] * (1 - d) - v[:-1]  #! wrong-bootstrap
            def body(acc, x):
                delta, d = x
                acc = delta + gamma * lam * (1 - d) * acc
                return acc, acc
            _, adv = jax.lax.scan(body, jnp.zeros_like(r[0]), (delta, d), reverse=True)
            return adv
        """,
    "the value behind it": """
        def td_lambda(r, v, d, gamma, lam):
            # v has T + 1 entries, r and d have T
            delta = r + gamma * v[1:] * (1 - d) - v[:-1]
            def body(acc, x):
                delta, d = x
                acc = delta + gamma * lam * (1 - d) * acc
                return acc, acc
            _, adv = jax.lax.scan(body, jnp.zeros_like(r[0]), (delta, d), reverse=True)
            return adv
        """,
    "the last observation that was recorded": """
        def update(env, net, params, obs, state, keys):
            def body(carry, key):
                obs, state = carry
                pi, value = net.apply(params, obs)
                action = pi.sample(seed=key)
                nobs, state, reward, done, _ = env.step(key, state, action)
                return (nobs, state), (obs, action, reward, done, value)
            (last_obs, state), (obss, acts, rews, dones, vals) = jax.lax.scan(body, (obs, state), keys)
            _, last_value = net.apply(params, obss[-1])  #! wrong-bootstrap
            def back(carry, x):
                gae, nv = carry
                r, d, v = x
                delta = r + 0.99 * nv * (1 - d) - v
                gae = delta + 0.99 * 0.95 * (1 - d) * gae
                return (gae, v), gae
            _, adv = jax.lax.scan(back, (jnp.zeros_like(last_value), last_value), (rews, dones, vals), reverse=True)
            return adv, last_obs
        """,
    "the observation after the last step": """
        def update(env, net, params, obs, state, keys):
            def body(carry, key):
                obs, state = carry
                pi, value = net.apply(params, obs)
                action = pi.sample(seed=key)
                nobs, state, reward, done, _ = env.step(key, state, action)
                return (nobs, state), (obs, action, reward, done, value)
            (last_obs, state), (obss, acts, rews, dones, vals) = jax.lax.scan(body, (obs, state), keys)
            _, last_value = net.apply(params, last_obs)
            def back(carry, x):
                gae, nv = carry
                r, d, v = x
                delta = r + 0.99 * nv * (1 - d) - v
                gae = delta + 0.99 * 0.95 * (1 - d) * gae
                return (gae, v), gae
            _, adv = jax.lax.scan(back, (jnp.zeros_like(last_value), last_value), (rews, dones, vals), reverse=True)
            return adv, last_obs
        """,
    "a time limit that the mask does not know": """
        def env_step(key, x, t, a):
            x2 = x + 0.1 * a
            t2 = t + 1
            fell = jnp.abs(x2) > 1.0
            late = t2 >= 200
            ended = fell | late
            start = 0.05 * jax.random.normal(key, x.shape)
            return jnp.where(ended, start, x2), jnp.where(ended, 0, t2), -x2 ** 2, fell, late

        def update(net, params, x, t, keys):
            def turn(carry, key):
                x, t = carry
                ka, ke = jax.random.split(key)
                mu, v = net(params, x)
                a = mu + jax.random.normal(ka, mu.shape)
                x2, t2, r, fell, late = env_step(ke, x, t, a)
                return (x2, t2), dict(x=x, a=a, r=r, fell=fell, v=v)
            (x, t), traj = jax.lax.scan(turn, (x, t), keys)
            _, last = net(params, x)
            def back(c, s):
                adv, nv = c
                m = 1.0 - s["fell"]
                adv = s["r"] + 0.99 * nv * m - s["v"] + 0.99 * 0.95 * m * adv  #! wrong-bootstrap
                return (adv, s["v"]), adv
            return jax.lax.scan(back, (jnp.zeros_like(last), last), traj, reverse=True)[1], x, t
        """,
    "all ends in the mask": """
        def env_step(key, x, t, a):
            x2 = x + 0.1 * a
            t2 = t + 1
            fell = jnp.abs(x2) > 1.0
            late = t2 >= 200
            ended = fell | late
            start = 0.05 * jax.random.normal(key, x.shape)
            return jnp.where(ended, start, x2), jnp.where(ended, 0, t2), -x2 ** 2, fell, late

        def update(net, params, x, t, keys):
            def turn(carry, key):
                x, t = carry
                ka, ke = jax.random.split(key)
                mu, v = net(params, x)
                a = mu + jax.random.normal(ka, mu.shape)
                x2, t2, r, fell, late = env_step(ke, x, t, a)
                return (x2, t2), dict(x=x, a=a, r=r, fell=fell | late, v=v)
            (x, t), traj = jax.lax.scan(turn, (x, t), keys)
            _, last = net(params, x)
            def back(c, s):
                adv, nv = c
                m = 1.0 - s["fell"]
                adv = s["r"] + 0.99 * nv * m - s["v"] + 0.99 * 0.95 * m * adv
                return (adv, s["v"]), adv
            return jax.lax.scan(back, (jnp.zeros_like(last), last), traj, reverse=True)[1], x, t
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
