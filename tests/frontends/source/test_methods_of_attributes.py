"""Methods on attributes of objects of which nothing is known: those that only arrays have are those of arrays."""

from __future__ import annotations

import pytest

from .reading import shapes

_START = "import jax.numpy as jnp\ndef f(state):\n    assert state.image.ndim == 3\n"


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("state.image.reshape(4, 5)", "4 5"),
        ("state.image.astype(int)[:, 0, 0]", "state.image.shape[0]"),
        ("state.image.mean(axis=(0, 1))", "state.image.shape[2]"),
        ("state.image.max(0)[0]", "state.image.shape[2]"),
        # A distribution has a mean as well.
        ("state.belief.mean() * 1", "?"),
    ],
)
def test_a_method_that_only_arrays_have(read: str, expected: str) -> None:
    found = shapes(f"{_START}    result = {read}\n    return result\n")
    assert found[-1].replace("image.shape", "state.image.shape").replace("state.state", "state") == expected
