"""What `in-place-update` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "everything at once, and what NumPy writes into": """
        import numpy as np

        @jax.jit
        def gains(x):
            return x * 2

        def plan(belief, cells):
            belief = np.asarray(belief)
            for r in cells:
                patch = belief[r : r + 3]
                patch[...] = np.round(patch)  #! in-place-update
            return belief

        def main(xs):
            known = plan(gains(jnp.ones(9)), [0, 3])
            x = jnp.zeros(3)
            x[...] = 1.0  #! in-place-update
            order = np.array(gains(jnp.ones(9)))
            order.sort()
            ranked = sorted(np.asarray(gains(jnp.ones(9))))
            np.copyto(np.asarray(gains(jnp.ones(9))), order)  #! in-place-update
            return known, x, order, ranked
        """,
    "an array of JAX is added to a view": """
        import numpy as np

        def total(xs):
            out, own = np.asarray(jnp.zeros(3)), np.asarray(jnp.zeros(3))
            out += jnp.ones(3)
            out += xs
            own -= 1.0  #! in-place-update
            return out, own
        """,
    "entries with names": """
        def finish(metrics, x):
            metrics = jax.jit(lambda x: x * 2)(x)
            metrics[0] = 1.0  #! in-place-update
            metrics["rate"] = 1.0  #! index-not-integer
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
    "leaves of trees that are bound anew and go nowhere": """
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)

        def eager(p, x, s):
            grads = jax.grad(loss)(p, x)
            for g in jax.tree.leaves(grads):
                g *= s  #! in-place-update
            return grads

        @jax.jit
        def flat(p, x):
            leaves, treedef = jax.tree.flatten(jax.grad(loss)(p, x))
            for leaf in leaves:
                leaf += 0.1  #! in-place-update
            return jax.tree.unflatten(treedef, leaves)

        @jax.jit
        def descend(params, grads, rate):
            for p, g in zip(jax.tree.leaves(params), jax.tree.leaves(grads)):
                p -= rate * g  #! in-place-update
            return params

        def halved(p, x):
            grads = jax.grad(loss)(p, x)
            w = grads["w"]
            w *= 0.5  #! in-place-update
            return grads

        def rows(n):
            table = jnp.zeros((4, n))
            for row in table:
                row += 1.0  #! in-place-update
            return table

        def scale(x, s):
            x *= s  #! in-place-update

        def run(key):
            x = jax.random.normal(key, (3,))
            scale(x, 2.0)
            return x
        """,
    "what can be changed, and what is read": """
        def arrays(n):
            parts = [np.zeros(3) for _ in range(n)]
            for one in parts:
                one += 1.0
            return parts

        @jax.jit
        def doubled(p):
            out = []
            for leaf in jax.tree.leaves(p):
                leaf *= 2.0
                out.append(leaf)
            return out

        def copied(tree):
            tree = jax.tree.map(np.array, tree)
            for leaf in jax.tree.leaves(tree):
                leaf *= 2.0
            return tree

        @jax.jit
        def lists(parts, x):
            for one in parts:
                one += [x]
            return parts
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
