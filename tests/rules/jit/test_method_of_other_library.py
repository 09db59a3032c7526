"""What `method-of-other-library` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "dtypes are no arrays": """
        def half(x):
            kind = jnp.dtype(f"uint{8 * x.dtype.itemsize}")
            return x // kind.type(2) + jnp.promote_types(x.dtype, jnp.float32).type(1)

        def wrong(x):
            return jnp.abs(x).type(jnp.int32)  #! method-of-other-library
        """,
    "a function that asks what it is given": """
        import torch
        from typing import Protocol, runtime_checkable

        class Boxed:
            def __init__(self, value, axes):
                self.value, self.axes = value, axes

            def unbox(self):
                return self.value

        @runtime_checkable
        class Sized(Protocol):
            shape: tuple

        def total(value):
            if isinstance(value, Boxed):
                value = value.unbox()
            if isinstance(value, torch.Tensor):
                return value.detach().numpy().sum()
            if hasattr(value, "get_value"):
                return value.get_value().sum()
            if type(value).__name__ == "Tensor":
                return value.unsqueeze(0).sum()
            if isinstance(value, Sized):
                return value.total()
            if value.ndim > 3:
                return value.sum()
            return value.unsqueeze(0)  #! method-of-other-library

        def run():
            return total(jnp.ones((3, 3)))
        """,
    "what no array has": """
        def misspelled(n):
            x = jnp.zeros((n, 3)) * 2
            total = x.sum().itemm()  #! method-of-other-library
            return total, jnp.exp(x).lenght + 1  #! method-of-other-library

        def of_other_things(x, state, key):
            pair = jnp.linalg.svd(x)
            found = jnp.unique_counts(x)
            return pair.U, found.counts, state.lenght + 1, (x + 1).lenght + 1, jnp.finfo(x.dtype).smallest, jax.random.key_data(key).T, np.ones(3).base + 1, np.asarray(jnp.ones(3)).flags + 1

        class Named:
            def __init__(self, array):
                self.array = array

            def __add__(self, other):
                return Named(self.array + other)

        def wrapped(n):
            return (Named(jnp.ones(n)) + 1).array.mT
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
