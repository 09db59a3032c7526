"""Rows of equinox: layers draw their weights from `key` when made; of their calls only a few read the key given."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_NN = "equinox.nn"
_CONV = "in_channels out_channels kernel_size stride padding dilation groups use_bias padding_mode dtype"
_TRANSPOSE = (
    "in_channels out_channels kernel_size stride output_padding padding dilation groups use_bias padding_mode dtype"
)
_ATTENTION = (
    "num_heads query_size key_size value_size output_size qk_size vo_size use_query_bias use_key_bias use_value_bias "
    "use_output_bias dropout_p inference dtype"
)

_CONSTRUCTORS = rows(
    _NN,
    "key.draw",
    f"""
    Conv1d Conv2d Conv3d: {_CONV}
    Conv: num_spatial_dims {_CONV}
    ConvTranspose1d ConvTranspose2d ConvTranspose3d: {_TRANSPOSE}
    ConvTranspose: num_spatial_dims in_channels out_channels kernel_size stride padding output_padding dilation
    Embedding: num_embeddings embedding_size weight dtype
    GRUCell LSTMCell: input_size hidden_size use_bias dtype
    Linear: in_features out_features use_bias dtype
    MLP: in_size out_size width_size depth activation final_activation use_bias use_final_bias dtype
    MultiheadAttention: {_ATTENTION}
    SpectralNorm: layer weight_name num_power_iterations eps inference
    """,
    key="key",
    result="itself",
)

# Layers without weights, or whose weights need no key.
_KEYLESS = rows(
    _NN,
    "py.call_library",
    """
    AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d: kernel_size stride padding use_ceil
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d: target_shape
    AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d: target_shape
    LayerNorm: shape eps
    RMSNorm: shape eps
    GroupNorm: groups channels
    BatchNorm: input_size axis_name
    Dropout: p inference
    Identity PReLU:
    """,
    result="itself",
)

_CALLS = merge(
    rows(
        _NN,
        "key.draw",
        """
        Dropout.__call__: x
        MultiheadAttention.__call__: query key_ value mask
        Sequential.__call__: x state
        """,
        key="key",
        roles="layer",
    ),
    # These take a key so that they fit into a Sequential, and leave it unread.
    rows(
        _NN,
        "py.call_library",
        """
        AdaptiveAvgPool1d.__call__ AdaptiveAvgPool2d.__call__ AdaptiveAvgPool3d.__call__ AdaptivePool.__call__: x
        AdaptiveMaxPool1d.__call__ AdaptiveMaxPool2d.__call__ AdaptiveMaxPool3d.__call__: x
        AvgPool1d.__call__ AvgPool2d.__call__ AvgPool3d.__call__: x
        MaxPool1d.__call__ MaxPool2d.__call__ MaxPool3d.__call__ Pool.__call__: x
        Conv.__call__ Conv1d.__call__ Conv2d.__call__ Conv3d.__call__: x
        ConvTranspose.__call__ ConvTranspose1d.__call__ ConvTranspose2d.__call__ ConvTranspose3d.__call__: x
        Embedding.__call__ Identity.__call__ Linear.__call__ MLP.__call__ PReLU.__call__: x
        RotaryPositionalEmbedding.__call__ WeightNorm.__call__: x
        BatchNorm.__call__ GroupNorm.__call__ LayerNorm.__call__ RMSNorm.__call__ SpectralNorm.__call__: x state
        GRUCell.__call__ LSTMCell.__call__: input hidden
        """,
        roles="layer",
    ),
    rows(
        _NN,
        "py.call_library",
        """
        State.get: item
        State.set: item value
        State.substate: pytree
        State.update: substate
        delete_init_state: model
        inference_mode: pytree value -> like pytree
        """,
    ),
)

_TREES = merge(
    rows(
        "equinox",
        "tree.other",
        """
        combine: *pytrees
        filter: pytree filter_spec inverse replace is_leaf
        partition: pytree filter_spec replace is_leaf
        tree_check tree_flatten_one_level: pytree
        tree_equal: *pytrees
        tree_inference: pytree value -> like pytree
        """,
    ),
    rows("equinox", "tree.other", "apply_updates: model:tree updates:tree -> model'", roles="optimizer.apply"),
    rows("equinox", "tree.other", "tree_at: where pytree replace replace_fn is_leaf", roles="record.copy"),
    rows("equinox", "device.place", "filter_shard: x device_or_shardings"),
    rows("equinox", "array.shape", "is_array is_array_like is_inexact_array is_inexact_array_like: element"),
    rows("equinox", "py.format", "tree_pformat: pytree"),
    rows("equinox", "py.print", "tree_pprint: pytree"),
    rows("equinox", "py.clock", "tree_deserialise_leaves: path_or_file like filter_spec is_leaf"),
    rows("equinox", "array.select", "error_if: x pred msg\nbranched_error_if: x pred index msgs"),
    rows("equinox.internal", "array.select", "error_if: x pred msg\nbranched_error_if: x pred index msgs"),
    rows("equinox.internal", "array.map", "nondifferentiable nondifferentiable_backward nonbatchable: x"),
    rows("equinox.internal", "collective", "unvmap_all unvmap_any unvmap_max: x"),
    rows("equinox", "py.call_library", "clear_caches:\nfield static_field:\nif_array: axis"),
)

ROWS = merge(_CONSTRUCTORS, _KEYLESS, _CALLS, _TREES)
"""The layers and tree functions of equinox; its `filter_*` transformations are in a table of their own."""
