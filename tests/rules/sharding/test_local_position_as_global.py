"""What `local-position-as-global` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "labels, classes, columns and hits": """
        def contrast(x, y):
            everyone = lax.all_gather(y, "d", axis=0, tiled=True)
            scores = jnp.einsum("id,jd->ij", x, everyone)
            n = x.shape[0]
            labels = jnp.arange(n)  #! local-position-as-global
            target = jax.nn.one_hot(jnp.arange(n), scores.shape[1])  #! local-position-as-global
            rows = jnp.arange(n)
            own = scores[rows, rows]  #! local-position-as-global
            hit = scores.argmax(-1) == jnp.arange(n)  #! local-position-as-global
            losses = optax.softmax_cross_entropy_with_integer_labels(x @ everyone.T, labels)
            return losses.mean(), jnp.sum(target * scores), own, hit.mean(), jnp.diag(scores)  #! local-position-as-global

        run = jax.pmap(contrast, axis_name="d")
        """,
    "gathered with an axis of its own": """
        def contrast(x, y):
            everyone = lax.all_gather(y, "d").reshape(-1, y.shape[-1])
            labels = jnp.arange(len(x))  #! local-position-as-global
            return optax.softmax_cross_entropy_with_integer_labels(x @ everyone.T, labels).mean()

        run = jax.pmap(contrast, axis_name="d")
        """,
    "positions in a sequence": """
        from jax.sharding import PartitionSpec as P

        def embed(table, x):
            b, t, d = x.shape
            x = x + table[jnp.arange(t)]  #! local-position-as-global
            keys = lax.all_gather(x, "seq", axis=1, tiled=True)
            rows = jnp.arange(t)  #! local-position-as-global
            seen = rows[:, None] >= jnp.arange(keys.shape[1])
            return jnp.where(seen, jnp.einsum("btd,bsd->bts", x, keys), -1e9)

        def right(table, x):
            b, t, d = x.shape
            rows = lax.axis_index("seq") * t + jnp.arange(t)
            x = x + table[rows] * jnp.arange(d)
            keys = lax.all_gather(x, "seq", axis=1, tiled=True)
            seen = rows[:, None] >= jnp.arange(t * lax.axis_size("seq"))
            return jnp.where(seen, jnp.einsum("btd,bsd->bts", x, keys), -1e9)

        mesh = jax.make_mesh((4,), ("seq",))
        for f in (embed, right):
            run = jax.shard_map(f, mesh=mesh, in_specs=(P(), P(None, "seq")), out_specs=P(None, "seq"))
            print(run(jnp.ones((16, 8)), jnp.ones((2, 16, 8))))
        """,
    "among the share alone, moved, given, turned or added in front": """
        def contrast(x, y, start):
            n = x.shape[0]
            everyone = lax.all_gather(y, "d", axis=0, tiled=True)
            scores = x @ everyone.T
            best = scores.argmax(-1)
            moved = lax.axis_index("d") * n + jnp.arange(n)
            given = start + jnp.arange(n)
            turned = jnp.roll(everyone, -lax.axis_index("d") * n, axis=0)
            front = jnp.concatenate([y, everyone])
            entropy = optax.softmax_cross_entropy_with_integer_labels
            own = entropy(x @ y.T, jnp.arange(n)) + entropy(x @ turned.T, jnp.arange(n)) + entropy(x @ front.T, jnp.arange(n))
            return scores[jnp.arange(n), best], entropy(scores, moved), entropy(scores, given), own

        run = jax.pmap(contrast, axis_name="d")
        """,
    "the place of an example among the distances to all": """
        def nearest(z, labels):
            everyone = lax.all_gather((z, labels), "d", axis=0, tiled=True)
            away = jnp.sum((z[:, None] - everyone[0][None]) ** 2, -1)
            me = jnp.arange(z.shape[0])
            away = away.at[me, me].set(jnp.inf)  #! local-position-as-global
            return everyone[1][jnp.argmin(away, axis=1)]

        def nearest_right(z, labels):
            everyone = lax.all_gather((z, labels), "d", axis=0, tiled=True)
            away = jnp.sum((z[:, None] - everyone[0][None]) ** 2, -1)
            me = jnp.arange(z.shape[0])
            away = away.at[me, lax.axis_index("d") * z.shape[0] + me].set(jnp.inf)
            return everyone[1][jnp.argmin(away, axis=1)]

        runs = [jax.pmap(f, axis_name="d") for f in (nearest, nearest_right)]
        """,
    "the place along another axis of the mesh": """
        from jax.sharding import PartitionSpec as P

        def embed(table, ids):
            n = table.shape[0]
            local = ids - lax.axis_index("data") * n  #! local-position-as-global
            return lax.psum(jnp.where((local >= 0) & (local < n), table[jnp.clip(local, 0, n - 1)], 0.0), "model")

        def right(table, ids):
            n = table.shape[0]
            local = ids - lax.axis_index("model") * n
            return lax.psum(jnp.where((local >= 0) & (local < n), table[jnp.clip(local, 0, n - 1)], 0.0), "model")

        mesh = jax.make_mesh((2, 4), ("data", "model"))
        for f in (embed, right):
            run = jax.shard_map(f, mesh=mesh, in_specs=(P("model"), P("data")), out_specs=P("data"))
            print(run(jnp.ones(64), jnp.ones(8, jnp.int32)))
        """,
    "rows of a table that every device has": """
        P = jax.sharding.PartitionSpec
        mesh = jax.make_mesh((4,), ("seq",))

        def looked_up(x, table):
            pos = jnp.arange(x.shape[0])  #! local-position-as-global
            return x + table[pos]

        def first_ones(x, table):
            return x + table[: x.shape[0]]  #! local-position-as-global

        def moved(x, table):
            return x + table[lax.axis_index("seq") * x.shape[0] + jnp.arange(x.shape[0])]

        def columns(x, table):
            return x + table[0, : x.shape[1]]

        for f in (looked_up, first_ones, moved, columns):
            run = jax.shard_map(f, mesh=mesh, in_specs=(P("seq"), P()), out_specs=P("seq"))
            print(run(jnp.ones((32, 8)), jnp.ones((32, 8))))

        own = jax.shard_map(lambda x, t: x + t[jnp.arange(x.shape[0])], mesh=mesh,
                            in_specs=(P("seq"), P("seq")), out_specs=P("seq"))
        print(own(jnp.ones((32, 8)), jnp.ones((32, 8))))
        """,
    "positions that are gathered themselves": """
        P = jax.sharding.PartitionSpec
        mesh = jax.make_mesh((4,), ("seq",))

        def attend(q, k):
            pos = jnp.arange(q.shape[0])  #! local-position-as-global
            whole, keys = lax.all_gather(pos, "seq", tiled=True), lax.all_gather(k, "seq", tiled=True)
            return jnp.where(pos[:, None] >= whole, q @ keys.T, 0.0)

        def apart(x):
            rows = lax.all_gather(jnp.arange(x.shape[0]), "seq") + x.shape[0] * jnp.arange(4)[:, None]
            return rows.reshape(-1) * lax.all_gather(x, "seq", tiled=True)

        run = jax.shard_map(attend, mesh=mesh, in_specs=P("seq"), out_specs=P("seq"), check_vma=False)
        print(run(jnp.ones((32, 8)), jnp.ones((32, 8))))
        other = jax.shard_map(apart, mesh=mesh, in_specs=P("seq"), out_specs=P("seq"), check_vma=False)
        print(other(jnp.ones(32)))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
