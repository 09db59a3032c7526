"""Rows of `jax.lax` but for its control flow, which the table of transformations holds."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_NAME = "jax.lax"

_MAP = rows(_NAME, "array.map", """
    abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clz conj cos cosh: x
    digamma erf erf_inv erfc exp exp2 expm1 floor imag is_finite lgamma log log1p logistic neg: x
    population_count real reciprocal rsqrt sign sin sinh sqrt square tan tanh: x
    round: x rounding_method
    add atan2 bitwise_and bitwise_or bitwise_xor complex div eq ge gt integer_pow le lt max min mul mulhi ne: x y
    pow rem shift_left shift_right_arithmetic shift_right_logical sub: x y
    nextafter: x1 x2
    betainc: a b x
    igamma igamma_grad_a igammac: a x
    polygamma: m x
    random_gamma_grad: a sample
    reduce_precision: operand exponent_bits mantissa_bits
    zeta: x q
    """)

_SELECT = rows(_NAME, "array.select", "clamp: min x max\nselect: pred on_true on_false\nselect_n: which *cases")

_REDUCE = merge(
    rows(_NAME, "array.reduce", """
        reduce: operands init_values computation dimensions out_sharding
        reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor: operand axes
        """),
    rows(_NAME, "array.scan", "cumlogsumexp cummax cummin cumprod cumsum: operand axis reverse"),
)

_CREATE = merge(
    rows(_NAME, "array.create", """
        broadcasted_iota: dtype shape dimension
        empty: shape dtype
        full: shape fill_value dtype
        full_like: x fill_value dtype shape sharding
        iota: dtype size
        """),
    rows(_NAME, "array.convert", "bitcast_convert_type convert_element_type: operand new_dtype"),
)

_MOVEMENT = merge(
    rows(_NAME, "array.reshape", "reshape: operand new_sizes dimensions\ncollapse: operand start_dimension stop_dimension"),
    rows(_NAME, "array.permute", "transpose: operand permutation"),
    rows(_NAME, "array.expand", """
        broadcast: operand sizes
        broadcast_in_dim: operand shape broadcast_dimensions
        broadcast_like: arr like_arr
        broadcast_to_rank: x rank
        expand_dims: array dimensions
        tile: operand reps
        """),
    rows(_NAME, "array.squeeze", "squeeze: array dimensions"),
    rows(_NAME, "array.join", "concatenate: operands dimension\nstack: operands axis"),
    rows(_NAME, "array.split", "split: operand sizes axis\nunstack: x axis"),
    rows(_NAME, "array.move", "pad: operand padding_value padding_config\nrev: operand dimensions"),
    rows(_NAME, "array.gather", """
        dynamic_index_in_dim index_in_dim: operand index axis keepdims
        dynamic_slice: operand start_indices slice_sizes
        dynamic_slice_in_dim: operand start_index slice_size axis
        gather: operand start_indices dimension_numbers slice_sizes
        index_take: src idxs axes
        slice: operand start_indices limit_indices strides
        slice_in_dim: operand start_index limit_index stride axis
        """),
    rows(_NAME, "array.scatter", """
        dynamic_update_index_in_dim: operand update index axis
        dynamic_update_slice: operand update start_indices
        dynamic_update_slice_in_dim: operand update start_index axis
        scatter scatter_add scatter_max scatter_min scatter_mul: operand scatter_indices updates dimension_numbers
        scatter_sub: operand scatter_indices updates dimension_numbers
        scatter_apply: operand scatter_indices func dimension_numbers
        """),
    rows(_NAME, "array.order", """
        approx_max_k: operand k reduction_dimension recall_target reduction_input_size_override aggregate_to_topk
        approx_min_k: operand k reduction_dimension recall_target reduction_input_size_override aggregate_to_topk
        argmax argmin: operand axis index_dtype
        sort: operand dimension is_stable num_keys
        sort_key_val: keys values dimension is_stable
        top_k: operand k
        """),
)

_CONV = "lhs rhs window_strides padding"

_PRODUCTS = merge(
    rows(_NAME, "array.dot", """
        batch_matmul: lhs rhs precision
        dot scaled_dot: lhs rhs
        dot_general: lhs rhs dimension_numbers precision preferred_element_type
        ragged_dot: lhs rhs group_sizes precision preferred_element_type group_offset out_sharding
        """),
    rows(_NAME, "array.dot", """
        ragged_dot_general: lhs rhs group_sizes ragged_dot_dimension_numbers precision preferred_element_type group_offset out_sharding
        """),
    rows(_NAME, "array.convolve", f"conv: {_CONV} precision preferred_element_type"),
    rows(
        _NAME,
        "array.convolve",
        f"conv_general_dilated: {_CONV} lhs_dilation rhs_dilation dimension_numbers feature_group_count "
        "batch_group_count precision preferred_element_type out_sharding\n"
        f"conv_general_dilated_local: {_CONV} filter_shape lhs_dilation rhs_dilation dimension_numbers precision\n"
        "conv_general_dilated_patches: lhs filter_shape window_strides padding lhs_dilation rhs_dilation "
        "dimension_numbers precision preferred_element_type\n"
        "conv_transpose: lhs rhs strides padding rhs_dilation dimension_numbers transpose_kernel precision "
        "preferred_element_type use_consistent_padding\n"
        f"conv_with_general_padding: {_CONV} lhs_dilation rhs_dilation precision preferred_element_type\n"
        "reduce_window: operand init_value computation window_dimensions window_strides padding base_dilation "
        "window_dilation",
    ),
)

_LINALG = merge(
    rows(_NAME, "array.linalg", "fft: x fft_type fft_lengths"),
    rows(f"{_NAME}.linalg", "array.linalg", """
        cholesky eig eigh lu qdwh qr schur svd: x
        cholesky_update: r_matrix w_vector
        hessenberg tridiagonal: a
        householder_product: a taus
        lu_pivots_to_permutation: pivots permutation_size
        ormqr: a taus c
        symmetric_product: a_matrix c_matrix
        triangular_solve: a b
        tridiagonal_solve: dl d du b
        """),
)

_COLLECTIVES = rows(_NAME, "collective", """
    all_gather pcast pmax pmean pmin psum psum_scatter: x axis_name
    all_gather_invariant pvary: x axis_name
    all_to_all: x axis_name split_axis concat_axis
    axis_index axis_size: axis_name
    pbroadcast: x axis_name source
    ppermute psend pshuffle: x axis_name perm
    pswapaxes: x axis_name axis
    ragged_all_to_all: operand output input_offsets send_sizes output_offsets recv_sizes
    """)

_SHAPES = rows(_NAME, "array.shape", """
    broadcast_shapes: *shapes
    conv_dimension_numbers: lhs_shape rhs_shape dimension_numbers
    conv_general_permutations: dimension_numbers
    conv_general_shape_tuple: lhs_shape rhs_shape window_strides padding dimension_numbers
    conv_shape_tuple: lhs_shape rhs_shape strides pads batch_group_count
    conv_transpose_shape_tuple: lhs_shape rhs_shape window_strides padding dimension_numbers
    dtype: x
    padtype_to_pads: in_shape window_shape window_strides padding
    reduce_window_shape_tuple: operand_shape window_dimensions window_strides padding base_dilation window_dilation
    shape_as_value: shape
    """)

_OTHER = merge(
    rows(_NAME, "grad.stop", "stop_gradient: x"),
    rows(_NAME, "device.place", "with_sharding_constraint: x shardings\noptimization_barrier: operand"),
    rows(_NAME, "key.draw", "rng_bit_generator: key shape dtype algorithm", key="key"),
)

ROWS = merge(_MAP, _SELECT, _REDUCE, _CREATE, _MOVEMENT, _PRODUCTS, _LINALG, _COLLECTIVES, _SHAPES, _OTHER)
"""Every array function of `jax.lax` and `jax.lax.linalg`."""
