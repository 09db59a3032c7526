"""What `rebuild-needs-values` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a check of numbers alone": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, rate):
                if not isinstance(rate, jax.core.Tracer) and rate <= 0:
                    raise ValueError
                self.w, self.rate = w, rate
            def tree_flatten(self):
                return (self.w, self.rate), None
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)
        def main(w):
            return jax.jit(lambda n: n.w)(Net(w, 0.1))
        """,
    "a check of the structure": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                if n <= 0:
                    raise ValueError
                self.w, self.n = w, int(n)
            def tree_flatten(self):
                return (self.w,), (self.n,)
            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)
        def main(w):
            return jax.jit(lambda n: n.w)(Net(w, 2))
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
