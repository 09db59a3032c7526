"""What `flatten-order-mismatch` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "examples that are dealt out one by one": """
        import numpy as np

        def shard(x, n):
            per_device = x.shape[0] // n
            return x.reshape(per_device, n, *x.shape[1:]).swapaxes(0, 1)

        def accuracy(x, labels):
            guesses = jax.pmap(lambda a: a.argmax(-1))(shard(x, jax.local_device_count()))
            return (np.asarray(guesses).reshape(-1) == np.asarray(labels)).mean()  #! flatten-order-mismatch

        def error(w, x, y):
            guesses = jax.lax.map(lambda rows: rows @ w, shard(x, 4))
            return jnp.mean((jnp.concatenate(guesses) - y) ** 2)

        def direct(w, x, y):
            guesses = jnp.einsum("dnf,f->dn", shard(x, 4), w).ravel()
            return jnp.mean((y - guesses) ** 2)  #! flatten-order-mismatch

        def main(key):
            k1, k2 = jax.random.split(key)
            x, labels = jax.random.normal(k1, (64, 3)), jax.random.randint(k2, (64,), 0, 3)
            return accuracy(x, labels), error(jnp.ones(3), x, jnp.ones(64)), direct(jnp.ones(3), x, jnp.ones(64))

        main(jax.random.key(0))
        """,
    "transposed between two reshapes": """
        from typing import NamedTuple

        class Batch(NamedTuple):
            x: jax.Array
            y: jax.Array

        def chunks(batch):
            return jnp.transpose(batch.x.reshape(8, 4, 3), (1, 0, 2))

        def residuals(batch):
            means = jax.vmap(jax.vmap(jnp.mean))(chunks(batch))
            return batch.y - means.reshape(32)  #! flatten-order-mismatch

        residuals(Batch(jnp.ones((32, 3)), jnp.ones(32)))
        """,
    "both alike, back again, channels that are shuffled, and blocks": """
        def shard(x):
            return x.reshape(8, 4, *x.shape[1:]).swapaxes(0, 1)

        def both(x, y):
            means = jax.vmap(jax.vmap(jnp.mean))(shard(x))
            return means.reshape(-1) - shard(y).reshape(-1), means.swapaxes(0, 1).reshape(-1) - y

        def shuffled(x, bias):
            mixed = x.reshape(8, 2, 4).swapaxes(1, 2).reshape(8, 8)
            return mixed * bias + x

        def blocks(x, y):
            means = jax.vmap(jax.vmap(jnp.mean))(x.reshape(4, 8, 3))
            return means.reshape(-1) - y

        both(jnp.ones((32, 3)), jnp.ones(32))
        shuffled(jnp.ones((8, 8)), jnp.ones(8))
        blocks(jnp.ones((32, 3)), jnp.ones(32))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert [one for one in said(program) if one[1] == "flatten-order-mismatch"] == marked(program)
