"""What `key-reused` says of keys that numbers are folded into, or that numbers pick."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a loop that counts from the number that was used before it": """
        def walk(key, n, x):
            x = x + jax.random.normal(jax.random.fold_in(key, 0), (3,))
            for step in range(n):
                x = x + jax.random.normal(jax.random.fold_in(key, step), (3,))  #! key-reused
            return x
        """,
    "two loops that count the same": """
        def walk(key, n, x):
            noise = [jax.random.normal(jax.random.fold_in(key, i), (3,)) for i in range(4)]
            def body(step, x):
                return x + jax.random.uniform(jax.random.fold_in(key, step), (3,))
            return jax.lax.fori_loop(0, n, body, x), noise  #! key-reused
        """,
    "a map over numbers": """
        def many(key):
            start = jax.random.normal(jax.random.fold_in(key, 0), (3,))
            draw = lambda i: jax.random.normal(jax.random.fold_in(key, i), (3,))
            return jax.vmap(draw)(jnp.arange(8)) + start  #! key-reused
        """,
    "a scan over numbers": """
        def many(key, x):
            x = x + jax.random.normal(jax.random.fold_in(key, 2), (3,))
            def body(x, step):
                return x + jax.random.normal(jax.random.fold_in(key, step), (3,)), None
            return jax.lax.scan(body, x, jnp.arange(8))[0]  #! key-reused
        """,
    "a row that a map over all rows has used": """
        def many(key, n):
            keys = jax.random.split(key, n)
            draws = jax.vmap(lambda i: jax.random.normal(keys[i], (3,)))(jnp.arange(n))
            return draws, jax.random.normal(keys[0])  #! key-reused
        """,
    "keys that a map made of numbers, and one of them by itself": """
        def many(key):
            keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(4))
            draws = jax.vmap(jax.random.normal)(keys)
            return draws, jax.random.normal(jax.random.fold_in(key, 1))  #! key-reused
        """,
    "one of the keys that a map made of numbers, twice": """
        def pick(key):
            keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(4))
            first, second = jax.random.normal(keys[1]), jax.random.normal(keys[2])
            other = jax.random.normal(jax.random.fold_in(key, 3))
            return first, second, other, jax.random.normal(jax.random.fold_in(key, 2))  #! key-reused
        """,
    "slices of the keys that a map made of numbers": """
        def halves(key, x):
            keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(4))
            def body(x, k):
                return x + jax.random.normal(k), None
            first, _ = jax.lax.scan(body, x, keys[:2])
            second, _ = jax.lax.scan(body, x, keys[2:])
            return first + second
        """,
    "a loop that counts on": """
        def walk(key, x):
            x = x + jax.random.normal(jax.random.fold_in(key, 0), (3,))
            for step in range(1, 10):
                x = x + jax.random.normal(jax.random.fold_in(key, step), (3,))
            return x
        """,
    "a number behind those of the map": """
        def many(key):
            start = jax.random.normal(jax.random.fold_in(key, 8), (3,))
            draw = lambda i: jax.random.normal(jax.random.fold_in(key, i), (3,))
            return jax.vmap(draw)(jnp.arange(8)) + start
        """,
    "keys of their own": """
        def walk(key, x):
            first, key = jax.random.split(key)
            x = x + jax.random.normal(jax.random.fold_in(first, 0), (3,))
            for step in range(10):
                x = x + jax.random.normal(jax.random.fold_in(key, step), (3,))
            return x
        """,
    "numbers that are not known": """
        def pair(key, i, j):
            return jax.random.normal(jax.random.fold_in(key, i)) + jax.random.normal(jax.random.fold_in(key, j))
        """,
    "seeds that two loops make together": """
        def seeded(first, n):
            return jnp.stack([jax.random.PRNGKey(first + i) for i in range(n)])  #! key-reused

        def repeat():
            return [jax.vmap(lambda key: jax.random.normal(key, (3,)))(seeded(run, 8)) for run in range(4)]

        def episode(policy, number):
            return jax.random.uniform(jax.random.key(policy + number), (2,))  #! key-reused

        def scores():
            return [[episode(policy, number) for number in range(3)] for policy in range(5)]

        def chunks(x):
            for chunk in range(4):
                for i in range(8):
                    x = x + jax.random.normal(jax.random.key(8 * chunk + i), x.shape)
            return x

        def placed(x):
            for shard in range(4):
                for i in range(8):
                    at = shard + i
                    x = x.at[at].add(jax.random.normal(jax.random.key(at), ()))
            return x

        repeat(), scores()
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
