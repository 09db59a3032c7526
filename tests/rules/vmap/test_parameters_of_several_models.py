"""What `parameters-of-several-models` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "haiku members that are stacked along another axis": """
        import haiku as hk

        model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 1])(x)))

        def stacked(members):
            return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=1), *members)

        @jax.jit
        def spread(ensemble, x):
            return jax.vmap(model.apply, in_axes=(0, None))(ensemble, x).std(axis=0)  #! parameters-of-several-models

        x = jnp.ones((32, 6))
        ensemble = stacked([model.init(jax.random.key(seed), x) for seed in range(5)])
        y = spread(ensemble, x)
        """,
    "policies of all seeds, run as one after training": """
        import flax.linen as nn
        import optax

        net, tx = nn.Dense(3), optax.adam(1e-3)

        def loss(params, x):
            return (net.apply(params, x) ** 2).mean()

        def train(key, x):
            params = net.init(key, x)

            def step(carry, _):
                params, opt = carry
                updates, opt = tx.update(jax.grad(loss)(params, x), opt, params)
                return (optax.apply_updates(params, updates), opt), None

            return jax.lax.scan(step, (params, tx.init(params)), None, length=5)[0][0]

        def main(x):
            policies = jax.vmap(train, in_axes=(0, None))(jax.random.split(jax.random.key(0), 5), x)
            best = jax.tree.map(lambda leaf: leaf[3], policies)
            return net.apply(best, x), net.apply(policies, x)  #! parameters-of-several-models

        y = main(jnp.ones((8, 4)))
        """,
    "one set of parameters for many devices": """
        import flax.linen as nn

        net = nn.Dense(3)
        params = net.init(jax.random.key(0), jnp.ones((1, 4)))
        predict = jax.pmap(lambda params, x: net.apply(params, x))
        y = predict(params, jnp.ones((4, 8, 4)))  #! device-axis-missing
        """,
    "members in a closure, mapped over the data alone": """
        import flax.linen as nn

        net = nn.Dense(3)

        def evaluate(key, x):
            init = lambda k: net.init(k, x[0])["params"]
            members = jax.vmap(init)(jax.random.split(key, 5))
            return jax.vmap(lambda row: net.apply({"params": members}, row))(x)  #! parameters-of-several-models

        y = evaluate(jax.random.key(0), jnp.ones((8, 4)))
        """,
    "collected by a scan, and mapped along the last axis": """
        import flax.linen as nn

        net = nn.Dense(3)

        def main(key, x):
            _, snapshots = jax.lax.scan(lambda c, k: (c, net.init(k, x)), 0.0, jax.random.split(key, 5))
            run = jax.vmap(net.apply, in_axes=(1, None))
            return run(snapshots, x)  #! parameters-of-several-models

        y = main(jax.random.key(0), jnp.ones((8, 4)))
        """,
    "members of members, each map over its own": """
        import flax.linen as nn

        net = nn.Dense(3)

        def main(key, x):
            init = jax.vmap(jax.vmap(net.init, in_axes=(0, None)), in_axes=(0, None))
            grid = init(jax.random.split(key, (2, 3)), x)
            run = jax.vmap(jax.vmap(net.apply, in_axes=(0, None)), in_axes=(0, None))
            last = jax.vmap(net.apply, in_axes=(-1, None), out_axes=1)
            turned = jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *[net.init(key, x) for _ in range(2)])
            _, ys = jax.lax.scan(lambda c, p: (c, net.apply(p, x)), 0.0, jax.vmap(net.init, (0, None))(key[None], x))
            return run(grid, x), last(turned, x), ys

        y = main(jax.random.key(0), jnp.ones((8, 4)))
        """,
    "one model or several, as an option says, and members by noise": """
        import flax.linen as nn

        net = nn.Dense(3)

        def main(key, x, many, noise):
            params = jax.vmap(net.init, (0, None))(jax.random.split(key, 5), x) if many else net.init(key, x)
            run = jax.vmap(net.apply, (0, None)) if many else net.apply
            others = jax.tree.map(lambda p, e: p + 0.1 * e, net.init(key, x), noise)
            drawn = jax.tree.map(lambda p: p + jax.random.normal(key, (5, *p.shape)), net.init(key, x))
            tables = net.init(key, x)["params"]["kernel"]
            rows = jax.vmap(lambda row: row.sum())(tables)
            copied = jax.tree.map(lambda p: jnp.broadcast_to(p, (5, *p.shape)), net.init(key, x))
            each = jax.vmap(net.apply, (0, None))
            return run(params, x), each(others, x), each(drawn, x), rows, each(copied, x)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    found = [one for one in said(program) if one[1] in ("parameters-of-several-models", "device-axis-missing")]
    assert found == marked(program)
