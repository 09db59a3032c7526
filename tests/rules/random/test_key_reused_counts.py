"""What `key-reused` finds where the counts of several loops are folded into one key, and what it leaves alone."""

import pytest
from rules.programs import marked, messages, said

PROGRAMS = {
    "sums that many turns share": """
        def step_key(key, epoch, batch):
            return jax.random.fold_in(key, epoch + batch)  #! key-reused

        def train(key, data, params):
            for epoch in range(60):
                for i, rows in enumerate(data):
                    noise = jax.random.normal(step_key(key, epoch, i), rows.shape)
                    params = params + jnp.mean(rows * noise)
            return params

        def walk(key, place):
            def sweep(count, place):
                def lane(number, here):
                    mine = jax.random.fold_in(key, number + count)  #! key-reused
                    return here + 0.1 * jax.random.normal(mine, here.shape)

                return jax.vmap(lane)(jnp.arange(32), place)

            return jax.lax.fori_loop(0, 200, sweep, place)

        def table(key):
            found = []
            for row in range(20):
                for column in range(9):
                    found.append(jax.random.uniform(jax.random.fold_in(key, 7 * row + column), ()))  #! key-reused
            return found
        """,
    "numbers of their own, keys of their own, and noise that belongs to a time": """
        def table(key):
            found = []
            for row in range(20):
                for column in range(9):
                    found.append(jax.random.uniform(jax.random.fold_in(key, 9 * row + column), ()))
            return found

        def nested(key):
            found = []
            for row in range(20):
                for column in range(9):
                    first = jax.random.fold_in(key, row)
                    found.append(jax.random.uniform(jax.random.fold_in(first, column), ()))
                    sum_first = jax.random.fold_in(key, row + column + 100)
                    found.append(jax.random.normal(jax.random.fold_in(sum_first, row), ()))
            return found

        def fresh(key):
            found = []
            for row in range(20):
                key, mine = jax.random.split(key)
                for column in range(9):
                    found.append(jax.random.uniform(jax.random.fold_in(mine, row + column), ()))
            return found

        def windows(key, series):
            total = 0.0
            for start in range(50):
                for step in range(8):
                    noise = jax.random.normal(jax.random.fold_in(key, start + step), ())
                    total = total + series[start + step] * noise
            return total

        def blocks(key):
            found = []
            for start in range(0, 100, 10):
                for step in range(10):
                    found.append(jax.random.normal(jax.random.fold_in(key, start + step), ()))
            return found

        def unknown_bounds(key, rows, columns):
            found = []
            for row in range(rows):
                for column in range(columns):
                    found.append(jax.random.normal(jax.random.fold_in(key, row * 1000 + column), ()))
            return found
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert [one for one in said(program) if one[1] == "key-reused"] == marked(program)


def test_messages_name_the_counts():
    found = messages(PROGRAMS["sums that many turns share"], "key-reused")
    assert found[0] == "different turns fold in the same number: what `epoch` is ahead, `i` is behind"
