"""What `scaled-by-device-count` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "the sum of gradients of means, leaf by leaf": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y):
            loss, grads = jax.value_and_grad(mse)(w, x, y)
            grads = jax.tree.map(lambda g: lax.psum(g, "d"), grads)  #! scaled-by-device-count
            return w - 0.1 * grads, lax.pmean(loss, "d")

        train = jax.pmap(step, axis_name="d")
        """,
    "momentum of a sum of means": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, v, x, y):
            loss, grads = jax.value_and_grad(mse)(w, x, y)
            grads = lax.psum(grads, "d")  #! scaled-by-device-count
            v = 0.9 * v + grads
            return w - 0.1 * v, v, lax.pmean(loss, "d")

        train = jax.pmap(step, axis_name="d")
        """,
    "a sum of means alone": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y):
            return w - 0.1 * lax.psum(jax.grad(mse)(w, x, y), "d")  #? scaled-by-device-count

        train = jax.pmap(step, axis_name="d")
        """,
    "an estimate of samples": """
        def fitness(theta):
            return -jnp.sum(theta ** 2)

        def step(theta, key):
            noise = jax.random.normal(key, (8, 3))
            returns = jax.vmap(fitness)(theta + 0.1 * noise)
            grad = jnp.mean(returns[:, None] * noise, axis=0) / 0.1
            return theta + 0.1 * lax.psum(grad, "d"), lax.pmean(returns.mean(), "d")  #! scaled-by-device-count

        train = jax.pmap(step, axis_name="d", in_axes=(None, 0))
        """,
    "a mean of sums over all examples": """
        def sse(w, x, y):
            return jnp.sum((x @ w - y) ** 2)

        def step(w, x, y):
            loss, grads = jax.value_and_grad(sse)(w, x, y)
            n = lax.psum(x.shape[0], "d")
            grads = lax.pmean(grads, "d") / n  #! scaled-by-device-count
            return w - 0.1 * grads, lax.psum(loss, "d") / n

        train = jax.pmap(step, axis_name="d")
        """,
    "a sum over the examples of one device": """
        def evaluate(w, x, y, mask):
            total = lax.psum(jnp.sum((x @ w - y) ** 2 * mask), "d")
            count = mask.sum()  #! scaled-by-device-count
            return total / count

        run = jax.pmap(evaluate, axis_name="d", in_axes=(None, 0, 0, 0), out_axes=None)
        """,
    "averaged and divided once more": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y):
            loss, grads = jax.value_and_grad(mse)(w, x, y)
            grads = lax.pmean(grads, "d") / lax.axis_size("d")  #! scaled-by-device-count
            return w - 0.1 * grads, lax.pmean(loss, "d")

        train = jax.pmap(step, axis_name="d")
        """,
    "the norm of what all devices have": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y):
            grads = lax.pmean(jax.grad(mse)(w, x, y), "d")
            square = lax.psum(sum(jnp.sum(g ** 2) for g in jax.tree.leaves(grads)), "d")  #! scaled-by-device-count
            return w - 0.1 * grads / jnp.sqrt(square + 1e-6)

        train = jax.pmap(step, axis_name="d")
        """,
    "a gradient that JAX has summed": """
        from jax.sharding import PartitionSpec as P

        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y):
            loss, grad = jax.value_and_grad(mse)(w, x, y)
            grad = lax.pmean(grad, "data")  #! scaled-by-device-count
            return w - 0.1 * grad, lax.pmean(loss, "data")

        def divided(w, x, y):
            loss, grad = jax.value_and_grad(mse)(w, x, y)
            return w - 0.1 * grad / lax.axis_size("data"), lax.pmean(loss, "data")

        def averaged(w, x, y):
            loss, grad = jax.value_and_grad(lambda w: lax.pmean(mse(w, x, y), "data"))(w)
            return w - 0.1 * grad, loss

        mesh = jax.make_mesh((4,), ("data",))
        for f in (step, divided, averaged):
            run = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=(P(), P())))
            print(run(jnp.zeros(3), jnp.ones((16, 3)), jnp.ones(16)))
        """,
    "divided by the number of devices, in several ways": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y, scale):
            loss, grads = jax.value_and_grad(mse)(w, x, y)
            first = lax.psum(grads, "d") / lax.psum(1, "d")
            second = lax.psum(grads / jax.local_device_count(), "d")
            third = lax.psum(grads, "d") / scale
            return w - 0.1 * (first + second + third), lax.pmean(loss, "d")

        train = jax.pmap(step, axis_name="d")
        """,
    "sums, and the shares of a mean": """
        def sse(w, x, y):
            return jnp.sum((x @ w - y) ** 2)

        def step(w, x, y, mask):
            def share(w):
                return jnp.sum((x @ w - y) ** 2 * mask) / lax.psum(jnp.sum(mask), "d")

            part, slope = lax.psum(jax.value_and_grad(share)(w), "d")
            loss, grads = lax.psum(jax.value_and_grad(sse)(w, x, y), "d")
            everyone = x.shape[0] * lax.axis_size("d")
            return w - 0.1 * slope - 0.1 * grads / everyone, part + loss / everyone

        train = jax.pmap(step, axis_name="d")
        """,
    "what some devices have alone": """
        def step(x, w):
            mean = jnp.mean(x @ w)
            first = lax.psum(jnp.where(lax.axis_index("d") == 0, mean, 0.0), "d")
            some = lax.psum(mean * (lax.axis_index("d") < 2), "d") / jnp.maximum(mean, -jnp.inf)
            return first, some, lax.pmean(mean, "d")

        run = jax.pmap(step, axis_name="d")
        """,
    "a penalty, a tensor-parallel product and moments": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y):
            loss, grads = jax.value_and_grad(lambda w: mse(w, x, y) + 1e-4 * jnp.sum(w ** 2))(w)
            out = lax.psum(x @ w, "d") / jnp.sqrt(x.shape[-1])
            mean, square = lax.pmean((x.mean(0), (x ** 2).mean(0)), "d")
            return w - 0.1 * lax.pmean(grads, "d"), lax.pmean(loss, "d"), out, square - mean ** 2

        train = jax.pmap(step, axis_name="d")
        """,
    "a sum of which each device keeps a part": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y):
            loss, grads = jax.value_and_grad(mse)(w, x, y)
            part = lax.psum_scatter(grads, "d", tiled=True)  #! scaled-by-device-count
            return w - 0.1 * lax.all_gather(part, "d", tiled=True), lax.pmean(loss, "d")

        def right(w, x, y):
            loss, grads = jax.value_and_grad(mse)(w, x, y)
            part = lax.psum_scatter(grads, "d", tiled=True) / lax.axis_size("d")
            return w - 0.1 * lax.all_gather(part, "d", tiled=True), lax.pmean(loss, "d")

        runs = [jax.pmap(f, axis_name="d", in_axes=(None, 0, 0)) for f in (step, right)]
        """,
    "gradients that a loop adds up": """
        def mse(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def summed(w, xs, ys):
            def body(carry, pair):
                loss, grad = jax.value_and_grad(mse)(w, *pair)
                return (carry[0] + loss, carry[1] + grad), None

            (loss, grad), _ = lax.scan(body, (0.0, jnp.zeros_like(w)), (xs, ys))
            return loss / xs.shape[0], grad / xs.shape[0]

        def step(w, xs, ys):
            loss, grad = summed(w, xs, ys)
            return w - 0.1 * lax.psum(grad, "d"), lax.pmean(loss, "d")  #! scaled-by-device-count

        def right(w, xs, ys):
            loss, grad = summed(w, xs, ys)
            return w - 0.1 * lax.pmean(grad, "d"), lax.pmean(loss, "d")

        runs = [jax.pmap(f, axis_name="d") for f in (step, right)]
        """,
    "products over the examples": """
        def centres(x, member):
            sums = lax.psum(member.T @ x, "d")
            counts = member.sum(0)  #! scaled-by-device-count
            return sums / counts[:, None]

        def covariance(x):
            mean = lax.pmean(x.mean(0), "d")
            parts = lax.psum(jnp.einsum("ni,nj->ij", x - mean, x - mean), "d")
            return parts / x.shape[0]  #! scaled-by-device-count

        def right(x, member):
            n = lax.psum(x.shape[0], "d")
            return lax.psum(member.T @ x, "d") / lax.psum(member.sum(0), "d")[:, None], lax.psum(x.T @ x, "d") / n

        runs = [jax.pmap(f, axis_name="d") for f in (centres, covariance, right)]
        """,
    "counts by bin": """
        def calibration(bins, hit):
            count = jnp.zeros(10).at[bins].add(1.0)
            hits = jnp.zeros(10).at[bins].add(hit)
            count, hits = lax.psum(count, "d"), lax.pmean(hits, "d")  #! scaled-by-device-count
            return hits / jnp.maximum(count, 1)

        def right(bins, hit):
            count = jnp.zeros(10).at[bins].add(1.0)
            hits = jnp.zeros(10).at[bins].add(hit)
            count, hits = lax.psum((count, hits), "d")
            return hits / jnp.maximum(count, 1)

        runs = [jax.pmap(f, axis_name="d") for f in (calibration, right)]
        """,
    "counts of one device below sums of all, in a loop": """
        def fit(centres, x):
            def body(i, c):
                near = jnp.argmin(((x[:, None] - c) ** 2).sum(-1), axis=1)
                hot = jax.nn.one_hot(near, 4)
                total, count = lax.psum(jnp.einsum("nk,nd->kd", hot, x), "d"), hot.sum(axis=0)  #! scaled-by-device-count
                return total / jnp.maximum(count, 1)[:, None]

            return lax.fori_loop(0, 10, body, centres)

        run = jax.pmap(fit, axis_name="d", in_axes=(None, 0))
        run(jnp.ones((4, 2)), jnp.ones((8, 32, 2)))
        """,
    "sums and counts of all, in a loop": """
        def fit(centres, x):
            def body(c, _):
                near = jnp.argmin(((x[:, None] - c) ** 2).sum(-1), axis=1)
                hot = jax.nn.one_hot(near, 4)
                total, count = lax.psum((hot.T @ x, jnp.einsum("nk->k", hot)), "d")
                return total / jnp.maximum(count, 1)[:, None], None

            return lax.scan(body, centres, None, length=10)[0]

        run = jax.pmap(fit, axis_name="d", in_axes=(None, 0))
        run(jnp.ones((4, 2)), jnp.ones((8, 32, 2)))
        """,
    "shares of one device below sums of all": """
        def means(mu, x):
            shares = jax.nn.softmax(-((x[:, None] - mu) ** 2).sum(-1), axis=-1)
            mass = jnp.einsum("nk->k", shares)
            return lax.psum(shares.T @ x, "d") / mass[:, None]  #! scaled-by-device-count

        jax.pmap(means, axis_name="d", in_axes=(None, 0))(jnp.ones((4, 2)), jnp.ones((8, 32, 2)))
        """,
    "groups counted on one device": """
        def means(x, groups):
            totals = lax.psum(jax.ops.segment_sum(x, groups, 10), "d")
            return totals / (jnp.bincount(groups, length=10) + 1e-6)  #! scaled-by-device-count

        jax.pmap(means, axis_name="d")
        """,
    "groups counted on all devices": """
        def means(x, groups):
            totals = lax.psum(jax.ops.segment_sum(x, groups, 10), "d")
            return totals / jnp.maximum(lax.psum(jnp.bincount(groups, length=10), "d"), 1)

        jax.pmap(means, axis_name="d")
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
