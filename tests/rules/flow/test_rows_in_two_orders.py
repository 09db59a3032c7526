"""Rows that belong together stay together: all of them are put into an order, or none."""

import pytest
from rules.programs import marked, said

_SUPERVISED = """
        import equinox as eqx

        def make(key):
            k1, k2 = jax.random.split(key)
            x = jax.random.normal(k1, (96, 4))
            y = jnp.sin(x[:, 0]) + x[:, 1]
            weight = jnp.exp(-jnp.sum(x**2, axis=-1))
            return x, y, weight

        def loss(model, x, y, weight):
            return jnp.mean(weight * (jax.vmap(model)(x)[:, 0] - y) ** 2)

        def epoch(model, x, y, weight, key):
            {shuffle}
            for i in range(6):
                part = slice(16 * i, 16 * (i + 1))
                grads = eqx.filter_grad(loss)(model, x[part], y[part], weight[part])
                model = jax.tree.map(lambda p, g: p - 0.1 * g, model, grads)
            return model

        data = make(jax.random.key(0))
        epoch(eqx.nn.Linear(4, 1, key=jax.random.key(1)), *data, jax.random.key(2))
"""
_LAYERS = """
        import haiku as hk

        def forward(x):
            return hk.Linear(1)(jnp.tanh(hk.Linear(8)(x)))[:, 0]

        net = hk.without_apply_rng(hk.transform(forward))

        def rollout(key):
            def turn(s, k):
                s = 0.9 * s + jax.random.normal(k, (3,))
                return s, (s, s.sum(), jnp.abs(s).max())
            return jax.lax.scan(turn, jnp.zeros(3), jax.random.split(key, 60))[1]

        def run(params, key):
            k1, k2 = jax.random.split(key)
            states, values, costs = rollout(k1)
            order = jax.random.permutation(k2, jnp.arange(60))
            states, values, costs = {picked}

            def loss(params):
                out = net.apply(params, states)
                return jnp.mean((out - values) ** 2) + jnp.mean(out * costs)

            return jax.grad(loss)(params)

        run(net.init(jax.random.key(0), jnp.zeros((1, 3))), jax.random.key(1))
"""
_ONE = """
        def loss(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def update(w, key):
            k1, k2 = jax.random.split(key)
            x = jax.random.normal(k1, (50, 3))
            y = jnp.sum(x, -1)
            order = jax.random.permutation(k2, 50)
            xs = x[order]{mark}
            return w - 0.1 * jax.grad(loss)(w, xs, {y})

        update(jnp.zeros(3), jax.random.key(0))
"""
PROGRAMS = {
    "the weights of examples are left out": _SUPERVISED.format(
        shuffle="order = jax.random.permutation(key, 96)\n            x, y = x[order], y[order]  #! rows-in-two-orders"
    ),
    "the weights of examples go with them": _SUPERVISED.format(
        shuffle="order = jax.random.permutation(key, 96)\n            x, y, weight = x[order], y[order], weight[order]"
    ),
    "what a loss closes over is left out": _LAYERS.format(
        picked="jnp.take(states, order, axis=0), jnp.take(values, order, axis=0), costs  #! rows-in-two-orders"
    ),
    "what a loss closes over goes with the rest": _LAYERS.format(picked="(a[order] for a in (states, values, costs))"),
    "nothing but the inputs is shuffled, perhaps to see what is learned then": _ONE.format(
        y="y", mark="  #? rows-in-two-orders"
    ),
    "the outputs go with the inputs": _ONE.format(y="y[order]", mark=""),
    "a test by permutations": """
        def statistic(x, y):
            return jnp.abs(jnp.mean(x * y))

        def p_value(key, x):
            y = x**2
            keys = jax.random.split(key, 200)
            null = jax.vmap(lambda k: statistic(x, y[jax.random.permutation(k, 40)]))(keys)
            return jnp.mean(null >= statistic(x, y))

        p_value(jax.random.key(0), jnp.linspace(-1.0, 1.0, 40))
        """,
    "pairs that belong together against pairs that do not": """
        def score(w, x, y):
            return jnp.sum((x @ w) * y, axis=-1)

        def bound(w, key, x):
            y = jnp.tanh(x)
            order = jax.random.permutation(key, 40)
            return -(jnp.mean(score(w, x, y)) - jnp.log(jnp.mean(jnp.exp(score(w, x, y[order])))))

        jax.grad(bound)(jnp.eye(3), jax.random.key(0), jnp.ones((40, 3)))
        """,
    "inputs and labels mixed with a shuffled copy": """
        def loss(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def mixed(w, key, x):
            y = jnp.sum(x, -1)
            k1, k2 = jax.random.split(key)
            order, share = jax.random.permutation(k1, 40), jax.random.uniform(k2)
            x = share * x + (1 - share) * x[order]
            return share * loss(w, x, y) + (1 - share) * loss(w, x, y[order])

        jax.grad(mixed)(jnp.ones(3), jax.random.key(0), jnp.ones((40, 3)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
