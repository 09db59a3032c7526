"""What `shard-taken-for-whole` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "the variance of a norm whose features are spread": """
        from jax.sharding import PartitionSpec as P

        class Norm:
            axis = "model"

            def __call__(self, scale, x):
                mean = jax.lax.pmean(x.mean(-1, keepdims=True), self.axis)
                var = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)  #! shard-taken-for-whole
                return scale * (x - mean) * jax.lax.rsqrt(var + 1e-6)

        mesh = jax.make_mesh((4,), ("model",))
        norm = jax.shard_map(Norm(), mesh=mesh, in_specs=(P("model"), P(None, "model")), out_specs=P(None, "model"))
        y = norm(jnp.ones(16), jnp.ones((3, 16)))
        """,
    "weights of all particles": """
        from functools import partial
        from jax.sharding import PartitionSpec as P

        MESH = jax.make_mesh((8,), ("p",))

        @partial(jax.shard_map, mesh=MESH, in_specs=(P("p"), P("p")), out_specs=(P("p"), P()))
        def reweight(logw, x):
            top = jax.lax.pmax(jnp.max(logw), "p")
            w = jnp.exp(logw - top)
            w = w / jnp.sum(w)  #! shard-taken-for-whole
            return w, jax.lax.psum(jnp.sum(w[:, None] * x, axis=0), "p")

        w, mean = reweight(jnp.zeros(64), jnp.ones((64, 2)))
        """,
    "a softmax over columns that are spread": """
        from jax.sharding import PartitionSpec as P

        def head(x, w):
            return jax.nn.softmax(x @ w, axis=-1)  #! shard-taken-for-whole

        mesh = jax.make_mesh((2, 2), ("data", "model"))
        run = jax.shard_map(head, mesh=mesh, in_specs=(P("data"), P(None, "model")), out_specs=P("data", "model"))
        y = run(jnp.ones((4, 3)), jnp.ones((3, 8)))
        """,
    "attention within blocks: queries and keys are spread alike": """
        from jax.sharding import PartitionSpec as P

        def local(q, k, v):
            return jax.nn.softmax(jnp.einsum("qd,kd->qk", q, k), axis=-1) @ v  #? shard-taken-for-whole

        mesh = jax.make_mesh((4,), ("seq",))
        run = jax.shard_map(local, mesh=mesh, in_specs=P("seq"), out_specs=P("seq"))
        y = run(jnp.ones((16, 3)), jnp.ones((16, 3)), jnp.ones((16, 3)))
        """,
    "a softmax over rows that are not spread": """
        from jax.sharding import PartitionSpec as P

        mesh = jax.make_mesh((4,), ("seq",))
        spec = P("seq", None)
        run = jax.shard_map(lambda s: jax.nn.softmax(s, axis=-1), mesh=mesh, in_specs=spec, out_specs=spec)
        y = run(jnp.ones((16, 8)))
        """,
    "a running sum along an axis that is spread": """
        from jax.sharding import PartitionSpec as P

        def paths(returns):
            return jnp.exp(jnp.cumsum(returns, axis=1))  #! shard-taken-for-whole

        mesh = jax.make_mesh((4,), ("d",))
        run = jax.jit(jax.shard_map(paths, mesh=mesh, in_specs=P(None, "d"), out_specs=P(None, "d")))
        y = run(jnp.ones((6, 32)))
        """,
    "sums of shards that leave as such, and a loop whose sum is reduced": """
        from jax.sharding import PartitionSpec as P

        def totals(x):
            def add(total, row):
                return total + row, None

            whole, _ = jax.lax.scan(add, jnp.zeros(3), x)
            return x.sum(axis=0, keepdims=True), jax.lax.psum(whole, "d")

        mesh = jax.make_mesh((4,), ("d",))
        run = jax.shard_map(totals, mesh=mesh, in_specs=P("d"), out_specs=(P("d"), P()))
        y = run(jnp.ones((16, 3)))
        """,
    "statistics that are merged": """
        from jax.sharding import PartitionSpec as P

        def standardise(x):
            n = x.shape[0] * jax.lax.psum(1, "d")
            mean = jax.lax.psum(x.sum(0), "d") / n
            second = jax.lax.psum((x ** 2).sum(0), "d") / n
            return (x - mean) / jnp.sqrt(second - mean ** 2 + 1e-6)

        mesh = jax.make_mesh((4,), ("d",))
        y = jax.shard_map(standardise, mesh=mesh, in_specs=P("d"), out_specs=P("d"))(jnp.ones((16, 3)))
        """,
    "a spread of one device around the mean of all": """
        def standardise(adv):
            mean = lax.pmean(adv.mean(), "d")
            std = adv.std()  #! shard-taken-for-whole
            return (adv - mean) / (std + 1e-8)

        def logged(adv):
            mean = lax.pmean(adv.mean(), "d")
            return (adv - adv.mean()) / (adv.std() + 1e-8), mean

        def of_all(adv):
            mean = lax.pmean(adv.mean(), "d")
            std = jnp.sqrt(lax.pmean(jnp.mean((adv - mean) ** 2), "d"))
            return (adv - mean) / (std + 1e-8)

        runs = [jax.pmap(f, axis_name="d") for f in (standardise, logged, of_all)]
        """,
    "a mean of squares beside the mean of all, and a spread beside what was gathered": """
        def normalise(x):
            mean = lax.pmean(jnp.mean(x, axis=0), "d")
            square = jnp.mean(x * x, axis=0)  #! shard-taken-for-whole
            return (x - mean) * lax.rsqrt(square - mean ** 2 + 1e-5)

        def rank(fitness):
            everyone = lax.all_gather(fitness, "d").reshape(-1)
            return (fitness - everyone.mean()) / (fitness.std() + 1e-8)  #! shard-taken-for-whole

        def rank_right(fitness):
            everyone = lax.all_gather(fitness, "d").reshape(-1)
            return (fitness - everyone.mean()) / (everyone.std() + 1e-8)

        runs = [jax.pmap(f, axis_name="d") for f in (normalise, rank, rank_right)]
        """,
    "norms of the leaves of a tree, and statistics of each device's own rows": """
        from jax.sharding import PartitionSpec as P

        def clip(grads):
            square = sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads))  #? shard-taken-for-whole
            return jax.tree.map(lambda g: g / jnp.sqrt(square), grads)

        def clip_all(grads):
            square = lax.psum(sum(jnp.sum(jnp.square(g)) for g in jax.tree.leaves(grads)), "tp")
            return jax.tree.map(lambda g: g / jnp.sqrt(square), grads)

        def own(x, w):
            h = x - x.mean(0)  #? shard-taken-for-whole
            return lax.pmean(jnp.mean((h @ w) ** 2), "tp")

        mesh = jax.make_mesh((4,), ("tp",))
        for f in (clip, clip_all):
            run = jax.shard_map(f, mesh=mesh, in_specs=P("tp"), out_specs=P("tp"), check_vma=False)
            print(run({"a": jnp.ones((16, 4)), "b": jnp.ones(8)}))
        print(jax.shard_map(own, mesh=mesh, in_specs=(P("tp"), P()), out_specs=P())(jnp.ones((16, 4)), jnp.ones(4)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
