"""What `wrong-collective` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "layers of a list that a loop fills, summed over other rows": """
        from jax.sharding import PartitionSpec as P

        def init(keys):
            layers = []
            for key in keys:
                up, down = jax.random.split(key)
                layers.append({"up": jax.random.normal(up, (8, 16)), "down": jax.random.normal(down, (16, 8))})
            return layers

        def block(layer, x):
            return jax.lax.psum(jnp.tanh(x @ layer["up"]) @ layer["down"], "data")  #! wrong-collective

        def forward(layers, x):
            for layer in layers:
                x = x + block(layer, x)
            return x

        mesh = jax.make_mesh((2, 4), ("data", "model"))
        specs = [{"up": P(None, "model"), "down": P("model", None)} for _ in range(3)]
        run = jax.shard_map(forward, mesh=mesh, in_specs=(specs, P("data")), out_specs=P("data", "model"), check_vma=False)
        y = run(init(jax.random.split(jax.random.key(0), 3)), jnp.ones((4, 8)))
        """,
    "positions of shares": """
        from jax.sharding import PartitionSpec as P

        def pick(table, h):
            logits = h @ table
            best = jnp.max(logits, axis=-1)
            token = jnp.argmax(logits, axis=-1)  #! wrong-collective
            return lax.pmax(jnp.where(best == lax.pmax(best, "vocab"), token, -1), "vocab")

        def pick_right(table, h):
            logits = h @ table
            best = jnp.max(logits, axis=-1)
            token = jnp.argmax(logits, axis=-1) + lax.axis_index("vocab") * logits.shape[-1]
            return lax.pmax(jnp.where(best == lax.pmax(best, "vocab"), token, -1), "vocab")

        mesh = jax.make_mesh((4,), ("vocab",))
        for f in (pick, pick_right):
            y = jax.shard_map(f, mesh=mesh, in_specs=(P(None, "vocab"), P()), out_specs=P())(jnp.ones((8, 64)), jnp.ones((2, 8)))
        """,
    "counts, metrics and moments under pmap": """
        def step(x, w):
            count = lax.psum(jnp.asarray(x.shape[0], jnp.float32), "batch")
            mean = lax.pmean(x.mean(axis=0), "batch")
            square = lax.pmean((x ** 2).mean(axis=0), "batch")
            metrics = {"largest": lax.pmean(jnp.max(x), "batch"), "spread": lax.pmean(jnp.std(x), "batch")}
            loss = lax.psum((w * x.sum(axis=-1)).sum(), "batch") / count
            return (x - mean) / jnp.sqrt(square - mean ** 2 + 1e-6), loss, metrics

        y = jax.pmap(step, axis_name="batch", in_axes=(0, None))(jnp.ones((jax.local_device_count(), 8, 3)), 0.5)
        """,
    "positions among centres that all devices have": """
        def update(x, centres):
            nearest = jnp.argmin(((x[:, None] - centres[None]) ** 2).sum(-1), axis=1)
            member = jax.nn.one_hot(nearest, centres.shape[0])
            return lax.psum(member.T @ x, "d") / jnp.maximum(lax.psum(member.sum(0), "d"), 1.0)[:, None]

        run = jax.pmap(update, axis_name="d", in_axes=(0, None))
        """,
    "parts of one array that are averaged": """
        from jax.sharding import PartitionSpec as P

        def step(w, x, y):
            def loss(w):
                return jnp.mean((lax.psum(x @ w, "model") - y) ** 2)

            grad = lax.pmean(jax.grad(loss)(w), "model")  #! wrong-collective
            return w - 0.1 * grad  #! missing-cross-device-reduction

        def right(w, x, y):
            def loss(w):
                return jnp.mean((lax.psum(x @ w, "model") - y) ** 2)

            grad = lax.pmean(jax.grad(loss)(w), "data")
            return w - 0.1 * grad

        mesh = jax.make_mesh((2, 4), ("data", "model"))
        specs = (P("model", None), P("data", "model"), P("data", None))
        for f in (step, right):
            run = jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=P("model", None), check_vma=False)
            print(run(jnp.ones((16, 3)), jnp.ones((8, 16)), jnp.ones((8, 3))))
        """,
    "what all devices have, in a sum of losses": """
        from jax.sharding import Mesh, PartitionSpec as P

        mesh = Mesh(np.array(jax.devices()), ("dp",))

        def penalty(params):
            return sum(jnp.sum(p**2) for p in jax.tree.leaves(params))

        def loss(params, x):
            return jnp.sum((x @ params["w"] + params["b"]) ** 2) + 0.01 * penalty(params)

        def total(params, x):
            return lax.psum(loss(params, x), "dp")  #! wrong-collective

        def counted(start, x):
            return lax.fori_loop(0, 3, lambda i, s: lax.psum(s + jnp.sum(x, axis=0), "dp"), start)  #! wrong-collective

        def share(w, x):
            return lax.psum(jnp.sum(x * w) + jnp.sum(w**2) / lax.axis_size("dp"), "dp")

        def mean(w, x):
            return lax.psum(jnp.sum(x * w) + jnp.sum(w**2), "dp") / 4

        def after(w, x):
            return lax.psum(jnp.sum(x * w), "dp") + jnp.sum(w**2)

        def of_one(w, x):
            first = lax.axis_index("dp") == 0
            return lax.psum(jnp.sum(x * w) + jnp.where(first, jnp.sum(w**2), 0.0), "dp")

        def main():
            x, w = jnp.ones((16, 3)), jnp.ones(3)
            for f in (counted, share, mean, after, of_one):
                print(jax.shard_map(f, mesh=mesh, in_specs=(P(), P("dp")), out_specs=P())(w, x))
            run = jax.shard_map(total, mesh=mesh, in_specs=(P(), P("dp")), out_specs=P())
            print(run({"w": w, "b": jnp.zeros(())}, x))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
