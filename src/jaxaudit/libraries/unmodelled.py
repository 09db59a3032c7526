"""Public functions that have no row on purpose, each with the reason; no wildcard takes them either."""

from __future__ import annotations

UNMODELLED: dict[str, str] = {}
"""The reason why a name has no row, by canonical name."""


def _because(reason: str, prefix: str, names: str) -> None:
    """Records names that share a reason."""
    for name in names.split():
        UNMODELLED[f"{prefix}.{name}"] = reason


_TRANSFORMATION = "it is a transformation, with a table of its own"
_CALLS = "it calls a function of yours"
_TYPE = "it is a type, not a function"

_because(_TRANSFORMATION, "jax.lax", "scan map associative_scan switch cond while_loop fori_loop")
_because(_CALLS, "jax.lax", "custom_root custom_linear_solve composite platform_dependent")
_because("it orders side effects by tokens", "jax.lax", "after_all create_token precv")
_because("it draws from hardware, without a key", "jax.lax", "rng_uniform")
_because("it is for JAX's own use", "jax.lax", "dce_sink stage")
_because(
    _TYPE,
    "jax.lax",
    "AccuracyMode ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers DotAlgorithm DotAlgorithmPreset "
    "DotDimensionNumbers FftType GatherDimensionNumbers GatherScatterMode Precision PrecisionLike "
    "RaggedDotDimensionNumbers RandomAlgorithm RoundingMethod ScatterDimensionNumbers Tolerance",
)
_because(_TYPE, "jax.image", "ResizeMethod")
_because(_TYPE, "jax.nn", "Initializer")
_because(_TYPE, "jax.lax.linalg", "EigImplementation EighImplementation SvdAlgorithm")
_because(_CALLS, "jax.numpy", "apply_along_axis apply_over_axes fromfunction frompyfunc piecewise vectorize")
_because(_CALLS, "jax.numpy", "mask_indices")
_because(_CALLS, "numpy", "apply_along_axis apply_over_axes fromfunction frompyfunc piecewise vectorize")
_because(_CALLS, "chex", "assert_max_traces assert_numerical_grads assert_trees_all_equal_comparator")
_because(_CALLS, "tensorflow_probability.substrates.jax.math", "value_and_gradient custom_gradient ode minimize")
_because("it writes a file", "jax.numpy", "save savez")
_because("JAX does not implement it", "jax.numpy", "fromfile fromiter")
_because(
    _TYPE,
    "jax.numpy",
    "ComplexWarning character complexfloating flexible floating generic inexact integer ndarray number object_ "
    "signedinteger ufunc unsignedinteger",
)
