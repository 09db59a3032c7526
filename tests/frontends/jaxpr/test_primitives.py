"""Every primitive of JAX has a row, a handler, or a reason why it is not modelled; and rows agree with the vocabulary."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("jax")

from jaxaudit.frontends.jaxpr.equations import HANDLERS
from jaxaudit.frontends.jaxpr.primitives import ROWS, UNMODELLED
from jaxaudit.frontends.jaxpr.runs import KEY_PRIMITIVES
from jaxaudit.ir.ops import VOCABULARY

MODULES = """
    jax.numpy jax.random jax.nn jax.scipy.linalg jax.scipy.special jax.lax.linalg jax.export jax.ffi jax.ad_checkpoint
    jax.custom_batching jax.custom_derivatives jax.experimental.checkify jax.experimental.ode jax.experimental.rnn
    jax.experimental.custom_partitioning jax.experimental.multihost_utils jax.experimental.pallas
    jax.experimental.sparse jax.experimental.buffer_callback
"""


COLLECT = """
import gc, importlib
from jax.extend.core import Primitive

for name in {modules!r}.split():
    try:
        importlib.import_module(name)
    except ImportError:
        continue
print(*sorted({{thing.name for thing in gc.get_objects() if isinstance(thing, Primitive)}}))
"""


def all_primitives() -> set[str]:
    """Ask a fresh process, where nothing but JAX has made any."""
    code = COLLECT.format(modules=MODULES)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_primitive_is_mapped_or_listed():
    known = {*ROWS, *HANDLERS, *UNMODELLED, *KEY_PRIMITIVES}
    found = all_primitives()
    assert len(found) > 200
    assert found - known == set()


def test_no_primitive_is_in_two_tables():
    assert not ROWS.keys() & UNMODELLED.keys()
    assert not HANDLERS.keys() & UNMODELLED.keys()
    assert not KEY_PRIMITIVES.keys() & UNMODELLED.keys()


def test_rows_give_ops_of_the_vocabulary():
    assert {row.op for row in ROWS.values()} <= VOCABULARY.keys()


def test_every_reason_is_a_phrase():
    assert all(reason and not reason.endswith(".") for reason in UNMODELLED.values())
