"""Every primitive of JAX has a row, a handler, or a reason why it is not modelled; and rows agree with the vocabulary."""

from __future__ import annotations

import gc
import importlib

import pytest

pytest.importorskip("jax")

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.handlers import HANDLERS
from jaxaudit.frontends.jaxpr.markers import MARKER
from jaxaudit.frontends.jaxpr.primitives import ROWS, UNMODELLED
from jaxaudit.frontends.jaxpr.runs import KEY_PRIMITIVES
from jaxaudit.ir.ops import VOCABULARY

MODULES = """
    jax.numpy jax.random jax.nn jax.scipy.linalg jax.scipy.special jax.lax.linalg jax.export jax.ffi jax.ad_checkpoint
    jax.custom_batching jax.custom_derivatives jax.experimental.checkify jax.experimental.ode jax.experimental.rnn
    jax.experimental.custom_partitioning jax.experimental.multihost_utils jax.experimental.pallas
    jax.experimental.sparse jax.experimental.buffer_callback
"""


def all_primitives() -> set[str]:
    for name in MODULES.split():
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    found = [thing for thing in gc.get_objects() if isinstance(thing, compat.Primitive)]
    return {one.name for one in found if not type(one).__module__.startswith(("equinox", "numpyro", "tests"))}


FOREIGN = ("noinline", "nontraceable", "unvmap", "maybe_set", "select_if_vmap", "nondifferentiable", "announce")
"""Starts of the names of primitives that other libraries add when they are installed."""


def test_every_primitive_is_mapped_or_listed():
    known = {*ROWS, *HANDLERS, *UNMODELLED, *KEY_PRIMITIVES, MARKER}
    # JAX makes further ones for single calls, such as `vjp_node[jit]`.
    unknown = {name for name in all_primitives() - known if not name.startswith(FOREIGN) and "[" not in name}
    assert unknown == set()


def test_no_primitive_is_in_two_tables():
    assert not ROWS.keys() & UNMODELLED.keys()
    assert not HANDLERS.keys() & UNMODELLED.keys()
    assert not KEY_PRIMITIVES.keys() & UNMODELLED.keys()


def test_rows_give_ops_of_the_vocabulary():
    assert {row.op for row in ROWS.values()} <= VOCABULARY.keys()


def test_every_reason_is_a_phrase():
    assert all(reason and not reason.endswith(".") for reason in UNMODELLED.values())
