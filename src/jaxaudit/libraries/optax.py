"""Rows of optax: optimizers, losses, schedules and its functions on trees."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_NAME = "optax"
_TRANSFORMATION = "optax.GradientTransformation"

_OPTIMIZERS = merge(
    rows(_NAME, "py.call_library", "fromage sgd sign_sgd: learning_rate:schedule", result=_TRANSFORMATION,
         roles="optimizer.direct optimizer.whole"),
    # They leave the direction and the scale of small gradients as they are.
    rows(_NAME, "py.call_library", """
        identity zero_nans:
        clip: max_delta
        clip_by_block_rms: threshold
        clip_by_global_norm: max_norm
        """, result=_TRANSFORMATION, roles="optimizer.direct optimizer.limit"),
    rows(_NAME, "py.call_library", """
        freeze: mask
        adaptive_grad_clip: clipping eps
        centralize keep_params_nonnegative set_to_zero:
        normalize_by_update_norm: scale_factor eps
        scale: step_size
        scale_by_learning_rate: learning_rate:schedule
        """, result=_TRANSFORMATION, roles="optimizer.direct"),
    rows(_NAME, "py.call_library", "add_decayed_weights: weight_decay mask", result=_TRANSFORMATION,
         roles="optimizer.direct optimizer.decay"),
    rows(_NAME, "py.call_library", """
        polyak_sgd: max_learning_rate
        scale_by_schedule: step_size_fn:schedule
        MultiSteps.gradient_transformation:
        """, result=_TRANSFORMATION),
    rows(_NAME, "py.call_library", """
        masked: inner mask
        flatten: inner
        lookahead: fast_optimizer sync_period slow_step_size
        apply_if_finite: inner max_consecutive_errors
        conditionally_mask conditionally_transform: inner should_transform_fn forward_extra_args
        with_extra_args_support: tx
        """, result=_TRANSFORMATION, roles="optimizer.chain"),
    rows(_NAME, "py.call_library", "partition multi_transform: transforms param_labels", result=_TRANSFORMATION,
         roles="optimizer.chain optimizer.partition"),
    rows(_NAME, "py.call_library", """
        adabelief adadelta adafactor adagrad adam adamax adamaxw adamw adan amsgrad: learning_rate:schedule
        lamb lars lbfgs lion nadam nadamw novograd optimistic_adam optimistic_adam_v2: learning_rate:schedule
        optimistic_gradient_descent radam rmsprop rprop signum sm3 yogi: learning_rate:schedule
        contrib.acprop contrib.ademamix contrib.adopt contrib.cocob contrib.dadapt_adamw: learning_rate:schedule
        contrib.dog contrib.dowg contrib.madgrad contrib.momo contrib.momo_adam contrib.muon: learning_rate:schedule
        contrib.prodigy contrib.sophia: learning_rate:schedule
        contrib.schedule_free_adamw contrib.schedule_free_sgd contrib.simplified_ademamix: *args
        """, result=_TRANSFORMATION, roles="optimizer.moments optimizer.whole"),
    rows(_NAME, "py.call_library", """
        ema trace: decay
        apply_every: k
        scale_by_adam: b1 b2 eps eps_root mu_dtype
        scale_by_rms: decay eps initial_scale
        """, result=_TRANSFORMATION, roles="optimizer.moments"),
    rows(_NAME, "py.call_library", """
        GradientTransformation GradientTransformationExtraArgs: init:function update:function
        """, result="itself", roles="optimizer.make"),
    rows(_NAME, "py.call_library", "chain named_chain: *args", result=_TRANSFORMATION,
         roles="optimizer.chain optimizer.sequence"),
    rows(_NAME, "py.call_library", "scale_by_*: *args", result=_TRANSFORMATION),
    rows(f"{_NAME}.contrib", "py.call_library", """
        galore: learning_rate:schedule
        reduce_on_plateau: factor
        mechanize sam schedule_free: *args
        scale_by_*: *args
        """, result=_TRANSFORMATION),
    # The key is kept in the optimizer's state and split at each update.
    rows(_NAME, "key.draw", """
        add_noise: eta gamma key
        noisy_sgd: learning_rate:schedule eta gamma key
        contrib.differentially_private_aggregate: l2_norm_clip noise_multiplier key
        """, key="key", result=_TRANSFORMATION),
    rows(_NAME, "py.call_library", "inject_hyperparams: inner_factory static_args", result="optax.InjectedFactory"),
    rows(_NAME, "py.call_library", "InjectedFactory.__call__: *args", result=_TRANSFORMATION),
    rows(_NAME, "py.call_library", """
        GradientTransformation.init GradientTransformationExtraArgs.init MultiSteps.init: params:tree
        """, roles="optimizer.init"),
    rows(_NAME, "py.call_library", """
        GradientTransformation.update GradientTransformationExtraArgs.update MultiSteps.update: updates:tree state:tree params:tree -> (updates', state')
        """, roles="optimizer.step"),
    rows(_NAME, "py.call_library", "apply_updates: params:tree updates:tree -> params'", roles="optimizer.apply"),
    rows(_NAME, "py.call_library", """
        incremental_update: new_tensors:tree old_tensors:tree step_size -> old_tensors'
        periodic_update: new_tensors:tree old_tensors:tree steps update_period -> old_tensors'
        """, roles="average"),
    rows(_NAME, "py.call_library", """
        safe_increment safe_int32_increment: count
        scale_gradient: inputs scale
        init_empty_state: params
        bias_correction: moment decay count -> form of moment
        """),
)

_LOSSES = merge(
    rows(_NAME, "py.call_library", """
        huber_loss l2_loss log_cosh squared_error: predictions targets -> broadcast(predictions, targets)
        """, plain="delta", loss=True, roles="loss.regression nonnegative"),
    rows(_NAME, "py.call_library", """
        hinge_loss: predictor_outputs targets
        softmax_cross_entropy_with_integer_labels: logits labels axis where -> per_label(logits, labels, axis)
        global_norm: updates -> float32[]
        safe_norm: x min_norm ord axis keepdims
        safe_root_mean_squares: x min_rms
        """, loss=True, roles="nonnegative"),
    rows(_NAME, "py.call_library", """
        sigmoid_binary_cross_entropy: logits labels -> broadcast(logits, labels)
        softmax_cross_entropy: logits labels axis where -> without(logits, axis)
        """, loss=True, roles="loss.of_shares"),
    rows(_NAME, "py.call_library", """
        convex_kl_divergence: log_predictions targets axis where
        kl_divergence: log_predictions targets axis where -> without(log_predictions, axis)
        kl_divergence_with_log_targets: log_predictions log_targets axis where
        cosine_distance cosine_similarity: predictions targets
        ctc_loss ctc_loss_with_forward_probs: logits logit_paddings labels label_paddings
        ntxent: embeddings labels temperature
        poly_loss_cross_entropy: logits labels epsilon axis where
        safe_softmax_cross_entropy: logits labels
        sigmoid_focal_loss: logits labels
        smooth_labels: labels alpha
        triplet_margin_loss: anchors positives negatives axis p margin eps
        projection_*: *args
        """, loss=True),
)

_SCHEDULES = merge(
    rows(_NAME, "py.call_library", """
        constant_schedule: value
        cosine_decay_schedule: init_value decay_steps alpha exponent
        cosine_onecycle_schedule: transition_steps peak_value pct_start div_factor final_div_factor
        exponential_decay: init_value transition_steps decay_rate transition_begin staircase end_value
        join_schedules: schedules boundaries
        linear_onecycle_schedule: transition_steps peak_value pct_start pct_final div_factor final_div_factor
        linear_schedule: init_value end_value transition_steps transition_begin
        piecewise_constant_schedule: init_value boundaries_and_scales
        piecewise_interpolate_schedule: interpolate_type init_value boundaries_and_scales
        polynomial_schedule: init_value end_value power transition_steps transition_begin
        sgdr_schedule: cosine_kwargs
        warmup_constant_schedule: init_value peak_value warmup_steps
        warmup_cosine_decay_schedule: init_value peak_value warmup_steps decay_steps end_value exponent
        """, result="optax.Schedule"),
    rows(_NAME, "py.call_library", """
        warmup_exponential_decay_schedule: init_value peak_value warmup_steps transition_steps decay_rate transition_begin staircase end_value
        """, result="optax.Schedule"),
    rows(_NAME, "array.map", "Schedule.__call__: count"),
)

_TREES = merge(
    rows(f"{_NAME}.tree", "tree.other", """
        add: tree_x:tree tree_y:tree *other_trees:tree -> like tree_x
        add_scale: tree_x:tree scalar tree_y:tree -> like tree_x
        cast: tree:tree dtype -> form of tree
        cast_like: tree:tree other_tree:tree -> form of tree
        clip: tree:tree min_value max_value -> like tree
        div: tree_x:tree tree_y:tree -> form of tree_x
        mul sub: tree_x:tree tree_y:tree -> like tree_x
        vdot: tree_x:tree tree_y:tree
        full_like: tree:tree fill_value dtype -> like tree
        get: tree:tree key default filtering
        get_all_with_path: tree:tree key filtering
        max min size sum dtype: tree:tree
        real: tree:tree -> form of tree
        conj: tree:tree -> like tree
        norm: tree:tree ord squared
        ones_like zeros_like: tree:tree dtype -> like tree
        allclose: a:tree b:tree rtol atol equal_nan
        update_moment update_moment_per_elem_norm: updates:tree moments:tree decay order -> form of moments
        update_infinity_moment: updates:tree moments:tree decay eps -> form of moments
        scale: scalar tree:tree -> like tree
        where: condition:tree tree_x:tree tree_y:tree -> like tree_x
        """),
    rows(f"{_NAME}.tree", "key.draw", "random_like: rng_key target_tree:tree sampler dtype -> form of target_tree", key="rng_key"),
    rows(f"{_NAME}.tree", "key.split", "split_key_like: rng_key target_tree", key="rng_key"),
    rows(f"{_NAME}.perturbations", "key.draw", "*.sample: key sample_shape dtype", key="key"),
    rows(_NAME, "key.draw", "power_iteration: matrix", key="key"),
)

ROWS = merge(_OPTIMIZERS, _LOSSES, _SCHEDULES, _TREES)
"""The public functions of optax that call no function of the user."""

CHOICES = ("mask", "param_labels")
"""Arguments that choose parameters: a tree that the parameters begin with, or a function that makes one."""
