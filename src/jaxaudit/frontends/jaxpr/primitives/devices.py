"""Collectives, placement, gradients that stop, callbacks, and values that only pass through."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.primitives.base import Equation, Row, named, plain
from jaxaudit.ir import Argument

Arguments = dict[str, Argument]

_COLLECTIVE_PARAMS = ("axis_name", "axes", "all_gather_dimension", "scatter_dimension", "split_axis", "concat_axis")
_COLLECTIVE_PARAMS += ("perm", "tiled", "axis_size")

_COLLECTIVES = """
    all_gather all_gather_invariant all_gather_reduced all_to_all axis_index pbroadcast pmax pmin ppermute precv
    psend psum psum_invariant ragged_all_to_all reduce_scatter unreduced_psum unreduced_reduce_scatter
    unreduced_pmax unreduced_pmin pbroadcast_dynamic
"""

_ASYNCHRONOUS = """
    all_gather_start all_gather_done all_gather_reduced_start all_to_all_start all_to_all_done pbroadcast_start
    pbroadcast_done ppermute_start ppermute_done psum_start psum_done psum_invariant_start reduce_scatter_start
    reduce_scatter_done unreduced_psum_start unreduced_reduce_scatter_start
"""

_PASSED_ON = """
    device_put sharding_constraint layout_constraint with_memory_space_constraint reshard pvary preduced
    reduced_vary_cast_p vary_unreduced_cast_p reduced_vary_cast vary_unreduced_cast inspect_sharding relayout
    global_array_to_host_local_array host_local_array_to_global_array xla_metadata_value mesh_cast
"""


def _collective(equation: Equation) -> Arguments:
    params = equation.params
    known = {name: plain(params[name]) for name in _COLLECTIVE_PARAMS if name in params}
    axes = known.pop("axes", known.pop("axis_name", None))
    return {"x": equation.inputs if len(equation.inputs) != 1 else equation.inputs[0], "axis_name": axes, **known}


def _all(equation: Equation) -> Arguments:
    return {"x": equation.inputs[0]} if len(equation.inputs) == 1 else {"args": equation.inputs}


DEVICES: dict[str, Row] = {
    **{name: Row("collective", name, _collective) for name in (_COLLECTIVES + _ASYNCHRONOUS).split()},
    **{name: Row("device.place", name, named("x")) for name in _PASSED_ON.split()},
    "debug_callback": Row("callback", "jax.debug.callback", _all),
    "debug_print": Row("callback", "jax.debug.print", _all),
    "io_callback": Row("callback", "jax.experimental.io_callback", _all),
    "pure_callback": Row("callback", "jax.pure_callback", _all),
    "name": Row("array.convert", "checkpoint_name", named("a")),
    "optimization_barrier": Row("device.place", "optimization_barrier", _all),
    "random_clone": Row("key.clone", "jax.random.clone", named("key")),
    "stop_gradient": Row("grad.stop", "stop_gradient", named("x")),
}
