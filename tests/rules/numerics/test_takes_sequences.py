"""Which functions of `jax.numpy` take Python lists, as JAX itself has it."""

import inspect

import pytest

from jaxaudit.ir.functions import TAKES_SEQUENCES
from jaxaudit.libraries.lookup import lookup
from jaxaudit.rules.numerics.arithmetic_on_list import CALCULATING

jnp = pytest.importorskip("jax.numpy")


def _takes_list(function: object) -> bool:
    """Whether a function gives a result for a list of two matrices, whatever its other arguments are."""
    required = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]  # type: ignore[arg-type]
    for other in (jnp.eye(3), 1, 0.5):
        try:
            function([jnp.eye(3), jnp.eye(3)], *[other] * (len(required) - 1))  # type: ignore[operator]
        except (TypeError, ValueError, AttributeError, IndexError):
            continue
        return True
    return False


def test_all_others_refuse_lists() -> None:
    taking = set()
    for room, prefix in ((jnp, "jax.numpy."), (jnp.linalg, "jax.numpy.linalg."), (jnp.fft, "jax.numpy.fft.")):
        for name in dir(room):
            row = lookup(prefix + name)
            if row is None or not row.params or row.params[0].startswith("*") or row.op not in CALCULATING:
                continue
            if inspect.isroutine(getattr(room, name)) and _takes_list(getattr(room, name)):
                taking.add(name)
    assert taking
    assert taking <= {one.rpartition(".")[2] for one in TAKES_SEQUENCES}
