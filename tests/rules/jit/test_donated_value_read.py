"""What `donated-value-read` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import audited, marked, said

PROGRAMS = {
    "results of another size": """
        @partial(jax.jit, donate_argnums=(0, 1))
        def stacked(a, b):
            return jax.tree.map(lambda x, y: jnp.concatenate([x, y]), a, b)

        @partial(jax.jit, donate_argnums=0)
        def first(x):
            return x[:2] + 1.0

        @partial(jax.jit, donate_argnums=0)
        def square(x):
            return x.reshape(2, 2) + 1.0

        @partial(jax.jit, donate_argnums=0)
        def added(a, b):
            return jax.tree.map(lambda x, y: x + y, a, b)

        def run(a, b):
            x, y = jnp.ones(4), jnp.zeros(4)
            made = stacked(a, b), first(x), square(y)
            size = jnp.sum(x) + jnp.sum(y)  #! donated-value-read
            total = added(a, b)
            return made, total, size, a  #! donated-value-read
        """,
    "a way that leaves before the call keeps the old buffer": """
        advance = jax.jit(jnp.add, donate_argnums=0)

        def until(state, batches, enough):
            state = jnp.zeros(3) + state
            for batch in batches:
                if enough(batch):
                    break
                state = advance(state, batch)
            return state * 2

        def leaving_out(state, batches, empty):
            state = jnp.zeros(3) + state
            for batch in batches:
                if empty(batch):
                    continue
                state = advance(state, batch)
            return state * 2

        def moved(state, batch, still):
            if still:
                return state
            return advance(state, batch)

        def once(state, batch, still):
            state = moved(jnp.zeros(3) + state, batch, still)
            return state * 2

        class Learner:
            def __init__(self, state):
                self.state = state

            def learn(self, batch):
                self.state = advance(self.state, batch)

        def train(feed, rounds):
            learner = Learner(jnp.zeros(3))
            for _ in range(rounds):
                print(learner.state.sum())
                for _ in range(4):
                    try:
                        batch = next(feed)
                    except StopIteration:
                        break
                    learner.learn(batch)
        """,
    "a way that leaves behind the call has the donated one": """
        advance = jax.jit(jnp.add, donate_argnums=0)

        def until(state, batches, enough):
            state = jnp.zeros(3) + state
            for batch in batches:
                new = advance(state, batch)
                if enough(new):
                    break
                state = new
            return state * 2  #! donated-value-read

        def leaving_out(state, batches, empty):
            state = jnp.zeros(3) + state
            for batch in batches:
                new = advance(state, batch)  #! donated-value-read
                if empty(batch):
                    continue
                state = new
            return state * 2
        """,
    "the first one is read only where no turn has kept a copy": """
        def best_of(params, batches, score):
            step = jax.jit(jnp.add, donate_argnums=0)
            best, top = params, -float("inf")
            for batch in batches:
                params = step(params, batch)
                if score(params) > top:
                    best, top = params.copy(), score(params)
            return best * 2

        def last_of(params, batches):
            step = jax.jit(jnp.add, donate_argnums=0)
            kept, i = params, 0
            while i < 10:
                params = step(params, batches[i])
                kept = jnp.copy(params) if i % 5 == 0 else kept
                i = i + 1
            return kept * 2
        """,
    "the first one is read before a turn replaces it, or where none does": """
        def change(params, batches):
            step = jax.jit(jnp.add, donate_argnums=0)
            before = params
            for i, batch in enumerate(batches):
                params = step(params, batch)
                if i % 10 == 0:
                    print(jnp.abs(params - before).max())  #! donated-value-read
                    before = params.copy()
            return params

        def first(params, batches):
            step = jax.jit(jnp.add, donate_argnums=0)
            start = params
            for batch in batches:
                params = step(params, batch)
            return params - start  #! donated-value-read
        """,
    "a turn keeps what the next one donates": """
        def best_of(params, batches, score):
            step = jax.jit(jnp.add, donate_argnums=0)
            best, top = params, -float("inf")
            for batch in batches:
                params = step(params, batch)
                if score(params) > top:
                    best, top = params, score(params)
            return best * 2  #! donated-value-read
        """,
    "`pmap` donates nothing that it is given by keyword": """
        @partial(jax.pmap, donate_argnums=(1, 2))
        def step(data, params, width):
            return data, params * width

        @partial(jax.jit, donate_argnums=(1, 2))
        def compiled(data, params, width):
            return data, params * width

        def by_word(data, params, width):
            for _ in range(3):
                data, params = step(data=data, params=params, width=width)
            return data

        def by_place(data, params, width):
            for _ in range(3):
                data, params = step(data, params, width)  #! donated-value-read
            return data

        def under_jit(data, params, width):
            for _ in range(3):
                data, params = compiled(data=data, params=params, width=width)  #! donated-value-read
            return data
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_a_first_value_that_turns_may_replace_is_open() -> None:
    program = PROGRAMS["the first one is read only where no turn has kept a copy"]
    lines = [one.line for one in audited(program).unknown if one.rule == "donated-value-read"]
    assert len(lines) == 2
