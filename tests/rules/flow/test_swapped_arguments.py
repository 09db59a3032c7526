"""What `swapped-arguments` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "both orders, one of them in a branch": """
        def bound(misses, alarms):
            return jnp.log(1 - misses) - jnp.log(alarms)

        def both(counts, one_sided):
            misses, alarms = counts[0] / 3, counts[1] / 4
            found = bound(misses, alarms)
            if not one_sided:
                found = jnp.maximum(found, bound(alarms, misses))
            return found

        def wrong(counts):
            misses, alarms = counts[0] / 3, counts[1] / 4
            return bound(alarms, misses)  #! swapped-arguments
        """,
    "parameters for gradients in a step of an optimizer": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(p, s, g)  #! swapped-arguments
            n = optax.apply_updates(p, u)
            return n, t
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "parameters for the state of an optimizer": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, p, s)  #! swapped-arguments
            n = optax.apply_updates(p, u)
            return n, t  #! updates-as-parameters
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "parameters for gradients, gradients for the state": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(p, g, s)  #! swapped-arguments
            n = optax.apply_updates(p, u)
            return n, t  #! updates-as-parameters
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "a method of a scan, a map, a record and entries, each in another order": """
        from typing import NamedTuple

        class Step(NamedTuple):
            reward: jax.Array
            discount: jax.Array

        class Agent:
            def update(self, total, item):
                action, obs = item  #! swapped-arguments
                return total + obs @ action, None

            def run(self, observations, actions):
                return jax.lax.scan(self.update, 0.0, (observations, actions))[0]

        def areas(heights, widths):
            def one(pair):
                width, height = pair  #! swapped-arguments
                return width * 2 + height

            return jax.lax.map(one, (heights, widths))

        def returns(steps: Step):
            def body(total, step):
                discount, reward = step  #! swapped-arguments
                total = reward + discount * total
                return total, total

            return jax.lax.scan(body, 0.0, steps, reverse=True)[1]

        def states(table, batch):
            def body(h, x):
                mask, token = x  #! swapped-arguments
                h = jnp.tanh(h + table[token]) * mask + h * (1 - mask)
                return h, h

            return jax.lax.scan(body, jnp.zeros(3), (batch["tokens"], batch["mask"]))[1]
        """,
    "both orders, shifts and exchanges": """
        def both(first, second):
            def body(total, pair):
                first, second = pair
                return total + first * 2 - second, total

            forth = jax.lax.scan(body, 0.0, (first, second))[0]
            return forth - jax.lax.scan(body, 0.0, (second, first))[0]

        def fibonacci(n):
            def body(_, pair):
                a, b = pair
                return b, a + b

            return jax.lax.fori_loop(0, n, body, (0, 1))[0]

        def exchanged(x, y):
            pair = (x, y)
            y, x = pair
            return x - y

        def gains(values, rewards):
            def step(total, now):
                value, next_value, reward = now
                return total + value - next_value, reward

            return jax.lax.scan(step, 0.0, (values[:-1], values[1:], rewards))
        """,
    "a divergence that is meant to be reversed": """
        def kl(p, q):
            return jnp.sum(p * (p - q))

        def f(net, x):
            p = net(x)
            q = p + 1
            return kl(q, p)  #? swapped-arguments
        """,
    "a part of what the other name stands for": """
        def number(text, where):
            assert text.isdigit(), where
            return int(text)

        def numbers(text):
            return [number(where, where) for where in str(text).split(",")]

        def other(text, others):
            return [number(where, where) for where in others]  #? swapped-arguments
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
