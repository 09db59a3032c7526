"""What `in-place-update` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "entries with names": """
        def finish(metrics, x):
            metrics = jax.jit(lambda x: x * 2)(x)
            metrics["rate"] = 1.0
            metrics[0] = 1.0  #! in-place-update
            return metrics
        """,
    "lists of rows, on one path or the other": """
        def weights(batch, rng, each):
            if each:
                found = list(jax.random.beta(rng, 1.0, 1.0, shape=[len(batch)]))
            else:
                found = [jax.random.beta(rng, 1.0, 1.0)] * len(batch)
            for i in range(len(batch)):
                found[i] *= jnp.ones((3, 1))
            return found

        def rows(batch, rng):
            found = jax.random.beta(rng, 1.0, 1.0, shape=[len(batch)])
            for i in range(len(batch)):
                found[i] *= 2.0  #! in-place-update
            return found
        """,
    "what einops rearranges stays what it is": """
        import torch
        from einops import rearrange

        def corners(frames, height, shift):
            grid = torch.stack(torch.meshgrid(torch.arange(frames), torch.arange(height)), dim=0)
            flat = rearrange(grid, "c f h -> c (f h)") * torch.tensor(2)
            flat[0] = flat[0] + shift
            return flat

        def wrong(shift):
            flat = rearrange(jnp.ones((2, 3, 4)), "c f h -> c (f h)") * 2
            flat[0] = flat[0] + shift  #! in-place-update
            return flat
        """,
    "a function that is not followed reads what is around it": """
        def nested(points, pattern, ok):
            def at():
                best = jnp.asarray(points)[pattern]
                best += -best % 10
                return jax.lax.cond(ok, lambda: best, lambda: 25)
            return LEVELS
        """.replace("LEVELS", "(lambda: " * 10 + "at()" + ")()" * 10),
    "a tree under a collective": """
        def update(params, batch):
            def loss(params):
                value = (params * batch).sum()
                return value, {"value": value}

            (value, extras), grads = jax.value_and_grad(loss, has_aux=True)(params)
            value, extras, grads = lax.pmean((value, extras, grads), axis_name="i")
            extras["norm"] = jnp.sqrt(jnp.vdot(grads, grads))
            return extras

        def main(params, batch):
            return jax.pmap(update, axis_name="i")(params, batch)
        """,
    "a copy of a dict that is traced": """
        @jax.jit
        def extended(collections, parameters):
            collections = collections.copy()
            collections["parameters"] = parameters
            return collections

        def main(x):
            return extended({"a": x}, x)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
