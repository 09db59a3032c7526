"""Parts of a state that are left out where others start anew, in programs."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a method that replaces two of three fields": """
        import chex

        @chex.dataclass
        class Pole:
            angle: chex.Array
            speed: chex.Array
            steps: chex.Array

        class Env:
            def reset(self, key):
                angle, speed = jax.random.uniform(key, (2,), minval=-0.05, maxval=0.05)
                return Pole(angle=angle, speed=speed, steps=jnp.zeros((), jnp.int32))

            def step(self, key, pole, force):
                speed = pole.speed + 0.02 * (9.8 * jnp.sin(pole.angle) + force)
                later = pole.replace(angle=pole.angle + 0.02 * speed, speed=speed, steps=pole.steps + 1)
                done = (jnp.abs(later.angle) > 0.2) | (later.steps >= 200)
                again = self.reset(key)  #! uneven-reset
                angle, steps = jnp.where(done, again.angle, later.angle), jnp.where(done, again.steps, later.steps)
                return later.replace(angle=angle, steps=steps), done

        @jax.jit
        def run(gain, key):
            env, (first, later) = Env(), jax.random.split(key)

            def body(pole, key):
                return env.step(key, pole, -gain * pole.angle)

            return jax.lax.scan(body, env.reset(first), jax.random.split(later, 100))[1]
        """,
    "a clock that is not set back, in many environments": """
        def spawn(key):
            place, speed = jax.random.split(key)
            return jax.random.normal(place, (2,)), jax.random.normal(speed, (2,)), jnp.int32(0)

        def step(key, x, v, t, push):
            v = v + 0.1 * push
            x, t = x + 0.1 * v, t + 1
            over = (jnp.abs(x) > 3).any() | (t > 50)
            x_new, v_new, t_new = spawn(key)  #! uneven-reset
            return jnp.where(over, x_new, x), jnp.where(over, v_new, v), t, over

        def run(w, key):
            first, later = jax.random.split(key)
            state = jax.vmap(spawn)(jax.random.split(first, 8))

            def body(state, key):
                *state, over = jax.vmap(step)(jax.random.split(key, 8), *state, state[0] @ w)
                return tuple(state), over

            return jax.lax.scan(body, state, jax.random.split(later, 100))[1]
        """,
    "what belongs to no episode, and a momentum that is drawn alone": """
        class State(NamedTuple):
            x: jax.Array
            v: jax.Array
            goal: jax.Array
            episodes: jax.Array
            total: jax.Array

        def reset(key):
            x, v, goal = jax.random.normal(key, (3,))
            return State(x, v, goal, jnp.int32(0), jnp.float32(0))

        def step(key, state, push):
            v = state.v + 0.1 * push
            x = state.x + 0.1 * v
            done = jnp.abs(x - state.goal) < 0.1
            fresh = reset(jax.random.fold_in(key, state.episodes))
            x, v = jnp.where(done, fresh.x, x), jnp.where(done, fresh.v, v)
            return State(x, v, state.goal, state.episodes + done, state.total - x**2), done

        def run(key):
            first, later = jax.random.split(key)
            return jax.lax.scan(lambda s, k: step(k, s, s.goal - s.x), reset(first), jax.random.split(later, 50))

        def draw(key):
            place, speed = jax.random.split(key)
            return jax.random.normal(place), jax.random.normal(speed)

        def walk(key):
            def body(state, key):
                x, v = state
                x = x + 0.1 * v
                hit = jnp.abs(x) > 3
                again = draw(key)  #? uneven-reset
                return (x, jnp.where(hit, again[1], 0.9 * v)), x

            first, later = jax.random.split(key)
            return jax.lax.scan(body, draw(first), jax.random.split(later, 50))
        """,
    "a memory that outlasts the episodes of many environments": """
        def reset(key):
            return {"x": jax.random.normal(key, (2,)), "t": jnp.int32(0)}

        def env_step(key, s, a):
            x, t = s["x"] + 0.1 * a, s["t"] + 1
            done = (jnp.abs(x) > 2).any() | (t >= 50)
            s = jax.tree.map(lambda f, n: jnp.where(done, f, n), reset(key), {"x": x, "t": t})
            return s, done

        def policy(p, h, x):
            h = jnp.tanh(h @ p["u"] + x @ p["w"])
            return h, h @ p["o"]

        def rollout(p, key):
            first, later = jax.random.split(key)

            def body(carry, key):
                s, h = carry
                act, move = jax.random.split(key)
                h, a = jax.vmap(policy, in_axes=(None, 0, 0))(p, h, s["x"] + jax.random.normal(act, (8, 2)))  #! uneven-reset
                s, done = jax.vmap(env_step)(jax.random.split(move, 8), s, a)
                return (s, h), done

            return jax.lax.scan(body, (jax.vmap(reset)(jax.random.split(first, 8)), jnp.zeros((8, 4))), jax.random.split(later, 99))
        """,
    "a memory that is cleared": """
        def reset(key):
            return {"x": jax.random.normal(key, (2,)), "t": jnp.int32(0)}

        def env_step(key, s, a):
            x, t = s["x"] + 0.1 * a, s["t"] + 1
            done = (jnp.abs(x) > 2).any() | (t >= 50)
            s = jax.tree.map(lambda f, n: jnp.where(done, f, n), reset(key), {"x": x, "t": t})
            return s, done

        def policy(p, h, x):
            h = jnp.tanh(h @ p["u"] + x @ p["w"])
            return h, h @ p["o"]

        def rollout(p, key):
            first, later = jax.random.split(key)

            def body(carry, key):
                s, h = carry
                act, move = jax.random.split(key)
                h, a = jax.vmap(policy, in_axes=(None, 0, 0))(p, h, s["x"] + jax.random.normal(act, (8, 2)))
                s, done = jax.vmap(env_step)(jax.random.split(move, 8), s, a)
                return (s, jnp.where(done[:, None], 0.0, h)), done

            return jax.lax.scan(body, (jax.vmap(reset)(jax.random.split(first, 8)), jnp.zeros((8, 4))), jax.random.split(later, 99))
        """,
    "a memory with a gate, of one environment": """
        def start(key):
            return jax.random.uniform(key, (3,), minval=-1, maxval=1)

        def gru(w, h, x):
            both = jnp.concatenate([h, x])
            z, n = jax.nn.sigmoid(jnp.einsum("i,ij->j", both, w["z"])), jnp.tanh(jnp.einsum("i,ij->j", both, w["n"]))
            return (1 - z) * h + z * n  #! uneven-reset

        def simulate(w, key):
            def body(carry, key):
                x, h = carry
                h = gru(w, h, x)
                later = x + 0.05 * h[:3]
                over = jnp.linalg.norm(later) > 2
                return (jax.lax.cond(over, lambda: start(key), lambda: later), h), over

            first, later = jax.random.split(key)
            return jax.lax.scan(body, (start(first), jnp.zeros(5)), jax.random.split(later, 60))[1]
        """,
    "what is kept of one turn, or once in many": """
        def skipping(layers, x, middle):
            kept = jnp.zeros_like(x)
            for i, layer in enumerate(layers):
                x = x + layer(x)
                kept = jnp.where(i == middle, x, kept)
            return x - kept

        def followed(grads, params):
            def body(carry, grad):
                params, slow, t = carry
                params, t = params - 0.1 * grad, t + 1
                return (params, jnp.where(t % 50 == 0, params, slow), t), None

            return jax.lax.scan(body, (params, params, 0), grads)

        def largest(rewards):
            def body(carry, reward):
                total, told = carry
                total = total + reward  #? uneven-reset
                return (total, jnp.where(reward > 3.0, total, told)), None

            return jax.lax.scan(body, (0.0, 0.0), rewards)
        """,
    "what the turn chooses by the flag needs no other reset": """
        def run(w, x, keys):
            def body(carry, key):
                x, streak, total, over = carry  #! carry-never-read
                x = x + jnp.tanh(w * x + streak)
                over = jnp.abs(x) > 3.0
                streak = jnp.where(over, 0, streak + 1)
                total = jnp.where(over, total + 1, total)
                x = jnp.where(over, jax.random.normal(key), x)
                return (x, streak, total, over), x

            (_, _, total, _), path = jax.lax.scan(body, (x, 0, 0, False), keys)
            return path, total
        """,
    "the last turn up to which all held": """
        def length(rho):
            mask = (rho[0::2] + rho[1::2]) > 0.0
            alive = jnp.ones_like(mask[0])
            def body(state, ok):
                t, alive, longest = state
                following = alive & ok
                return (t + 1, following, jnp.where(following, t * jnp.ones_like(longest), longest)), following
            return jax.lax.scan(body, (0, alive, jnp.zeros_like(mask[0], dtype=int)), mask)[0][2]
        """,
    "what learns, averages, decodes or is told of the end": """
        def start(key):
            return jax.random.uniform(key, (3,), minval=-1, maxval=1)
        def learner(w, key):
            def loss(w, x, y):
                return jnp.mean((x @ w - y) ** 2)
            def body(c, k):
                x, w = c
                g = jax.grad(loss)(w, x, 1.0)
                w = w - 0.1 * g
                nxt = x + 0.1 * (x @ w)
                over = jnp.abs(nxt).max() > 2
                return (jnp.where(over, start(k), nxt), w), over
            return jax.lax.scan(body, (start(jax.random.fold_in(key, 0)), w), jax.random.split(jax.random.fold_in(key, 1), 9))
        def stats(w, key):
            def body(c, k):
                x, mean, n = c
                n = n + 1
                mean = mean + (x - mean) / n
                nxt = x + 0.1 * (x - mean) @ w
                over = jnp.abs(nxt).max() > 2
                return (jnp.where(over, start(k), nxt), mean, n), over
            return jax.lax.scan(body, (start(jax.random.fold_in(key, 0)), jnp.zeros(3), 0.0), jax.random.split(jax.random.fold_in(key, 1), 9))
        def decode(w, h, key):
            def body(c, _):
                tok, h, done = c
                h = jnp.tanh(h @ w["u"] + w["e"][tok])
                tok = jnp.argmax(h @ w["o"])
                tok = jnp.where(done, 0, tok)
                done = done | (tok == 1)
                return (tok, h, done), tok
            return jax.lax.scan(body, (0, h, False), None, length=9)
        def told(w, key):
            def body(c, k):
                x, h, over = c
                h = jnp.tanh(h @ w + x + over)
                nxt = x + 0.1 * h
                over = (jnp.abs(nxt).max() > 2).astype(float)
                return (jnp.where(over > 0, start(k), nxt), h, over), over
            return jax.lax.scan(body, (start(jax.random.fold_in(key, 0)), jnp.zeros(3), 0.0), jax.random.split(jax.random.fold_in(key, 1), 9))
        def whitening(w, key):
            def body(c, k):
                x, cov = c
                cov = 0.99 * cov + 0.01 * jnp.outer(x, x)
                nxt = x + 0.1 * jnp.linalg.solve(cov, x) @ w
                over = jnp.abs(nxt).max() > 2
                return (jnp.where(over, start(k), nxt), cov), over
            return jax.lax.scan(body, (start(jax.random.fold_in(key, 0)), jnp.eye(3)), jax.random.split(jax.random.fold_in(key, 1), 9))
        def lms(key):
            def body(c, k):
                x, w = c
                e = 1.0 - w @ x
                w = w + 0.1 * e * x
                nxt = x + 0.1 * w
                over = jnp.abs(nxt).max() > 2
                return (jnp.where(over, start(k), nxt), w), over
            return jax.lax.scan(body, (start(jax.random.fold_in(key, 0)), jnp.zeros(3)), jax.random.split(jax.random.fold_in(key, 1), 9))
        """,
    "a memory of observations that the loop carries": """
        def reset(key):
            return {"x": jax.random.normal(key, (2,)), "t": jnp.int32(0)}

        def observe(s):
            return jnp.concatenate([s["x"], s["x"] ** 2])

        def env_step(key, s, a):
            x, t = s["x"] + 0.1 * a, s["t"] + 1
            done = (jnp.abs(x) > 2).any() | (t >= 50)
            s = jax.tree.map(lambda f, n: jnp.where(done, f, n), reset(key), {"x": x, "t": t})
            return observe(s), s, -jnp.sum(x**2), done

        def policy(p, h, x, r):
            h = jnp.tanh(h @ p["u"] + x @ p["w"] + r)
            return h, h @ p["o"]

        def rollout(p, key):
            first, later = jax.random.split(key)
            start = jax.vmap(reset)(jax.random.split(first, 8))

            def body(carry, key):
                s, seen, r, h = carry
                h, a = jax.vmap(policy, in_axes=(None, 0, 0, 0))(p, h, seen, r)  #! uneven-reset
                seen, s, _, done = jax.vmap(env_step)(jax.random.split(key, 8), s, a)
                return (s, seen, r, h), done

            return jax.lax.scan(body, (start, jax.vmap(observe)(start), jnp.zeros(8), jnp.zeros((8, 4))), jax.random.split(later, 99))[1]
        """,
    "a memory that is told of rewards, and is meant to outlast episodes": """
        def reset(key):
            return {"x": jax.random.normal(key, (2,)), "t": jnp.int32(0)}

        def observe(s):
            return jnp.concatenate([s["x"], s["x"] ** 2])

        def env_step(key, s, a):
            x, t = s["x"] + 0.1 * a, s["t"] + 1
            done = (jnp.abs(x) > 2).any() | (t >= 50)
            s = jax.tree.map(lambda f, n: jnp.where(done, f, n), reset(key), {"x": x, "t": t})
            return observe(s), s, -jnp.sum(x**2), done

        def policy(p, h, x, r):
            h = jnp.tanh(h @ p["u"] + x @ p["w"] + r)
            return h, h @ p["o"]

        def rollout(p, key):
            first, later = jax.random.split(key)
            start = jax.vmap(reset)(jax.random.split(first, 8))

            def body(carry, key):
                s, seen, r, h = carry
                h, a = jax.vmap(policy, in_axes=(None, 0, 0, 0))(p, h, seen, r)
                seen, s, r, done = jax.vmap(env_step)(jax.random.split(key, 8), s, a)
                return (s, seen, r, h), done

            return jax.lax.scan(body, (start, jax.vmap(observe)(start), jnp.zeros(8), jnp.zeros((8, 4))), jax.random.split(later, 99))[1]
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
