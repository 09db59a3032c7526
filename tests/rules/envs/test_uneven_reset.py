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
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
