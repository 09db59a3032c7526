"""Rows of equinox: layers draw their weights from `key` when made; of their calls only a few read the key given."""

from __future__ import annotations

from jaxaudit.libraries.table import layers, merge, rows

_NN = "equinox.nn"
_CONV = "in_channels out_channels kernel_size stride padding dilation groups use_bias padding_mode dtype"
_CONVOLVED = "convolved_first(out_channels, kernel_size, stride, padding, dilation)"
_TRANSPOSE = "in_channels out_channels kernel_size stride"
_TRANSPOSED = "transposed_first(out_channels, kernel_size, stride)"
_POOLED = "pooled_first(kernel_size, stride, padding)"
_ATTENTION = (
    "num_heads query_size key_size value_size output_size qk_size vo_size use_query_bias use_key_bias use_value_bias "
    "use_output_bias dropout_p inference dtype"
)
_PLAIN = (
    "key eps use_bias use_weight elementwise_affine channelwise_affine momentum inference dtype mode axis_name scan groups "
    "use_query_bias use_key_bias use_value_bias use_output_bias dropout_p deterministic mask"
)
"""Options that change neither the shape nor the dtype of what a layer gives."""

_LAYERS = merge(
    layers(_NN, """
        GRUCell: input_size hidden_size use_bias dtype | input hidden -> cell(hidden_size)
        LSTMCell: input_size hidden_size use_bias dtype | input hidden -> (cell(hidden_size), cell(hidden_size))
        """, op="key.draw", key="key", plain=_PLAIN, roles="cell.alone"),
    # Most calls take a key so that they fit into a Sequential, and leave it unread.
    layers(_NN, f"""
        Conv1d Conv2d Conv3d: {_CONV} | x -> {_CONVOLVED}
        ConvTranspose1d ConvTranspose2d ConvTranspose3d: {_TRANSPOSE} | x -> {_TRANSPOSED}
        Embedding: num_embeddings embedding_size | x -> embedded(embedding_size)
        Linear: in_features:width out_features use_bias dtype | x -> last(out_features)
        MLP: in_size:width out_size width_size depth activation:function final_activation:function use_bias use_final_bias dtype | x -> last(out_size)
        """, op="key.draw", key="key", plain=_PLAIN),
    layers(
        _NN,
        f"MultiheadAttention: {_ATTENTION} | query key_ value mask -> attended(output_size)",
        op="key.draw",
        key="key",
        call_key="key",
        plain=_PLAIN,
    ),
    # Layers without weights, or whose weights need no key.
    layers(_NN, f"""
        AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d: kernel_size stride padding | x -> {_POOLED}
        AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d: target_shape | x -> adaptive_first(target_shape)
        AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d: target_shape | x -> adaptive_first(target_shape)
        LayerNorm RMSNorm: shape eps use_weight use_bias dtype | x -> like x
        GroupNorm: groups channels eps channelwise_affine dtype | x -> like x
        BatchNorm: input_size axis_name eps channelwise_affine momentum | x state -> (like x, state')
        Identity: | x -> like x
        Lambda: fn:function | x -> ?
        PReLU: init_alpha | x -> like x
        """, plain=_PLAIN),
    layers(_NN, "Dropout: p inference | x -> like x", call_key="key", plain=_PLAIN),
    rows(_NN, "key.draw", """
        Conv: num_spatial_dims in_channels out_channels kernel_size stride padding dilation groups use_bias padding_mode
        ConvTranspose: num_spatial_dims in_channels out_channels kernel_size stride padding output_padding dilation
        SpectralNorm: layer weight_name num_power_iterations eps inference
        """, key="key", result="itself"),
    rows(_NN, "py.call_library", "Sequential: layers", result="itself", holds="layers"),
    rows(_NN, "key.draw", "Sequential.__call__: x state", key="key", roles="layer"),
    rows(_NN, "py.call_library", """
        AdaptivePool.__call__ Pool.__call__ Conv.__call__ ConvTranspose.__call__: x
        RotaryPositionalEmbedding.__call__ WeightNorm.__call__: x
        SpectralNorm.__call__: x state
        """, roles="layer"),
    rows(_NN, "py.call_library", """
        State: model
        State.get: item
        State.set: item value
        State.substate: pytree
        State.update: substate
        """),
    rows(_NN, "py.call_library", """
        delete_init_state: model
        inference_mode: pytree value -> like pytree
        """, roles="record.copy"),
)

_TREES = merge(
    rows("equinox", "tree.other", """
        tree_check tree_flatten_one_level: pytree
        tree_equal: *pytrees
        tree_inference: pytree value -> like pytree
        """),
    rows("equinox", "tree.other", "apply_updates: model:tree updates:tree -> model'", roles="optimizer.apply"),
    rows("equinox", "tree.other", "filter: pytree filter_spec inverse replace is_leaf", roles="model.filter"),
    rows("equinox", "tree.other", "partition: pytree filter_spec replace is_leaf", roles="model.partition"),
    rows("equinox", "tree.other", "combine: *pytrees", roles="model.join"),
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
    rows("equinox", "py.call_library", "clear_caches:\nfield static_field:"),
    rows("equinox", "py.call_library", "if_array: axis", holds="axis"),
)

ROWS = merge(_LAYERS, _TREES)
"""The layers and tree functions of equinox; its `filter_*` transformations are in a table of their own."""
