"""The primitives that are known and not modelled, with the reason: their results are unknown, visibly."""

from __future__ import annotations

from collections.abc import Mapping

_REASONS = {
    "a mutable reference": """
        accum_grad_in_ref addupdate box_get box_set empty_ref free_ref freeze get get_global masked_load masked_swap
        new_box new_log new_ref log_extend log_read swap dce_sink run_state run_scoped pin unpin mutable_array for
    """,
    "a kernel of Pallas or Triton": """
        core_map delay multiple_of num_programs pallas_call program_id semaphore_read semaphore_signal semaphore_wait
        unreachable mpmd_map stage jaxpr_call eval_jaxpr assume_for_verification atomic_cas atomic_rmw bitcast dma_start
        dma_wait get_barrier_semaphore max_contiguous pack_elementwise pretend_for_verification prng_join
        prng_random_bits prng_seed prng_split remove_memory_space repeat roll stochastic_round tpu_custom_call
        unpack_elementwise
    """,
    "a sparse array": """
        bcoo_dot_general bcoo_dot_general_sampled bcoo_extract bcoo_fromdense bcoo_sort_indices bcoo_spdot_general
        bcoo_sum_duplicates bcoo_todense bcoo_transpose bcsr_dot_general bcsr_extract bcsr_fromdense bcsr_todense
        coo_fromdense coo_matmat coo_matvec coo_spmm coo_spmv coo_todense csr_fromdense csr_matmat csr_matvec csr_spmm
        csr_spmv csr_todense spsolve todense
    """,
    "a kernel of a vendor's library": """
        cudnn_fusion dot_product_attention_bwd dot_product_attention_bwd_wrapper dot_product_attention_fp8_bwd
        dot_product_attention_fp8_bwd_wrapper dot_product_attention_fp8_fwd dot_product_attention_fp8_fwd_wrapper
        dot_product_attention_fwd dot_product_attention_fwd_wrapper rnn_bwd rnn_fwd scaled_matmul
        scaled_matmul_wrapper bias_bwd bias_fwd
    """,
    "code from outside JAX": "buffer_callback call_exported ffi_call custom_partitioning",
    "the inside of JAX itself": """
        after_all call_hi_primitive call_hi_primitive_linearized create_linear create_token custom_lin from_edtype
        linear_call platform_index remat_opt shape_assertion tie to_edtype check custom_jvp_call_jaxpr
        add_dependency custom_transpose_call full_to_shard infeed outfeed pgather shard_to_full
    """,
    "a generator of random bits without a key of JAX": """
        philox2x32 philox4x32 rng_bit_generator rng_uniform threefry2x32 threefry4x32
    """,
}

UNMODELLED: Mapping[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Primitive to reason."""
