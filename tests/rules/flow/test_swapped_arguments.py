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
    "a divergence that is meant to be reversed": """
        def kl(p, q):
            return jnp.sum(p * (p - q))

        def f(net, x):
            p = net(x)
            q = p + 1
            return kl(q, p)  #? swapped-arguments
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
