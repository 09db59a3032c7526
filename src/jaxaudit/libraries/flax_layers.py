"""Rows of the layers of flax, of linen and nnx: how they are made, and what their calls give."""

from __future__ import annotations

from jaxaudit.libraries.table import layers, merge, rows

_LINEN = "flax.linen"
_NNX = "flax.nnx"

_PLAIN = (
    "name parent rngs precision use_bias kernel_init bias_init embedding_init mask feature_group_count epsilon momentum "
    "use_scale scale_init axis axis_name axis_index_groups use_fast_variance force_float32_reductions reduction_axes "
    "feature_axes num_groups group_size use_running_average gate_fn activation_fn recurrent_kernel_init "
    "forget_bias_init activation_bias_init carry_init reset_gate residual broadcast_dropout dropout_rate deterministic "
    "out_kernel_init out_bias_init normalize_qk force_fp32_for_softmax sow_weights inputs_kv rate broadcast_dims "
    "rng_collection negative_slope_init unroll variable_axes variable_broadcast variable_carry split_rngs "
    "initial_carry init_key seq_lengths reverse keep_order transpose_kernel kernel_metadata bias_metadata "
    "scale_metadata embedding_metadata recurrent_kernel_metadata out_kernel_metadata out_bias_metadata is_causal "
    "out_sharding qkv_sharding keep_rngs num_kv_heads in_kv_features decode state_axes broadcast_rngs qkv_features"
)
"""Options that change neither the shape nor the dtype of what a layer gives."""

_LINEN_LAYERS = layers(_LINEN, """
    Dense: features use_bias dtype param_dtype precision kernel_init bias_init | inputs -> last(features)
    DenseGeneral: features axis | inputs -> general(features, axis)
    Embed: num_embeddings features dtype param_dtype embedding_init | inputs -> embedded(features)
    Conv: features kernel_size strides padding | inputs -> convolved(features, kernel_size, strides, padding, kernel_dilation)
    ConvTranspose: features kernel_size strides padding | inputs -> transposed(features, kernel_size, strides, padding)
    RNN: cell | inputs -> unrolled(cell)
    LayerNorm RMSNorm GroupNorm InstanceNorm: | x -> same()
    PReLU: | inputs -> like inputs
    """, plain=_PLAIN, roles="module.reads")
_LINEN_CELLS = layers(_LINEN, """
    GRUCell MGUCell SimpleCell: features | carry inputs -> (cell(features), cell(features))
    LSTMCell OptimizedLSTMCell: features | carry inputs -> ((cell(features), cell(features)), cell(features))
    """, plain=_PLAIN, roles="module.reads cell.first")
_LINEN_NORMS = layers(_LINEN, """
    BatchNorm: use_running_average | x use_running_average -> same()
    """, plain=_PLAIN, roles="module.reads", class_roles="module.averages")
_LINEN_DRAWS = merge(
    # Without a key of its own a layer draws from the stream of its module.
    layers(_LINEN, "Dropout: rate broadcast_dims deterministic | inputs deterministic rng -> like inputs", call_key="rng",
           class_roles="module.draws"),
    layers(_LINEN, """
        MultiHeadAttention MultiHeadDotProductAttention: num_heads dtype param_dtype qkv_features out_features | inputs_q inputs_k inputs_v -> attended(out_features)
        SelfAttention: num_heads dtype param_dtype qkv_features out_features | inputs_q mask deterministic dropout_rng sow_weights -> attended(out_features)
        """, call_key="dropout_rng", plain=_PLAIN, roles="module.reads"),
)
_LINEN_MORE = merge(
    rows(_LINEN, "py.call_library", "Sequential: layers", result="itself", holds="layers"),
    rows(_LINEN, "py.call_library", """
        ConvLocal.__call__: inputs
        Einsum.__call__: inputs einsum_str
        ConvLSTMCell.__call__: carry inputs
        Bidirectional.__call__: inputs
        """, roles="layer module.reads"),
    rows(_LINEN, "py.call_library", "SpectralNorm: layer_instance", result="itself", roles="module.averages"),
    rows(_LINEN, "py.call_library", "Embed.attend: query -> last(num_embeddings)"),
    # The carry is zeros unless the cell is told otherwise: the key is asked for and left unread.
    rows(_LINEN, "array.create", """
        GRUCell.initialize_carry MGUCell.initialize_carry SimpleCell.initialize_carry: rng input_shape -> carry(input_shape, features)
        LSTMCell.initialize_carry OptimizedLSTMCell.initialize_carry: rng input_shape -> (carry(input_shape, features), carry(input_shape, features))
        *Cell.initialize_carry: rng input_shape
        """),
    rows(_LINEN, "array.convolve", """
        avg_pool: inputs window_shape strides padding count_include_pad -> pooled(inputs, window_shape, strides, padding)
        max_pool: inputs window_shape strides padding -> pooled(inputs, window_shape, strides, padding)
        pool: inputs init reduce_fn window_shape strides padding
        """),
)

_NNX_LAYERS = merge(
    layers(_NNX, """
        GRUCell SimpleCell: in_features hidden_features | carry inputs -> (cell(hidden_features), cell(hidden_features))
        LSTMCell OptimizedLSTMCell: in_features hidden_features | carry inputs -> ((cell(hidden_features), cell(hidden_features)), cell(hidden_features))
        """, plain=_PLAIN, roles="cell.first"),
    rows(_NNX, "py.call_library", "Sequential: *fns", result="itself", holds="*fns"),
    layers(_NNX, """
        Linear: in_features:width out_features | inputs out_sharding -> last(out_features)
        LinearGeneral: in_features out_features | inputs out_sharding -> general(out_features, axis)
        Conv: in_features out_features kernel_size strides | inputs out_sharding -> convolved(out_features, kernel_size, strides, padding, kernel_dilation)
        ConvTranspose: in_features out_features kernel_size strides | inputs -> transposed(out_features, kernel_size, strides, padding)
        RNN: cell | inputs -> unrolled(cell)
        Embed: num_embeddings features | inputs out_sharding -> embedded(features)
        MultiHeadAttention: num_heads in_features qkv_features out_features | inputs_q inputs_k inputs_v -> attended(out_features)
        LayerNorm InstanceNorm: num_features | x -> same()
        GroupNorm: num_features num_groups group_size | x -> same()
        RMSNorm: num_features | x mask -> same()
        PReLU: negative_slope_init | inputs -> like inputs
        """, plain=_PLAIN),
    layers(_NNX, "Dropout: rate | inputs -> like inputs", plain=_PLAIN, class_roles="module.own_draws"),
    layers(_NNX, """
        BatchNorm: num_features | x use_running_average -> same()
        """, plain=_PLAIN, class_roles="module.own_averages"),
    rows(_NNX, "py.call_library", """
        Einsum.__call__: inputs einsum_str out_sharding
        LoRA.__call__: x
        LoRALinear.__call__: x out_sharding
        """, roles="layer"),
    rows(_NNX, "py.call_library", "Embed.attend: query -> last(num_embeddings)"),
    rows(_NNX, "array.convolve", """
        avg_pool max_pool min_pool: inputs window_shape strides padding -> pooled(inputs, window_shape, strides, padding)
        """),
    rows(_NNX, "py.call_library", "Variable Param BatchStat Cache Intermediate: value -> itself around like value",
        roles="module.variable"),
)

ROWS = merge(_LINEN_LAYERS, _LINEN_CELLS, _LINEN_NORMS, _LINEN_DRAWS, _LINEN_MORE, _NNX_LAYERS)
"""Every layer of flax that tells its sizes when it is made, and a few more."""

PARAMETERS = frozenset("kernel bias scale embedding".split())
"""What layers of linen call their own parameters: in a path their names stand behind those of layers."""

MODES = {"use_running_average": False, "is_training": True, "deterministic": False}
"""What says how a layer behaves, and what it is in training."""

SWITCHING = (".eval", ".set_attributes", ".view")
"""The methods that put all layers of a model into another mode."""
