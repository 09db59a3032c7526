"""What `stale-captured-state` finds where no name changes: arrays that are written into, functions made too early."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "NumPy arrays that are written into": """
        GRID = np.zeros((8, 8), dtype=bool)
        BAND = np.ones((4, 4))
        for i in range(4):
            BAND[i, i:] = 0

        def cost(p):
            return jnp.where(GRID[p[0], p[1]], 100.0, 1.0)  #! stale-captured-state

        plan = jax.jit(jax.vmap(cost))

        def drive(points):
            for _ in range(5):
                hit = int(jnp.argmin(plan(points)))
                GRID[hit, hit] = True
            return plan(points)

        @jax.jit
        def attend(x):
            return x + BAND

        class Filter:
            def __init__(self):
                self.weights = np.zeros(4)
                self.run = jax.jit(self.filtered)

            def filtered(self, x):
                return x * self.weights  #! stale-captured-state

        def simulator(table):
            return jax.jit(lambda c, xs: jax.lax.scan(lambda c, x: (c + table[x], c), c, xs))  #! stale-captured-state

        def main(x, xs):
            one, table, log = Filter(), np.zeros(5), np.zeros(9)
            simulate = simulator(table)
            like = jax.jit(lambda x: x.reshape(log.shape))
            for turn in range(9):
                own = np.zeros(4)
                own[turn % 4] = 1.0
                x = jax.jit(lambda x: attend(x) * own)(one.run(x))  #! retrace-every-call
                one.weights[0] += 1.0
                x, _ = simulate(x, xs)
                np.copyto(table, np.full(5, turn))
                log[turn] = float(like(x).sum())
            return x, log
        """,
    "functions that are made of what a loop renews": """
        def make_step(reference, rate):
            @jax.jit
            def step(p, x):
                return jax.tree.map(lambda a, b: a - rate * (a - b) * x.mean(), p, reference)

            return step

        def one(params, x):
            reference = params
            step = make_step(reference, 0.1)
            i = 0
            while i < 10:
                params = step(params, x)
                i += 1
                if i % 3 == 0:
                    reference = jax.tree.map(jnp.copy, params)  #! stale-captured-state
            return params

        def two(model, xs):
            frozen = model
            distil = eqx.filter_jit(partial(lambda t, s, x: jax.tree.map(lambda a, b: a + x * (b - a), s, t), frozen))
            for x in xs:
                model = distil(model, x)
                frozen = model  #! stale-captured-state
            return model

        def by_default(params, xs):
            target = params
            step = jax.jit(lambda p, x, t=target: jax.tree.map(lambda a, b: a - x * (a - b), p, t))
            for x in xs:
                params = step(params, x)
                target = params  #! stale-captured-state
            return params

        def anew(params, xs):
            reference = params
            for epoch in range(3):
                step = make_step(reference, 0.1)
                for x in xs:
                    params = step(params, x)
                reference = params
            return params

        def first(params, xs):
            reference = params
            step = make_step(reference, 0.1)
            for x in xs:
                params = step(params, x)
                reference = params
            return params, reference
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
