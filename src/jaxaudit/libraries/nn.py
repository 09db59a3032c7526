"""Rows of `jax.nn` and its initializers, `jax.image` and `jax.ops`."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_NAME = "jax.nn"

_FUNCTIONS = merge(
    rows(_NAME, "array.map", """
        hard_sigmoid hard_silu hard_swish hard_tanh identity log1mexp log_sigmoid mish relu relu6 selu sigmoid: x
        silu soft_sign softplus sparse_plus sparse_sigmoid swish tanh: x
        celu elu: x alpha
        gelu: x approximate
        leaky_relu: x negative_slope
        squareplus: x b
        """),
    rows(_NAME, "array.normalise", """
        log_softmax softmax: x axis where
        standardize: x axis mean variance epsilon where
        normalize: x axis mean variance epsilon where
        """),
    rows(_NAME, "array.reduce", "logsumexp: a axis b keepdims return_sign where\nlogmeanexp: x axis where keepdims"),
    rows(_NAME, "array.split", "glu: x axis"),
    rows(_NAME, "array.expand", "one_hot: x num_classes"),
    rows(_NAME, "array.dot", """
        dot_product_attention: query key value bias mask
        scaled_dot_general: lhs rhs dimension_numbers preferred_element_type configs implementation
        scaled_matmul: lhs rhs lhs_scales rhs_scales preferred_element_type
        """),
    rows(_NAME, "py.call_library", "get_scaled_dot_general_config: mode global_scale"),
)

_MAKERS = rows(f"{_NAME}.initializers", "py.call_library", """
    glorot_normal glorot_uniform he_normal he_uniform lecun_normal lecun_uniform: in_axis out_axis batch_axis dtype
    delta_orthogonal orthogonal: scale column_axis dtype
    normal: stddev dtype
    truncated_normal: stddev dtype lower upper
    uniform: scale dtype
    variance_scaling: scale mode distribution in_axis out_axis batch_axis dtype
    """, result="jax.nn.Initializer")

# These take a key like their kin and never read it: giving one key to several of them is harmless.
_CONSTANTS = merge(
    rows(f"{_NAME}.initializers", "array.create", "ones zeros: key shape dtype out_sharding -> constants(shape)"),
    rows(f"{_NAME}.initializers", "py.call_library", "constant: value dtype", result="jax.nn.ConstantInitializer"),
    rows(f"{_NAME}.initializers", "py.call_library", "ones_init zeros_init:", result="jax.nn.ConstantInitializer"),
    rows(_NAME, "array.create", "ConstantInitializer.__call__: key shape dtype out_sharding -> constants(shape)"),
)

_CALLS = rows(_NAME, "key.draw", "Initializer.__call__: key shape dtype out_sharding -> floats(shape)", key="key")

_SEGMENTS = rows("jax.ops", "array.reduce", """
    segment_max segment_min segment_prod segment_sum: data segment_ids num_segments indices_are_sorted unique_indices bucket_size mode out_sharding
    """)

_IMAGES = rows("jax.image", "array.convolve", """
    resize: image shape method antialias precision
    scale_and_translate: image shape spatial_dims scale translation method antialias precision
    """)

ROWS = merge(_FUNCTIONS, _MAKERS, _CONSTANTS, _CALLS, _SEGMENTS, _IMAGES)
"""Every function of `jax.nn`, `jax.nn.initializers`, `jax.ops` and `jax.image`."""
