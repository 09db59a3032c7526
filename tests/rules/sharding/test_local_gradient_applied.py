"""What `local-gradient-applied` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "by hand, with momentum": """
        def loss(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, m, x, y):
            value, grads = jax.value_and_grad(loss)(w, x, y)
            m = 0.9 * m + grads
            w = w - 0.01 * m  #! local-gradient-applied
            return w, m, lax.pmean(value, "d")

        train = jax.pmap(step, axis_name="d")
        """,
    "one leaf is left out": """
        def loss(params, x, y):
            return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2)

        def step(params, x, y):
            g = jax.grad(loss)(params, x, y)
            g = {"w": lax.pmean(g["w"], "d"), "b": g["b"]}  #! local-gradient-applied
            return jax.tree.map(lambda p, d: p - 0.01 * d, params, g)

        train = jax.pmap(step, axis_name="d")
        """,
    "every leaf of a dict": """
        TX = optax.adam(1e-3)

        def loss(params, x, y):
            return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2)

        def step(params, opt, x, y):
            value, grads = jax.value_and_grad(loss)(params, x, y)
            grads = {name: lax.pmean(grad, "d") for name, grad in grads.items()}
            updates, opt = TX.update(grads, opt)
            return optax.apply_updates(params, updates), opt, lax.pmean(value, "d")

        train = jax.pmap(step, axis_name="d")
        """,
    "a shard_map that JAX does not check": """
        from jax.sharding import PartitionSpec as P

        def loss(w, x, y):
            return jnp.mean((x @ w - y) ** 2)

        def step(w, x, y):
            value, grad = jax.value_and_grad(loss)(w, x, y)
            return w - 0.1 * grad, lax.pmean(value, "data")  #! local-gradient-applied

        mesh = jax.make_mesh((4,), ("data",))
        specs = (P(), P("data"), P("data"))
        run = jax.jit(jax.shard_map(step, mesh=mesh, in_specs=specs, out_specs=(P(), P()), check_vma=False))
        print(run(jnp.zeros(3), jnp.ones((16, 3)), jnp.ones(16)))
        """,
    "reduced by a later map over devices, by another name": """
        def loss(w, m, x, y):
            return jnp.mean(((x - m) @ w - y) ** 2), 0.9 * m + 0.1 * x.mean(0)

        def step(w, m, x, y):
            (value, m), grads = jax.value_and_grad(loss, has_aux=True)(w, m, x, y)
            return w - 0.1 * lax.pmean(grads, "d"), m, lax.pmean(value, "d")

        def train(w, m, batches):
            run = jax.pmap(step, axis_name="d")
            for x, y in batches:
                w, m, value = run(w, m, x, y)
                print(value[0])
            return w[0], jax.pmap(lambda v: lax.pmean(v, "e"), axis_name="e")(m)[0]
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
