"""What `halo-from-wrong-side` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "the last cells from the wrong device": """
        def upwind(u, n):
            ring = [(i, (i - 1) % n) for i in range(n)]
            ghost = lax.ppermute(u[-1:], "d", perm=ring)  #! halo-from-wrong-side
            return u - jnp.concatenate([ghost, u[:-1]])

        run = jax.pmap(upwind, axis_name="d", static_broadcasted_argnums=1)
        """,
    "the far ends, with walls": """
        def widen(u, n, h):
            i = lax.axis_index("d")
            low = lax.ppermute(u[:, :h], "d", [(j, j + 1) for j in range(n - 1)])  #! halo-from-wrong-side
            high = lax.ppermute(u[:, -h:], "d", [(j + 1, j) for j in range(n - 1)])  #! halo-from-wrong-side
            low, high = jnp.where(i == 0, 0.0, low), jnp.where(i == n - 1, 0.0, high)
            return jnp.concatenate([low, u, high], axis=1)

        run = jax.pmap(widen, axis_name="d", static_broadcasted_argnums=(1, 2))
        """,
    "written out": """
        def widen(u):
            low = lax.ppermute(u[-1:], "d", [(1, 0), (2, 1), (3, 2), (0, 3)])  #! halo-from-wrong-side
            return jnp.concatenate([low, u])

        run = jax.pmap(widen, axis_name="d")
        """,
    "single cells, by a helper, from exchanged pairs": """
        def neighbours(u, n):
            pairs = [((j + 1) % n, j) for j in range(n)]
            return lax.ppermute(u[..., -1], "d", pairs)  #! halo-from-wrong-side

        def step(u, n):
            low = neighbours(u, n)
            wide = jnp.concatenate([low[..., None], u], axis=-1)
            return u - 0.1 * jnp.diff(wide, axis=-1)

        run = jax.pmap(step, axis_name="d", static_broadcasted_argnums=1)
        """,
    "written to the ends of a padded block": """
        def step(u):
            n = lax.axis_size("d")
            high = lax.ppermute(u[:, 0], "d", [(j, (j + 1) % n) for j in range(n)])  #! halo-from-wrong-side
            low = lax.ppermute(u[:, -1], "d", [(j, (j + 1) % n) for j in range(n)])
            wide = jnp.pad(u, ((0, 0), (1, 1)))
            wide = wide.at[:, 0].set(low)
            return wide.at[:, -1].set(high)

        run = jax.pmap(step, axis_name="d")
        """,
    "on the side where it belongs, whole blocks, and stacks": """
        def widen(u, n, h):
            i = lax.axis_index("d")
            low = lax.ppermute(u[-h:], "d", [(j, (j + 1) % n) for j in range(n)])
            high = lax.ppermute(u[:h], "d", [(j, (j + n - 1) % n) for j in range(n)])
            wide = jnp.concatenate([jnp.where(i == 0, 0.0, low), u, high])
            after = lax.ppermute(u[:1], "d", [((j + 1) % n, j) for j in range(n)])
            shifted = jnp.concatenate([u[1:], after])
            back = lax.ppermute(u, "d", [(j, (j - 1) % n) for j in range(n)])
            first = lax.ppermute(u[:1], "d", [(j, (j + 1) % n) for j in range(n)])
            return wide, shifted, jnp.concatenate([back, u]), jnp.stack([first, u[:1]]), jnp.concatenate([first, u[-1:]])

        run = jax.pmap(widen, axis_name="d", static_broadcasted_argnums=(1, 2))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
