"""What `one-device-taken-for-all` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a metric beside one that is reduced": """
        def evaluate(w, x, y):
            error = x @ w - y
            return {"mse": lax.pmean(jnp.mean(error ** 2), "d"), "mae": jnp.mean(jnp.abs(error))}  #! one-device-taken-for-all

        run = jax.pmap(evaluate, axis_name="d")

        def report(w, x, y):
            found = flax.jax_utils.unreplicate(run(flax.jax_utils.replicate(w), x, y))
            print(found["mse"], found["mae"])
        """,
    "reduced leaf by leaf, in a function of its own and in a map": """
        @partial(jax.pmap, in_axes=(None, 0), out_axes=None, axis_name="d")
        def grads_of(w, x):
            loss, grads = jax.value_and_grad(lambda w: jnp.mean((x @ w["w"]) ** 2))(w)
            grads = jax.tree.map(lambda g: lax.pmean(g, "d"), grads)
            return lax.pmean(loss, "d"), grads

        @partial(jax.pmap, in_axes=(None, 0), out_axes=None, axis_name="d")
        def errors_of(w, x):
            both = jax.jit(lambda x: lax.pmean(x, "d"))(jnp.mean(x @ w["w"]))
            rows = jax.vmap(lambda x: lax.pmean(x, "d"))(x @ w["w"])
            return lax.pmean(jnp.mean(x), "d"), both, rows.mean()

        @jax.jit
        def step(w, x):
            loss, grads = grads_of(w, x)
            return loss, errors_of(w, x), jax.tree.map(lambda w, g: w - 0.1 * g, w, grads)
        """,
    "a metric alone": """
        def evaluate(w, x, y):
            return jnp.mean((x @ w - y) ** 2)  #? one-device-taken-for-all

        run = jax.pmap(evaluate, axis_name="d", in_axes=(None, 0, 0))

        def report(w, x, y):
            print(run(w, x, y)[0])
        """,
    "running statistics": """
        def step(w, mean, x, y):
            grads = jax.grad(lambda w: jnp.mean(((x - mean) @ w - y) ** 2))(w)
            mean = 0.9 * mean + 0.1 * x.mean(0)  #! one-device-taken-for-all
            return w - 0.1 * lax.pmean(grads, "d"), mean

        run = jax.pmap(step, axis_name="d")

        def train(batches):
            w, mean = flax.jax_utils.replicate((jnp.zeros(3), jnp.zeros(3)))
            for x, y in batches:
                w, mean = run(w, mean, x, y)
            return jax.tree.map(lambda v: v[0], (w, mean))
        """,
    "the statistics of a layer": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x, train):
                x = nn.BatchNorm(use_running_average=not train)(x)  #! one-device-taken-for-all
                return nn.Dense(1)(x)[..., 0]

        def step(params, stats, x, y):
            def loss_fn(params):
                out, new = Net().apply({"params": params, "batch_stats": stats}, x, True, mutable=["batch_stats"])
                return jnp.mean((out - y) ** 2), new["batch_stats"]

            (loss, new), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
            loss, grads = lax.pmean((loss, grads), "d")
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), new, loss

        def train(params, stats, batches):
            run = jax.pmap(step, axis_name="d")
            for x, y in batches:
                params, stats, loss = run(params, stats, x, y)
                print(loss[0])
            return jax.tree.map(lambda v: v[0], (params, stats))
        """,
    "statistics of all devices, and put together later": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x, train):
                x = nn.BatchNorm(use_running_average=not train, axis_name="d")(x)
                return nn.Dense(1)(x)[..., 0]

        def step(params, stats, mean, x, y):
            def loss_fn(params):
                out, new = Net().apply({"params": params, "batch_stats": stats}, x, True, mutable=["batch_stats"])
                return jnp.mean((out - y) ** 2), new["batch_stats"]

            (loss, new), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
            loss, grads = lax.pmean((loss, grads), "d")
            mean = 0.9 * mean + 0.1 * x.mean(0)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), new, mean, loss

        def train(params, stats, mean, batches):
            run = jax.pmap(step, axis_name="d")
            for x, y in batches:
                params, stats, mean, loss = run(params, stats, mean, x, y)
                print(loss[0])
            mean = jax.pmap(lambda v: lax.pmean(v, "d"), axis_name="d")(mean)
            return jax.tree.map(lambda v: v[0], (params, stats, mean))
        """,
    "samples, single examples, sizes, norms of parameters, and means taken outside": """
        def step(w, x, y):
            error = (x @ w - y) ** 2
            loss = lax.pmean(jnp.mean(error), "d")
            return {"loss": loss, "own": jnp.mean(error), "each": error, "count": x.shape[0], "norm": jnp.sum(w ** 2)}

        run = jax.pmap(step, axis_name="d")

        def report(w, batches):
            w = jnp.stack([w] * jax.local_device_count())
            for x, y in batches:
                found = run(w, x, y)
                print(found["loss"][0], found["own"].mean(), found["each"][0], found["count"][0], found["norm"][0])
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
