"""Rows of the distribution libraries: distrax, numpyro and TensorFlow Probability on JAX."""

from __future__ import annotations

from jaxaudit.libraries.table import Table, merge, rows


def _made(library: str, *, numbers: str, choices: str, vectors: str) -> Table:
    """Build the rows of distributions over numbers, over one of several classes, and over vectors.

    Their batch is what the parameters have together, without the last axis but for numbers.
    """
    kinds = {"numbers": numbers, "choices": choices, "vectors": vectors}
    return merge(
        *(
            rows(library, "py.call_library", spec, result="itself", roles=f"distribution.{kind}", plain=_PLAIN)
            for kind, spec in kinds.items()
        )
    )


def _composed(distributions: str, transformed: str, bijectors: str, spec: str) -> Table:
    """Build the rows of distributions that are made of others, and of bijectors that change each number by itself."""
    return merge(
        rows(distributions, "py.call_library", f"""
            {transformed}: distribution bijector
            """, result="itself", roles="distribution.transformed", plain=_PLAIN),
        rows(distributions, "py.call_library", """
            Independent: distribution reinterpreted_batch_ndims
            """, result="itself", roles="distribution.independent", plain=_PLAIN),
        rows(bijectors, "py.call_library", f"Tanh Sigmoid:\nChain: bijectors\n{spec}", result="itself", roles="bijector.each", plain=_PLAIN),
    )


_PLAIN = "dtype validate_args allow_nan_stats name"
"""Options that leave the shapes of a distribution alone."""

_DISTRAX = merge(
    _made("distrax", numbers="""
        Normal Laplace Logistic Gumbel: loc scale
        LogStddevNormal: loc log_scale
        Deterministic: loc
        Bernoulli: logits probs dtype
        Beta: alpha beta
        Gamma: concentration rate
        Uniform: low high
        VonMises: loc concentration
        """, choices="""
        Categorical: logits probs dtype
        Softmax: logits temperature dtype
        Greedy: preferences dtype
        EpsilonGreedy: preferences epsilon dtype
        """, vectors="""
        MultivariateNormalDiag: loc scale_diag
        Dirichlet: concentration
        OneHotCategorical: logits probs dtype
        """),
    _composed("distrax", "Transformed", "distrax", "Block: bijector ndims\nInverse: bijector"),
    # `seed` and `sample_shape` come by keyword alone.
    rows("distrax", "key.draw", """
        *.sample: -> drawn(sample_shape)
        *.sample_and_log_prob: -> (drawn(sample_shape), drawn_scores(sample_shape))
        """, key="seed"),
    rows("distrax", "key.draw", """
        estimate_kl_best_effort: distribution_a distribution_b rng_key num_samples proposal_distribution
        mc_estimate_kl: distribution_a distribution_b rng_key num_samples proposal_distribution
        mc_estimate_kl_with_reparameterized: distribution_a distribution_b rng_key num_samples
        mc_estimate_mode: distribution rng_key num_samples
        """, key="rng_key"),
    rows("distrax", "py.call_library", """
        *.entropy: -> of_batch()
        *.mean *.median *.mode *.stddev *.variance: -> whole()
        *.cdf *.log_cdf *.log_prob *.prob: value -> scored(value)
        *.log_survival_function *.survival_function: value
        *.kl_divergence *.cross_entropy: other_dist -> compared(other_dist)
        *.forward: x
        *.inverse: y
        HMM.forward HMM.backward HMM.forward_backward: obs_seq length
        HMM.viterbi: obs_seq
        importance_sampling_ratios: target_dist sampling_dist event
        multiply_no_nan: x y
        """),
    rows("distrax", "py.call_library", """
        *.forward_and_log_det *.forward_log_det_jacobian: x
        *.inverse_and_log_det *.inverse_log_det_jacobian: y
        """, roles="density.correction"),
    rows("distrax", "py.call_library", "as_distribution: obj", result="distrax.Distribution"),
    rows("distrax", "py.call_library", "as_bijector: obj", result="distrax.Bijector"),
    rows("distrax", "py.call_library", "straight_through_wrapper: Distribution", result="distrax.Distribution"),
)

_NUMPYRO = merge(
    _made("numpyro.distributions", numbers="""
        Normal LogNormal Laplace Logistic Gumbel Cauchy: loc scale
        BernoulliLogits: logits
        BernoulliProbs: probs
        Beta: concentration1 concentration0
        Gamma InverseGamma: concentration rate
        Uniform: low high
        StudentT: df loc scale
        Poisson Exponential: rate
        HalfNormal HalfCauchy: scale
        VonMises: loc concentration
        """, choices="CategoricalLogits: logits\nCategoricalProbs: probs\nCategorical: probs logits", vectors="Dirichlet: concentration"),
    rows("numpyro.distributions", "py.call_library", """
        Bernoulli: probs logits
        """, result="itself", roles="distribution.numbers", plain=_PLAIN),
    rows("numpyro.distributions", "key.draw", """
        *.sample *.rsample: key sample_shape -> drawn(sample_shape)
        *.sample_with_intermediates *.component_sample: key sample_shape
        """, key="key"),
    rows("numpyro.distributions", "py.call_library", """
        *.cdf *.log_prob: value -> scored(value)
        *.entropy: -> of_batch()
        *.infer_shapes:
        *.enumerate_support: expand
        *.icdf: q
        *.shape: sample_shape
        kl_divergence: p q
        """),
    rows("numpyro.distributions", "py.call_library", """
        *.expand: batch_shape
        *.expand_by: sample_shape
        *.mask: mask
        *.to_event: reinterpreted_batch_ndims
        """, result="numpyro.distributions.Distribution"),
    # Without a key of its own a site draws from the seed handler around it.
    rows("numpyro", "key.draw", "sample: name fn obs rng_key sample_shape infer obs_mask", key="rng_key"),
    rows("numpyro", "key.stream", "prng_key:"),
    rows("numpyro.handlers", "key.draw", "seed: fn rng_seed hide_types", key="rng_seed", result="itself"),
    rows("numpyro", "py.call_library", """
        deterministic: name value
        enable_validation: is_validate
        enable_x64: use_x64
        factor: name log_factor
        get_mask:
        param: name init_value
        plate_stack: prefix sizes rightmost_dim
        set_host_device_count: n
        set_platform: platform
        subsample: data event_dim
        """),
)

_INFERENCE = merge(
    rows("numpyro.infer", "key.draw", """
        MCMC.run MCMC.warmup: rng_key *args
        Predictive.__call__ SVI.init: rng_key *args
        SVI.run: rng_key num_steps *args
        *.loss *.loss_with_mutable_state: rng_key param_map model guide *args
        *.init: rng_key num_warmup init_params model_args model_kwargs
        *.sample_posterior: rng_key params *args
        initialize_model: rng_key model
        psis_diagnostic: rng_key param_map model guide *args
        """, key="rng_key"),
    rows("numpyro.infer", "py.call_library", """
        MCMC.get_samples MCMC.get_extra_fields: group_by_chain
        MCMC.print_summary: prob exclude_deterministic
        SVI.evaluate SVI.update SVI.stable_update: svi_state *args
        SVI.get_params: svi_state
        log_likelihood: model posterior_samples *args
        init_to_feasible init_to_mean init_to_median init_to_sample init_to_uniform init_to_value: site
        """),
    rows("numpyro.contrib.einstein", "key.draw", "*.run: rng_key num_steps *args\n*.init: rng_key *args", key="rng_key"),
)

_TFP = "tensorflow_probability.substrates.jax"

_TFP_ROWS = merge(
    _made(f"{_TFP}.distributions", numbers="""
        Normal LogNormal Laplace Logistic Gumbel Cauchy: loc scale
        Bernoulli: logits probs dtype
        Beta: concentration1 concentration0
        Gamma InverseGamma: concentration rate
        Uniform: low high
        StudentT: df loc scale
        Poisson Exponential: rate
        HalfNormal: scale
        HalfCauchy: loc scale
        VonMises: loc concentration
        """, choices="Categorical: logits probs dtype", vectors="""
        MultivariateNormalDiag: loc scale_diag
        Dirichlet: concentration
        OneHotCategorical: logits probs dtype
        """),
    _composed(f"{_TFP}.distributions", "TransformedDistribution", f"{_TFP}.bijectors", "Invert: bijector"),
    rows(f"{_TFP}.distributions", "key.draw", """
        *.sample: sample_shape seed -> drawn(sample_shape)
        *.experimental_sample_and_log_prob: sample_shape seed -> (drawn(sample_shape), drawn_scores(sample_shape))
        """, key="seed"),
    rows(f"{_TFP}.distributions", "py.call_library", """
        *.cdf *.log_cdf *.log_prob *.prob: value -> scored(value)
        *.log_survival_function *.quantile *.survival_function: value
        *.covariance:
        *.entropy: -> of_batch()
        *.mean *.mode *.stddev *.variance: -> whole()
        *.cross_entropy *.kl_divergence: other -> compared(other)
        kl_divergence: distribution_a distribution_b
        """),
    rows(f"{_TFP}.bijectors", "py.call_library", "*.forward: x\n*.inverse: y"),
    rows(f"{_TFP}.bijectors", "py.call_library", "*.forward_log_det_jacobian: x event_ndims", roles="density.correction"),
    rows(f"{_TFP}.math", "array.map", "*: *args"),
    rows(f"{_TFP}.random", "key.split", "split_seed: seed n", key="seed"),
    rows(f"{_TFP}.mcmc", "key.draw", "sample_chain: num_results current_state", key="seed"),
)

ROWS = merge(_DISTRAX, _NUMPYRO, _INFERENCE, _TFP_ROWS)
"""What samples, and the questions to ask of a distribution."""
