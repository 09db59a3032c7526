"""Rows of smaller libraries: rlax, chex, blackjax, diffrax, einops and haliax."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_RLAX = merge(
    rows("rlax", "key.draw", """
        add_dirichlet_noise: key prior dirichlet_alpha dirichlet_fraction
        add_gaussian_noise: key action stddev
        add_ornstein_uhlenbeck_noise: key action noise_tm1 damping stddev
        categorical_sample: key probs
        DiscreteDistribution.sample ContinuousDistribution.sample: key *args
        """, key="key"),
    rows("rlax", "key.draw", """
        constant_policy_targets: distribution rng_key num_samples weights_scale
        sample_start_indices: rng_key batch_size num_start_indices max_valid_start_idx
        """, key="rng_key"),
    rows("rlax", "key.split", "tree_split_key: rng_key tree_like", key="rng_key"),
    rows(
        "rlax",
        "py.call_library",
        "epsilon_greedy: epsilon\ngreedy:\nsoftmax: temperature\nclipped_entropy_softmax: temperature entropy_clip",
        result="rlax.DiscreteDistribution",
    ),
    rows("rlax", "py.call_library", """
        gaussian_diagonal: sigma
        squashed_gaussian: sigma_min sigma_max
        """, result="rlax.ContinuousDistribution"),
    rows("rlax", "py.call_library", "huber_loss: x delta\nl2_loss: predictions targets", loss=True, roles="loss.regression"),
    rows("rlax", "py.call_library", """
        DiscreteDistribution.* ContinuousDistribution.*: *args
        batched_index: values indices keepdims
        discounted_returns: r_t discount_t v_t stop_target_gradients
        dpg_loss: a_t dqda_t dqda_clipping
        entropy_loss: logits_t w_t
        lambda_returns: r_t discount_t v_t lambda_ stop_target_gradients
        n_step_bootstrapped_returns: r_t discount_t v_t n lambda_t stop_target_gradients
        one_hot: indices num_classes dtype
        policy_gradient_loss: logits_t a_t adv_t w_t use_stop_gradient
        q_learning: q_tm1 a_tm1 r_t discount_t q_t stop_target_gradients
        double_q_learning: q_tm1 a_tm1 r_t discount_t q_t_value q_t_selector stop_target_gradients
        sarsa: q_tm1 a_tm1 r_t discount_t q_t a_t stop_target_gradients
        expected_sarsa: q_tm1 a_tm1 r_t discount_t q_t probs_a_t stop_target_gradients
        td_lambda: v_tm1 r_t discount_t v_t lambda_ stop_target_gradients
        td_learning: v_tm1 r_t discount_t v_t stop_target_gradients
        truncated_generalized_advantage_estimation: r_t discount_t lambda_ values stop_target_gradients
        vtrace: v_tm1 v_t r_t discount_t rho_tm1 lambda_ clip_rho_threshold stop_target_gradients
        vtrace_td_error_and_advantage: v_tm1 v_t r_t discount_t rho_tm1 lambda_ clip_rho_threshold
        clipped_surrogate_pg_loss: prob_ratios_t adv_t epsilon use_stop_gradient
        """),
)

_CHEX = merge(
    rows("chex", "py.call_library", "assert_shape: inputs expected_shapes", roles="assertion assertion.shapes"),
    rows("chex", "py.call_library", "assert_rank: inputs expected_ranks", roles="assertion assertion.ranks"),
    rows("chex", "py.call_library", "assert_equal_shape: inputs dims\nassert_equal_rank: inputs", roles="assertion assertion.alike"),
    rows("chex", "py.call_library", "assert_axis_dimension: tensor axis expected", roles="assertion assertion.axis"),
    rows("chex", "py.call_library", "Dimensions:", result="itself", roles="assertion.letters"),
    rows("chex", "py.call_library", "assert_*: *args", roles="assertion"),
    rows("chex", "py.call_library", "clear_trace_counter disable_asserts enable_asserts:"),
    rows("chex", "py.call_library", "block_until_chexify_assertions_complete:\nset_n_cpu_devices: n"),
)

_SAMPLERS = (
    "additive_step_random_walk adjusted_mclmc adjusted_mclmc_dynamic barker barker_proposal coordinate_slice csgld "
    "dhmc dmhmc dynamic_hmc elliptical_slice ghmc gist_step_size gist_trajectory_length hmc irmh laplace_dhmc "
    "laplace_dmhmc laplace_hmc laplace_mhmc mala mclmc mgrad_gaussian mhmc multinomial_hmc nuts orbital_hmc rmh "
    "rmhmc sghmc sgld sgnht slice_sampling normal_random_walk"
)
_PARTICLES = (
    "adaptive_persistent_sampling_smc adaptive_tempered_smc inner_kernel_tuning nss nsswig partial_posteriors_smc "
    "persistent_sampling_smc pretuning tempered_smc"
)

_BLACKJAX = merge(
    rows("blackjax", "py.call_library", f"{_SAMPLERS} {_PARTICLES}: *args", result="blackjax.SamplingAlgorithm"),
    rows("blackjax", "py.call_library", "meanfield_vi fullrank_vi schrodinger_follmer: *args", result="blackjax.VIAlgorithm"),
    rows("blackjax", "py.call_library", """
        chees_adaptation meads_adaptation pathfinder_adaptation staged_adaptation window_adaptation: *args
        window_adaptation_low_rank: *args
        """, result="blackjax.AdaptationAlgorithm"),
    rows("blackjax", "py.call_library", "*.build_kernel *.build_rmh *.build_irmh: *args", result="blackjax.Kernel"),
    rows("blackjax", "key.draw", """
        AdaptationAlgorithm.run: rng_key position num_steps
        Kernel.__call__: rng_key state *args
        SamplingAlgorithm.init: position rng_key
        SamplingAlgorithm.step VIAlgorithm.step: rng_key state *args -> (state', ?)
        VIAlgorithm.sample: rng_key state num_samples
        util.run_inference_algorithm: rng_key inference_algorithm num_steps initial_state initial_position transform
        vi.pathfinder.approximate pathfinder.approximate: rng_key logdensity_fn initial_position num_samples
        vi.pathfinder.sample pathfinder.sample: rng_key state num_samples
        vi.meanfield_vi.sample vi.fullrank_vi.sample meanfield_vi.sample fullrank_vi.sample: rng_key state num_samples
        smc.resampling.multinomial smc.resampling.residual smc.resampling.stratified: rng_key weights num_samples
        smc.resampling.systematic: rng_key weights num_samples
        ns.utils.sample: rng_key dead shape
        ns.utils.log_weights: rng_key dead_info shape beta
        mclmc_lrd_warmup: logdensity_fn position rng_key
        """, key="rng_key"),
    rows("blackjax", "key.draw", "mclmc_find_L_and_step_size: mclmc_kernel num_steps state rng_key", key="rng_key"),
    rows("blackjax", "py.call_library", "VIAlgorithm.init: position"),
    rows("blackjax", "py.call_library", "ess ess_bulk ess_tail rhat pareto_khat: *args\ndiagnostics.*: *args"),
)

_DIFFRAX = rows("diffrax", "key.draw", """
    UnsafeBrownianPath: shape key levy_area
    VirtualBrownianTree: t0 t1 tol shape key levy_area
    """, key="key", result="itself")

_EINOPS = merge(
    rows("einops", "array.reshape", "rearrange: tensor pattern"),
    rows("einops", "array.expand", "repeat: tensor pattern"),
    rows("einops", "array.reduce", "reduce: tensor pattern reduction"),
    rows("einops", "array.dot", "einsum: *tensors_and_pattern"),
    rows("einops", "array.join", "pack: tensors pattern"),
    rows("einops", "array.split", "unpack: tensor packed_shapes pattern"),
    rows("einops", "array.shape", "parse_shape: x pattern"),
)

_HALIAX = merge(
    rows("haliax.random", "key.draw", """
        cauchy exponential gumbel laplace logistic normal rademacher: key shape dtype
        ball: key shape D p dtype
        beta: key shape a b dtype
        categorical: key logits axis shape
        choice: key shape a axis replace p
        gamma loggamma: key shape a dtype
        pareto: key shape b dtype
        poisson: key shape lam dtype
        t: key shape df dtype
        weibull_min: key shape scale concentration dtype
        bernoulli: key shape p
        uniform: key shape dtype minval maxval
        randint: key shape minval maxval dtype
        truncated_normal: key shape lower upper dtype
        permutation: key x axis independent
        """, key="key"),
    rows("haliax.nn", "key.draw", """
        Linear.init: In Out
        Embedding.init: Vocab Embed
        MLP.init: Input Output width depth activation
        Dropout.__call__: x
        """, key="key"),
)

ROWS = merge(_RLAX, _CHEX, _BLACKJAX, _DIFFRAX, _EINOPS, _HALIAX)
"""What these libraries do with keys, and their functions that call no function of the user."""
