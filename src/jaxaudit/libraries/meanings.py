"""What functions and layers of libraries make of the meaning of values, by the last part of their names.

A trace knows a layer or a loss by that part alone.
"""

from __future__ import annotations

APPLIED_TO_LOGITS: dict[str, str] = {
    **dict.fromkeys(
        """softmax_cross_entropy softmax_cross_entropy_with_integer_labels safe_softmax_cross_entropy
        poly_loss_cross_entropy cross_entropy_loss_with_logits Categorical Multinomial OneHotCategorical""".split(),
        "softmax",
    ),
    **dict.fromkeys("sigmoid_binary_cross_entropy sigmoid_focal_loss Bernoulli".split(), "sigmoid"),
}
"""Losses and distributions that take logits, with what they apply to them themselves."""

PROBABILITIES_TAKEN: dict[str, str] = {
    "softmax_cross_entropy.labels": "probabilities",
    "safe_softmax_cross_entropy.labels": "probabilities",
    "poly_loss_cross_entropy.labels": "probabilities",
    "sigmoid_binary_cross_entropy.labels": "probabilities",
    "kl_divergence.log_predictions": "log-probabilities",
    "kl_divergence.targets": "probabilities",
    "convex_kl_divergence.log_predictions": "log-probabilities",
    "convex_kl_divergence.targets": "probabilities",
    "kl_divergence_with_log_targets.log_predictions": "log-probabilities",
    "kl_divergence_with_log_targets.log_targets": "log-probabilities",
}
"""Parameters of losses that take probabilities or their logarithms."""

AFFINE = frozenset("Linear Dense DenseGeneral LinearGeneral MLP Conv".split())
"""Layers that end in a sum of products: whatever they are given, the result may have any sign."""
ENDS_OTHERWISE = ("activate_final", "final_activation")
"""Options of layers that put an activation behind it."""

BATCH_STATISTICS = frozenset(("flax.linen.BatchNorm",))
"""Layers that keep statistics of the batches they see, of all devices where they are given the name of an axis."""

NORMALISING = frozenset("LayerNorm RMSNorm GroupNorm BatchNorm InstanceNorm SpectralNorm".split())
BATCHWISE = frozenset(("BatchNorm",))
"""Layers whose statistics are those of all examples of a batch."""
EMBEDDING = frozenset(("Embed", "Embedding"))

NORMAL_DISTRIBUTIONS = frozenset("Normal MultivariateNormalDiag MultivariateNormalTri MultivariateNormalFullCovariance".split())
"""Distributions whose samples are a centre with noise added."""

SPREADS_TAKEN: dict[str, int] = {
    "Normal.scale": 1,
    "LogNormal.scale": 1,
    "HalfNormal.scale": 1,
    "TruncatedNormal.scale": 1,
    "MultivariateNormalDiag.scale_diag": 1,
    "norm.scale": 1,
}
"""Parameters that take a power of a standard deviation, by the distribution that they are of."""
