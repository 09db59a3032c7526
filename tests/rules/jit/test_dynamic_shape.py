"""What `dynamic-shape` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "the bounds of a grid": """
        @jax.jit
        def grid(low, high, n):
            return jnp.logspace(jnp.log10(low), high, 20) + jnp.geomspace(low, high, 20) + jnp.linspace(low, high, 20)

        @jax.jit
        def wrong(low, high, n):
            return jnp.logspace(low, high, n)  #! dynamic-shape
        """,
    "ends of a range of numbers are no sizes": """
        @jax.jit
        def half_lives(steps):
            return jnp.logspace(1, jnp.log10(steps), 10)

        @jax.jit
        def spaced(steps):
            return jnp.linspace(0, 1, steps)  #! dynamic-shape
        """,
    "what a model of one's own is run with": """
        import flax.linen as nn

        class Model(nn.Module):
            def made(self):
                def run(params, x, step):
                    return self.apply(params, x, step=step, shape=step)

                return jax.jit(run)

        @jax.jit
        def counted(step):
            return jnp.arange(0, 10, step=step)  #! dynamic-shape
        """,
    "counting distinct values under jit": """
        @jax.jit
        def f(labels):
            return jnp.unique(labels).shape[0]  #! dynamic-shape
        """,
    "a number among the children": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return (self.w, self.n), None

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)

            @jax.jit
            def go(self, x):
                return x.reshape(self.n, 3)  #! dynamic-shape
        def main(x):
            return Net(jnp.ones(()), 3).go(x)
        """,
    "boolean masks made of masks": """
        @jax.jit
        def pick(x, y):
            keep = (x > 0) & (y < 1)
            return x[keep].sum(), jnp.unique(y)  #! dynamic-shape
        """,
    "sides for arrays of one kind, however it is asked": """
        def is_integer(x):
            return jnp.issubdtype(x.dtype, jnp.integer)

        def by_class(x, labels):
            if jnp.issubdtype(labels, jnp.integer):
                labels = jax.nn.one_hot(labels, labels.max() + 1)
            return labels.T @ x

        def by_rank(x, labels):
            flat = jnp.ndim(labels) == 1
            if labels is not None and flat:
                labels = jax.nn.one_hot(labels, labels.max() + 1)
            return labels.T @ x

        def by_helper(x, labels):
            return (jax.nn.one_hot(labels, labels.max() + 1) if is_integer(labels) else labels).T @ x

        def by_size(x, labels):
            if labels.max() * 0 + labels.shape[0] is not None:
                labels = jax.nn.one_hot(labels, labels.max() + 1)  #! dynamic-shape
            return labels.T @ x

        @jax.jit
        def model(x, ids):
            hot = jax.nn.one_hot(ids, 7)
            return by_class(x, hot), by_rank(x, hot), by_helper(x, hot), by_size(x, ids)

        model(jnp.ones((5, 3)), jnp.arange(5))
        """,
    "sizes from values": """
        @jax.jit
        def grow(x):
            n = jnp.argmax(x)
            return jnp.zeros((n, 2)), x[: n + 1]  #! dynamic-shape
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
