"""Rows of haiku: keys come from the stream of the transformed function, and from the `rng` of `init` and `apply`."""

from __future__ import annotations

from jaxaudit.libraries.table import layers, merge, rows

_NAME = "haiku"

_STREAMS = merge(
    rows(_NAME, "key.stream", "next_rng_key maybe_next_rng_key:\nnext_rng_keys: num"),
    rows(_NAME, "key.stream", "PRNGSequence: key_or_seed", key="key_or_seed", result="itself"),
    rows(f"{_NAME}.PRNGSequence", "key.stream", "__next__ next:\ntake: num"),
    rows(f"{_NAME}.PRNGSequence", "py.call_library", "reserve: num"),
    rows(_NAME, "py.call_library", "reserve_rng_keys: num"),
    # The block under it draws from a stream that starts at this key.
    rows(_NAME, "key.stream", "with_rng: key", key="key", result="itself"),
)

_DRAWS = rows(_NAME, "key.draw", "dropout: rng rate x broadcast_dims\nmultinomial: rng logits num_samples", key="rng")

_TRANSFORMS = merge(
    rows(_NAME, "py.call_library", """
        transform: f -> haiku.Transformed
        transform_with_state: f -> haiku.TransformedWithState
        """, roles="module.make", holds="f"),
    rows(_NAME, "py.call_library", """
        without_apply_rng: f -> haiku.TransformedWithoutRng
        TransformedWithState.without_apply_rng: f -> haiku.TransformedWithStateWithoutRng
        without_state: f -> haiku.Transformed
        with_empty_state: f -> haiku.TransformedWithState
        """, roles="module.convert", holds="f"),
    rows(_NAME, "py.call_library", """
        multi_transform: f -> haiku.MultiTransformed
        multi_transform_with_state: f -> haiku.MultiTransformedWithState
        """),
    rows(_NAME, "key.draw", """
        Transformed.init TransformedWithState.init TransformedWithoutRng.init: rng *args
        TransformedWithStateWithoutRng.init: rng *args
        """, key="rng", roles="module.init"),
    rows(_NAME, "key.draw", "MultiTransformed.init MultiTransformedWithState.init: rng *args", key="rng"),
    rows(_NAME, "key.draw", """
        Transformed.apply: params rng *args
        TransformedWithState.apply: params state rng *args -> (?, state')
        """, key="rng", roles="module.apply"),
    rows(_NAME, "py.call_library", """
        TransformedWithoutRng.apply: params *args
        TransformedWithStateWithoutRng.apply: params state *args -> (?, state')
        """, roles="module.apply"),
)

_STATE = rows(_NAME, "py.call_library", """
    current_name get_params get_current_state get_initial_state running_init maybe_get_rng_sequence_state:
    replace_rng_sequence_state: state
    force_name name_scope: name
    name_like: method_name
    """)
_READS = merge(
    rows(_NAME, "py.call_library", "get_parameter: name shape dtype init -> filled(shape)\nget_state: name shape dtype init", roles="module.reads"),
    rows(_NAME, "py.call_library", "set_state: name value", roles="module.averages"),
)

# Random initializers take their key from the stream, so calling one twice is harmless.
_INITIALIZERS = rows(f"{_NAME}.initializers", "py.call_library", """
    Constant.__call__ Identity.__call__ Orthogonal.__call__ RandomNormal.__call__: shape dtype -> specified(shape, dtype)
    RandomUniform.__call__ TruncatedNormal.__call__ UniformScaling.__call__ VarianceScaling.__call__: shape dtype -> specified(shape, dtype)
    """)

_PLAIN = (
    "name with_bias w_init b_init w_i_init w_h_init w_init_scale mask feature_group_count create_scale create_offset "
    "decay_rate eps scale_init offset_init axis param_axis cross_replica_axis cross_replica_axis_index_groups "
    "use_fast_variance precision double_bias activation activate_final lookup_style is_training test_local_stats "
    "scale offset"
)
"""Options that change neither the shape nor the dtype of what a layer gives."""

_LAYERS = merge(
    rows(_NAME, "py.call_library", "Sequential: layers", result="itself", holds="layers"),
    layers(_NAME, """
        GRU: hidden_size | inputs state -> (cell(hidden_size), cell(hidden_size))
        VanillaRNN: hidden_size | inputs prev_state -> (cell(hidden_size), cell(hidden_size))
        LSTM: hidden_size | inputs prev_state -> (cell(hidden_size), (cell(hidden_size), cell(hidden_size)))
        """, plain=_PLAIN, roles="module.reads cell.second"),
    layers(_NAME, """
        Linear: output_size with_bias w_init b_init | inputs -> last(output_size)
        Embed: vocab_size embed_dim | ids lookup_style precision -> embedded(embed_dim)
        Conv1D Conv2D Conv3D: output_channels kernel_shape stride rate padding | inputs -> convolved_by_pairs(output_channels, kernel_shape, stride, padding, rate)
        Conv1DTranspose Conv2DTranspose Conv3DTranspose: output_channels kernel_shape stride | inputs -> transposed(output_channels, kernel_shape, stride, padding)
        MultiHeadAttention: num_heads key_size w_init_scale | query key value mask -> heads(num_heads, key_size, value_size, model_size)
        LayerNorm: axis create_scale create_offset eps scale_init offset_init | inputs scale offset -> like inputs
        RMSNorm: axis eps scale_init | inputs -> like inputs
        GroupNorm: groups | x scale offset -> like x
        InstanceNorm: create_scale create_offset eps | inputs scale offset -> like inputs
        """, plain=_PLAIN, roles="module.reads"),
    layers(_NAME, """
        BatchNorm: create_scale create_offset decay_rate eps | inputs is_training test_local_stats scale offset -> like inputs
        ExponentialMovingAverage: decay zero_debias warmup_length | value update_stats
        """, plain=_PLAIN, roles="module.reads", class_roles="module.averages"),
    # Without a dropout rate the key is left unread.
    layers(f"{_NAME}.nets", """
        MLP: output_sizes w_init b_init with_bias activation activate_final | inputs dropout_rate rng -> last(output_sizes)
        """, call_key="rng", plain=_PLAIN, roles="module.reads"),
    layers(_NAME, "Flatten: preserve_dims | inputs -> flattened(preserve_dims)", plain=_PLAIN),
    rows(_NAME, "py.call_library", """
        EMAParamsTree: decay zero_debias warmup_length ignore_regex
        SpectralNorm: eps n_steps
        """, result="itself", roles="module.averages"),
    rows(_NAME, "py.call_library", """
        Bias.__call__: inputs multiplier
        ConvND.__call__: inputs
        DepthwiseConv1D.__call__ DepthwiseConv2D.__call__ SeparableDepthwiseConv2D.__call__: inputs
        """, roles="layer module.reads"),
    rows(_NAME, "py.call_library", """
        ResetCore.__call__ DeepRNN.__call__ Conv2DLSTM.__call__: inputs state
        """, roles="layer module.reads cell.second"),
    rows(_NAME, "py.call_library", "AvgPool.__call__ MaxPool.__call__: value\nReshape.__call__: inputs", roles="layer"),
    rows(_NAME, "py.call_library", """
        GRU.initial_state VanillaRNN.initial_state: batch_size -> started(batch_size, hidden_size)
        LSTM.initial_state: batch_size -> (started(batch_size, hidden_size), started(batch_size, hidden_size))
        DeepRNN.initial_state ResetCore.initial_state: batch_size
        """),
    rows(_NAME, "array.convolve", "avg_pool max_pool: value window_shape strides padding -> pooled_everywhere(value, window_shape, strides, padding)"),
    rows(f"{_NAME}.data_structures", "tree.other", "partition: predicate structure\nfilter: predicate structure",
         roles="tree.parted"),
    rows(f"{_NAME}.data_structures", "tree.other", """
        is_subset:
        merge: *structures
        to_haiku_dict traverse: structure
        to_immutable_dict to_mutable_dict: mapping
        tree_bytes tree_size: tree
        """),
)

ROWS = merge(_STREAMS, _DRAWS, _TRANSFORMS, _STATE, _READS, _INITIALIZERS, _LAYERS)
"""The functions and layers of haiku; its `scan`, `vmap`, `grad` and the like are in the table of transformations."""
