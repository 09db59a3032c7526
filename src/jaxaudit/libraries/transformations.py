"""Functions that transform a function: jit, vmap, grad and their kin, in every library's spelling."""

from __future__ import annotations

from jaxaudit.ir.record import record

_ROWS = """
jit: jax.jit equinox.filter_jit flax.linen.jit flax.nnx.jit haiku.jit haliax.named_jit chex.variants.with_jit: in_shardings out_shardings static_argnums static_argnames donate_argnums donate_argnames
vmap: jax.vmap haiku.vmap flax.nnx.vmap: in_axes out_axes axis_name axis_size spmd_axis_name
vmap: equinox.filter_vmap haliax.vmap:
pmap: jax.pmap equinox.filter_pmap flax.nnx.pmap haiku.pmap: axis_name
grad: jax.grad jax.value_and_grad: argnums has_aux holomorphic allow_int reduce_axes
grad: flax.nnx.grad flax.nnx.value_and_grad haiku.grad haiku.value_and_grad: argnums has_aux
grad: equinox.filter_grad equinox.filter_value_and_grad:
vjp: jax.jacrev jax.hessian jax.jacobian equinox.filter_jacrev equinox.filter_hessian: argnums has_aux
jvp: jax.jacfwd equinox.filter_jacfwd: argnums has_aux
checkpoint: jax.checkpoint equinox.filter_checkpoint haiku.remat: concrete prevent_cse static_argnums policy
checkpoint: flax.linen.remat flax.linen.checkpoint: variables rngs concrete prevent_cse static_argnums policy
checkpoint: flax.nnx.remat flax.nnx.checkpoint:
custom_jvp: jax.custom_jvp equinox.filter_custom_jvp flax.nnx.custom_jvp: nondiff_argnums
custom_vjp: jax.custom_vjp equinox.filter_custom_vjp flax.nnx.custom_vjp: nondiff_argnums
shard_map: jax.shard_map flax.nnx.shard_map: mesh in_specs out_specs check_rep check_vma
abstract: jax.make_jaxpr equinox.filter_make_jaxpr: static_argnums axis_env return_shape
transform: flax.linen.scan flax.linen.vmap flax.nnx.scan flax.linen.map_variables flax.linen.custom_vjp:
transform: jax.numpy.vectorize jax.custom_gradient jax.custom_batching.custom_vmap:
transform: jax.custom_batching.sequential_vmap jax.named_call jax.linear_transpose equinox.filter_closure_convert:
transform: jax.experimental.pallas.pallas_call: out_shape
transform: equinox.internal.noinline jax.experimental.checkify.checkify flax.linen.while_loop:
"""


@record
class Wrapper:
    """One function that transforms a function: its op, and its parameters in order (the function first)."""

    op: str
    params: tuple[str, ...]


WRAPPERS = {
    name: Wrapper(op, tuple(params.split()))
    for op, names, params in (line.split(":") for line in _ROWS.strip().splitlines())
    for name in names.split()
}
"""The transformations, by their qualified names."""

FUNCTION_PARAMETERS = ("fun", "f", "target", "kernel", "pyfunc")
"""What transformations call the parameter that takes the function."""
