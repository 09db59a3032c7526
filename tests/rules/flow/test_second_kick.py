"""Steps in two halves, of which the second one uses the force of the first."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "the force where the first half has begun": """
        def step(x, v, dt):
            a = -x / jnp.linalg.norm(x) ** 3
            half = v + dt / 2 * a
            x = x + dt * half
            return x, half + dt / 2 * a  #! stale-value

        def run(x, v, dt, n):
            return jax.lax.fori_loop(0, n, lambda i, s: step(*s, dt), (x, v))

        def walk(x, m, eps, steps):
            for _ in range(steps):
                g = jax.grad(lambda x: jnp.sum(x**4))(x)
                m = m - 0.5 * eps * g
                x = x + eps * m
                m = m - 0.5 * eps * g  #! stale-value
            return x, m

        def leapfrog(potential, q, p, eps):
            slope = jax.grad(potential)

            def one_step(carry, _):
                q, p = carry
                g = slope(q)
                p = p - 0.5 * eps * g
                q = q + eps * p
                p = p - 0.5 * eps * g  #! stale-value
                return (q, p), None

            return jax.lax.scan(one_step, (q, p), None, length=9)[0]
        """,
    "a force that is computed again where it was computed before": """
        def energy(x): return jnp.sum(x**4)
        def force(x): return -jax.grad(energy)(x)
        def step(x, v, dt):
            half = v + dt / 2 * force(x)
            newer = x + dt * half
            return newer, half + dt / 2 * force(x)  #! stale-value
        def run(x, v, dt, n):
            return jax.lax.fori_loop(0, n, lambda i, s: step(*s, dt), (x, v))
        def right(x, v, dt):
            half = v + dt / 2 * force(x)
            newer = x + dt * half
            return newer, half + dt / 2 * force(newer)
        def run_right(x, v, dt, n):
            return jax.lax.fori_loop(0, n, lambda i, s: right(*s, dt), (x, v))
        """,
    "a force that is computed again, that is the same everywhere, or that is added twice at one place": """
        def force(x): return -x
        def verlet(x, v, n):
            def body(c, _):
                x, v, a = c
                x = x + 0.1 * v + 0.005 * a
                new = force(x)
                v = v + 0.05 * (a + new)
                return (x, v, new), x
            return jax.lax.scan(body, (x, v, force(x)), None, length=n)
        def kdk(x, v, n):
            def body(c, _):
                x, v = c
                v = v + 0.05 * force(x)
                x = x + 0.1 * v
                v = v + 0.05 * force(x)
                return (x, v), x
            return jax.lax.scan(body, (x, v), None, length=n)
        def constant(x, v, n):
            g = jnp.array([0.0, -9.8])
            def body(c, _):
                x, v = c
                v = v + 0.05 * g
                x = x + 0.1 * v
                v = v + 0.05 * g
                return (x, v), x
            return jax.lax.scan(body, (x, v), None, length=n)
        def momentum(w, m, data):
            def body(c, d):
                w, m = c
                g = w - d
                m = m + 0.1 * g
                m = m + 0.1 * g
                w = w - m
                return (w, m), None
            return jax.lax.scan(body, (w, m), data)
        """,
    "a force that each turn hands to the next one": """
        def sampler(potential, start, inverse_mass, eps, count):
            slope = jax.value_and_grad(potential)

            def body(i, state):
                place, momentum, _, force = state
                momentum = momentum - 0.5 * eps * force / inverse_mass
                place = place + eps * momentum
                energy, following = slope(place)
                momentum = momentum - force / inverse_mass * (0.5 * eps)  #! stale-value
                return place, momentum, energy, following

            energy, force = slope(start)
            return jax.lax.fori_loop(0, count, body, (start, jnp.ones_like(start), energy, force))

        def orbit(pull, where, speed, hours, count):
            now = pull(where)
            for _ in range(count):
                speed = speed + now * hours / 2
                where = where + speed * hours
                after = -where / jnp.linalg.norm(where) ** 3
                speed = speed + hours / 2 * now  #? stale-value
                now = after
            return where, speed
        """,
    "the newer force, what also depends on the speed, and what is drawn": """
        def newer(potential, start, mass, eps, count):
            def body(i, state):
                place, momentum, force = state
                momentum = momentum - 0.5 * eps * force / mass
                place = place + eps * momentum
                following = jax.grad(potential)(place)
                momentum = momentum - 0.5 * eps * following / mass
                return place, momentum, following

            return jax.lax.fori_loop(0, count, body, (start, jnp.ones_like(start), jax.grad(potential)(start)))

        def held(place, speed, dt, count):
            def body(state, _):
                place, speed, push = state
                speed = speed + 0.5 * dt * push
                place = place + dt * speed
                speed = speed + 0.5 * dt * push
                push = -2.0 * place - 0.3 * speed
                return (place, speed, push), place

            return jax.lax.scan(body, (place, speed, -2.0 * place), length=count)

        def driven(place, speed, dt, keys):
            def body(state, key):
                place, speed, push = state
                speed = speed + 0.5 * dt * push
                place = place + dt * speed
                speed = speed + 0.5 * dt * push
                return (place, speed, jax.random.normal(key, place.shape)), place

            return jax.lax.scan(body, (place, speed, jnp.zeros_like(place)), keys)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert [one for one in said(program) if "stale-value" in one] == marked(program)
