"""The primitives that hold jaxprs or need more than a row: which function lowers each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import calls, control
from jaxaudit.frontends.jaxpr.rows import lower_dynamic_slice, lower_unstack
from jaxaudit.frontends.jaxpr.sites import Site

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body

Handler = Callable[["Body", Any, Site], None]

HANDLERS: Mapping[str, Handler] = {
    "call": calls.inlined,
    "checkpoint": calls.checkpoint,
    "closed_call": calls.inlined,
    "composite": calls.inlined,
    "cond": control.cond,
    "core_call": calls.inlined,
    "custom_jvp_call": calls.custom_jvp,
    "custom_vjp_call": calls.custom_vjp,
    "custom_vjp_call_jaxpr": calls.custom_vjp,
    "custom_vmap_call": calls.inlined,
    "dynamic_slice": lower_dynamic_slice,
    "jit": calls.jit,
    "pjit": calls.jit,
    "remat2": calls.checkpoint,
    "scan": control.scan,
    "shard_map": calls.shard_map,
    "unstack": lower_unstack,
    "while": control.while_loop,
    "xla_metadata_call": calls.inlined,
    "xla_pmap": calls.pmap,
}
"""Primitive to handler."""
