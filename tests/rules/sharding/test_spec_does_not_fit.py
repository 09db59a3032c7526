"""What `spec-does-not-fit` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a constraint in a helper": """
        from jax.sharding import NamedSharding, PartitionSpec as P

        MESH = jax.make_mesh((8,), ("batch",))

        def spread(x):
            return jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P(None, "batch")))  #! spec-does-not-fit

        @jax.jit
        def run(x):
            return spread(jnp.tanh(x))

        y = run(jnp.ones((16, 12)))
        """,
    "shards of unequal size": """
        from functools import partial
        from jax.sharding import PartitionSpec as P

        @partial(jax.shard_map, mesh=jax.make_mesh((2, 3), ("data", "model")), in_specs=(P("model"),), out_specs=P("model"))
        def double(x):
            return 2.0 * x

        y = double(jnp.ones(10))  #! spec-does-not-fit
        """,
    "two axes of the mesh at once, in a method": """
        import numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

        class Cluster:
            def __init__(self, rows, columns):
                self.mesh = Mesh(np.array(jax.devices()).reshape(rows, columns), ("data", "model"))

            def place(self, x, *names):
                return jax.device_put(x, NamedSharding(self.mesh, P(names)))  #! spec-does-not-fit

        y = Cluster(4, 2).place(jnp.ones((12, 3)), "data", "model")
        """,
    "a tree of shardings for a named tuple": """
        from typing import NamedTuple
        from jax.sharding import NamedSharding, PartitionSpec as P

        class Params(NamedTuple):
            kernel: jax.Array
            bias: jax.Array

        mesh = jax.make_mesh((4,), ("model",))
        by_column = NamedSharding(mesh, P(None, "model"))
        apply = jax.jit(lambda p, x: x @ p.kernel + p.bias, in_shardings=(Params(by_column, by_column), None))
        y = apply(Params(jnp.ones((3, 8)), jnp.ones(8)), jnp.ones((5, 3)))  #! spec-does-not-fit
        """,
    "fewer entries than axes, and none for what is not split": """
        from jax.sharding import NamedSharding, PartitionSpec as P

        mesh = jax.make_mesh((4, 2), ("data", "model"))
        x = jax.device_put(jnp.ones((16, 5, 7)), NamedSharding(mesh, P(("data", "model"))))
        b = jax.device_put({"w": jnp.ones((3, 8)), "b": jnp.ones(8)}, {
            "w": NamedSharding(mesh, P(None, "model")), "b": NamedSharding(mesh, P("model"))
        })
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
