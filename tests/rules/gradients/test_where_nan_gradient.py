"""What `where-nan-gradient` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, messages, said

PROGRAMS = {
    "gradients of what is masked out": """
        def g1(w, x): r = x @ w; return jnp.where(r > 0, jnp.log(r), 0.0).sum()  #! where-nan-gradient
        def g2(w, x): n = jnp.linalg.norm(x * w, axis=-1); return jnp.where(n > 1e-6, 1.0 / n, 0.0).sum()  #! where-nan-gradient
        def g3(w, x): r = x @ w; return jnp.where(r == 0, 0.0, jnp.sin(r) / r).sum()  #! where-nan-gradient
        def g4(w, x): r = jnp.maximum(x @ w, 0.0); return jnp.sqrt(r).sum()  #! where-nan-gradient
        def g5(w, x): y = x * w; d = y[:, None] - y[None]; return jnp.sqrt((d ** 2).sum(-1)).sum()  #! where-nan-gradient
        def g6(w, x): r = x @ w; return jnp.where(jnp.abs(r) < 1, jnp.arccos(r), 0.0).sum()  #! where-nan-gradient
        def k1(w, x): r = x @ w; s = jnp.where(r > 0, r, 1.0); return jnp.where(r > 0, jnp.log(s), 0.0).sum()
        def k2(w, x): n = jnp.sqrt(((x * w) ** 2).sum(-1) + 1e-8); return jnp.where(n > 1e-3, 1.0 / n, 0.0).sum()
        def k3(w, x): r = x @ w; return jnp.where(x[:, 0] > 0, jnp.exp(-r * r), 0.0).sum()
        def k4(w, x): return jnp.where(x > 0, jnp.log(x), 0.0).sum() * w.sum()
        def k5(w, x): r = x @ w; return jnp.where(r > 0, jnp.log(jax.lax.stop_gradient(r)), 0.0).sum() + r.sum()
        def k6(w, x): r = x @ w; return jnp.where(r > 0, r ** 2, -r).sum()
        def k7(w, x): r = x @ w; return jnp.sqrt(jax.nn.relu(r)).sum() + jnp.sqrt(jnp.where(r > 0, r, 0.0)).sum()
        W = jax.random.normal(jax.random.key(0), (3,))
        X = jax.random.normal(jax.random.key(1), (4, 3))
        for _ in range(1):
            jax.grad(g1)(W, X), jax.grad(g2)(W, X), jax.grad(g3)(W, X), jax.grad(g4)(W, X), jax.grad(g5)(W, X)
            jax.grad(g6)(W, X), jax.grad(k1)(W, X), jax.grad(k2)(W, X), jax.grad(k3)(W, X), jax.grad(k4)(W, X)
            jax.grad(k5)(W, X), jax.grad(k6)(W, X), jax.grad(k7)(W, X)
        """,
    "distances along edges of which some are there to fill up": """
        def stretch(a, b):
            return jnp.sqrt(jnp.sum((a - b) ** 2))  #! where-nan-gradient

        def springs(knots, first, second, valid):
            return jnp.where(valid, jax.vmap(stretch)(knots[first], knots[second]), 0.0).sum()

        def bonds(pos, near):
            i, j = jnp.nonzero(near, size=40, fill_value=0)
            length = jnp.linalg.norm(pos[i] - pos[j], axis=-1)  #! where-nan-gradient
            return jnp.where(jnp.arange(40) < near.sum(), length, 0.0).sum()

        def complete(pos):
            i, j = jnp.nonzero(~jnp.eye(8, dtype=bool), size=56)
            return jnp.exp(-jnp.linalg.norm(pos[i] - pos[j], axis=-1)).sum()

        def masked_before(pos, near):
            i, j = jnp.nonzero(near, size=40, fill_value=0)
            used = jnp.arange(40) < near.sum()
            apart = jnp.where(used[:, None], pos[i] - pos[j], 1.0)
            return jnp.where(used, jnp.linalg.norm(apart, axis=-1), 0.0).sum()

        def filled_apart(pos, near):
            i, j = jnp.nonzero(near, size=40, fill_value=0)
            used = jnp.arange(40) < near.sum()
            apart = pos[i] - pos[jnp.where(used, j, 1)]
            return jnp.where(used, jnp.linalg.norm(apart, axis=-1), 0.0).sum()

        def by_sides(pos, near):
            i, j = jnp.nonzero(near, size=40, fill_value=0)
            apart, every = pos[i] - pos[j], pos[:, None] - pos[None]
            most = jnp.linalg.norm(every, jnp.inf, axis=-1).sum()
            cube = jnp.linalg.norm(every, ord=3, axis=-1).sum()  #! where-nan-gradient
            return jnp.linalg.norm(apart, ord=1, axis=-1).sum() + most + cube

        def of_two(pos, near):
            i, j = jnp.nonzero(near, size=40, fill_value=0)
            return jnp.linalg.norm(pos[i] - (2.0 * pos)[j], axis=-1).sum()

        def main(key):
            pos = jax.random.normal(key, (8, 3))
            near = ((pos[:, None] - pos[None]) ** 2).sum(-1) < 1.0
            pairs = jax.random.randint(jax.random.key(1), (40, 2), 0, 8)
            valid = jnp.arange(40) < near.sum()
            first, second = jnp.where(valid, pairs[:, 0], 0), jnp.where(valid, pairs[:, 1], 0)
            found = jax.grad(springs)(pos, first, second, valid) + jax.grad(bonds)(pos, near)
            safe = jax.grad(complete)(pos) + jax.grad(masked_before)(pos, near) + jax.grad(filled_apart)(pos, near)
            return found, safe, jax.grad(of_two)(pos, near), jax.grad(by_sides)(pos, near)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_messages_name_the_reason():
    found = messages(PROGRAMS["gradients of what is masked out"], "where-nan-gradient")
    assert found[0] == "the gradient of log is NaN at the points that this `where` masks out"
