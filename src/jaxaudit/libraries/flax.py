"""Rows of flax: linen modules, nnx modules and their random streams, and the helpers for training.

Flax folds a key that it is given into each module's path, so one key serves a whole module, and the same key given
twice gives the same numbers twice. `folds` marks those rows. An `nnx.Rngs` that is made from keys takes them over:
every key among the arguments of that `key.stream` counts as used.
"""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_LINEN = "flax.linen"

_MODULE = merge(
    rows(f"{_LINEN}.Module", "key.draw", "init: rngs *args", key="rngs", roles="module.init", folds=True),
    rows(f"{_LINEN}.Module", "key.draw", "apply: variables *args", key="rngs", roles="module.apply module.scoped",
         folds=True),
    rows(f"{_LINEN}.Module", "key.draw", "init_with_output lazy_init: rngs *args", key="rngs", folds=True),
    rows(f"{_LINEN}.Module", "key.stream", "make_rng: name"),
    # What a bound module is asked for later draws, or does not: an evaluation needs no dropout.
    rows(f"{_LINEN}.Module", "py.call_unknown", "bind: variables *args -> like self"),
    # These only look at shapes: nothing is drawn.
    rows(f"{_LINEN}.Module", "py.call_library", "tabulate module_paths: rngs *args"),
    rows(f"{_LINEN}.Module", "py.call_library", """
        clone copy: -> like self
        is_initializing unbind:
        get_variable: col name default
        has_rng: name
        has_variable: col name
        is_mutable_collection: col
        perturb: name value collection
        put_variable: col name value
        sow: col name value reduce_fn init_fn
        """),
    rows(f"{_LINEN}.Module", "py.call_library", f"""
        param: name init_fn *init_args -> initial(init_fn, init_args)
        variable: col name init_fn *init_args -> {_LINEN}.Variable around called(init_fn, init_args)
        """, roles="module.reads"),
    rows(_LINEN, "py.call_library", "tabulate: module rngs"),
    rows(_LINEN, "py.call_library", "apply: fn module mutable capture_intermediates", result=f"{_LINEN}.Applied"),
    rows(_LINEN, "py.call_library", "init init_with_output: fn module mutable capture_intermediates", result=f"{_LINEN}.Initialised"),
    rows(_LINEN, "key.draw", "Applied.__call__: variables *args", key="rngs", folds=True),
    rows(_LINEN, "key.draw", "Initialised.__call__: rngs *args", key="rngs", folds=True),
)

_FUNCTIONS = merge(
    rows(_LINEN, "key.draw", """
        dot_product_attention: query key value bias mask broadcast_dropout dropout_rng dropout_rate deterministic
        dot_product_attention_weights: query key bias mask broadcast_dropout dropout_rng dropout_rate deterministic
        """, key="dropout_rng"),
    rows(_LINEN, "array.create", """
        make_attention_mask: query_input key_input pairwise_fn extra_batch_dims dtype
        make_causal_mask: x extra_batch_dims dtype
        """),
    rows(_LINEN, "array.map", "combine_masks: *masks"),
    rows(_LINEN, "py.call_library", "merge_param: name a b\nunbox get_partition_spec: tree"),
    rows(_LINEN, "device.place", "with_logical_constraint: x logical_axis_resources rules mesh fallback"),
    rows(_LINEN, "py.call_library", """
        with_partitioning: fn names mesh
        with_logical_partitioning: fn names mesh rules
        """, result="jax.nn.Initializer"),
)

_NNX = "flax.nnx"

_STREAMS = merge(
    rows(_NNX, "key.stream", "Rngs: default", key="default", result="itself", roles="key.counting", folds=True),
    rows(_NNX, "key.stream", "RngStream: key", key="key", result="itself", roles="key.counting", folds=True),
    rows(f"{_NNX}.Rngs", "key.stream", "__call__ *:"),
    rows(f"{_NNX}.RngStream", "key.stream", "__call__ *:"),
    rows(f"{_NNX}.Rngs", "key.stream", "fork:\nbroadcast split: k", result=f"{_NNX}.Rngs"),
    rows(f"{_NNX}.RngStream", "key.stream", "fork:\nbroadcast split: k", result=f"{_NNX}.RngStream"),
    rows(f"{_NNX}.Rngs", "py.call_library", "items:"),
    rows(_NNX, "py.call_library", "fork_rngs split_rngs: node\nrestore_rngs: backups"),
)

_STREAM_SAMPLERS = """
    bits cauchy exponential laplace logistic maxwell normal rademacher: shape dtype
    gumbel: shape dtype mode
    uniform: shape dtype minval maxval
    randint: shape minval maxval dtype
    bernoulli: p shape mode
    categorical: logits axis shape replace mode
    choice: a shape replace p axis mode
    permutation: x axis independent
    truncated_normal: lower upper shape dtype
    beta: a b shape dtype
    gamma: a shape dtype
    poisson: lam shape dtype
    multivariate_normal: mean cov shape dtype method
    """

# Numbers from a stream use a fresh key each time, so there is no key to keep track of.
_STREAM_DRAWS = merge(
    rows(f"{_NNX}.Rngs", "py.call_library", _STREAM_SAMPLERS, draws=True),
    rows(f"{_NNX}.RngStream", "py.call_library", _STREAM_SAMPLERS, draws=True),
)

_NNX_TREES = merge(
    rows(_NNX, "tree.other", "split: node *filters", roles="model.split"),
    rows(_NNX, "tree.other", "state: node *filters", roles="model.state"),
    rows(_NNX, "tree.other", "merge: graphdef_or_graphstate *states", roles="model.join"),
    rows(_NNX, "tree.other", "update: node state *states", roles="model.update"),
    rows(_NNX, "tree.other", """
        variables pop: node *filters
        clone: node variables
        graphdef: node
        to_flat_state to_pure_dict: state
        from_flat_state: flat_state
        iter_graph iter_children: node
        """),
    rows(_NNX, "py.call_library", """
        Metric.update MultiMetric.update Metric.reset MultiMetric.reset:
        metrics.Average.update metrics.Accuracy.update metrics.Welford.update:
        metrics.Average.reset metrics.Accuracy.reset metrics.Welford.reset:
        """, roles="object.change"),
    rows(_NNX, "py.call_library", """
        Metric.compute MultiMetric.compute:
        Module.eval Module.train:
        Module.sow: variable_type name value
        display: *args
        get_partition_spec: tree
        with_partitioning: initializer sharding mesh
        """),
)

_UPDATES = rows(
    "flax.nnx", "py.call_library", "Optimizer.update ModelAndOptimizer.update: *args", roles="model.train"
)

_STATE = "flax.training.train_state.TrainState"

_TRAINING = merge(
    rows("flax.core", "tree.other", "copy: x add_or_replace\npop: x key\npretty_repr: x"),
    rows("flax.core", "tree.other", "freeze: xs -> like xs\nunfreeze: x -> like x", roles="record.copy"),
    rows("flax.core", "tree.other", "FrozenDict.unfreeze:\nFrozenDict.copy: add_or_replace\nFrozenDict.pop: key"),
    rows(_STATE, "py.call_library", f"create: -> {_STATE}", roles="train_state.create", holds="apply_fn"),
    rows(_STATE, "py.call_library", "replace: -> self'", roles="train_state.replace", holds="apply_fn"),
    rows(_STATE, "py.call_library", "apply_gradients: -> self'", roles="train_state.step", holds="apply_fn"),
    rows(_STATE, "key.draw", "apply_fn: variables *args", key="rngs", roles="module.apply", folds=True),
    rows("flax.training.common_utils", "key.split", "shard_prng_key: prng_key", key="prng_key"),
    rows("flax.training.common_utils", "array.reshape", "shard: xs"),
    rows("flax.training.common_utils", "array.expand", "onehot: labels num_classes on_value off_value"),
    rows("flax.training.common_utils", "array.join", "stack_forest: forest\nget_metrics: device_metrics"),
    rows("flax.training.checkpoints", "py.clock", "restore_checkpoint: ckpt_dir target\nlatest_checkpoint: ckpt_dir"),
    rows(
        "flax.jax_utils",
        "device.place",
        "replicate: tree devices axis_name\nunreplicate: tree\nprefetch_to_device: iterator size devices axis_name",
    ),
    rows("flax.traverse_util", "tree.other", "flatten_dict: xs keep_empty_nodes is_leaf sep\nunflatten_dict: xs sep"),
    rows("flax.serialization", "tree.other", """
        from_bytes: target encoded_bytes
        from_state_dict: target state name
        msgpack_restore: encoded_pytree
        msgpack_serialize: pytree in_place
        to_bytes to_state_dict: target
        """),
)

ROWS = merge(_MODULE, _FUNCTIONS, _UPDATES, _STREAMS, _STREAM_DRAWS, _NNX_TREES, _TRAINING)
"""The functions and module methods of flax that call no function of the user."""
