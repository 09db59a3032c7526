"""What `result-discarded` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a split whose result is dropped": """
        def noise(rng, x):
            y = x + jax.random.uniform(rng, (3,))
            jax.random.split(rng, 3)  #! result-discarded
            return y
        """,
    "a check outside of compiled code": """
        import equinox

        def grown(n, most):
            if most is not None:
                equinox.error_if(jnp.array(n), jnp.array(n > most), "too many")  #? result-discarded
            return n
        """,
    "methods with keywords that arrays do not have": """
        def paths(trees, where):
            found = []

            def is_leaf(node):
                found.append(node)
                return True

            for level in where:
                trees.flatten(level, is_leaf=is_leaf)
            return found

        def wrong(x):
            jnp.abs(x).flatten(order="C")  #! result-discarded
            return x
        """,
    "something that is flattened in place": """
        def load(library, flat):
            cell = next((one for one in library.cells if one.name == "top"), None)
            if flat:
                cell.flatten()
            return cell

        def wrong(x):
            x.flatten()  #! result-discarded
            return x + jnp.ones(3)
        """,
    "flattening a tree to see how long it takes": """
        import time

        def timed(state):
            start = time.time()
            jax.tree.flatten(state)  #? result-discarded
            return time.time() - start
        """,
    "copies of records of unknown classes": """
        def count(state):
            state._replace(steps=state.steps + 1)  #! result-discarded
            return state

        def renamed(table, name):
            table.replace(name=name)  #? result-discarded
            return table
        """,
    "a step that is tried": """
        import brax.envs

        def make(name, key, action):
            env = brax.envs.get_environment(name)
            state = env.reset(key)
            env.step(state, action)
            return env

        def forgotten(name, key, action):
            env = brax.envs.get_environment(name)
            state = env.reset(key)
            env.step(state, action)  #? result-discarded
            return state.obs
        """,
    "warming up and measuring": """
        step = jax.jit(lambda x: x + 1)

        def f(x):
            step(x)
            for _ in range(9):
                jnp.dot(x, x)  #? result-discarded
        """,
    "a module may drop what it computes once": """
        x = jnp.ones(3)
        jnp.sin(x)  #? result-discarded
        """,
    "what is stored is mapped for its effect": """
        def f(tree):
            jax.tree.map(lambda x: x.block_until_ready(), tree)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
