"""What holds of a library as a whole."""

from __future__ import annotations

JAX = frozenset("jax optax flax equinox haiku distrax rlax chex diffrax numpyro blackjax jaxopt haliax lineax".split())
"""Libraries whose functions compute with JAX: what they are given decides whether the result is traced."""

KEEPING_STATE = frozenset("flax haiku torch".split())
"""Libraries whose modules keep state by assigning attributes while they are traced."""

VALUES_ALONE = frozenset("math cmath bisect statistics".split())
"""Libraries whose functions compute with Python's own numbers, and need the value of whatever they are given."""

NEEDING_VALUES = VALUES_ALONE | frozenset("numpy scipy sklearn skimage cv2 PIL torch tensorflow matplotlib shapely".split())
"""Libraries whose functions need the values of the arrays that they are given, alone or in containers."""

PLAIN = frozenset(("jax", "haiku"))
"""Libraries whose transformations trace every leaf of every argument, as those of JAX do."""

HANDING_BACK = frozenset(("flax.nnx",))
"""Libraries whose transformations hand changes back that code makes to the objects that it is given."""

FILTERING = frozenset(("equinox",))
"""Libraries whose transformations trace arrays, and take everything else for static."""

DIFFERENTIABLE = {"equinox": "equinox.is_inexact_array", "flax.nnx": "flax.nnx.Param"}
"""What a library's own derivatives are taken of, where they leave parts of a tree out."""


WEIGHTS = {"flax": "param_dtype", "equinox": "dtype", "haiku": None}
"""The option of a library's layers that says the dtype of their weights; None where they follow the input."""

FOR_ONE_EXAMPLE = frozenset(("equinox",))
"""Libraries whose layers take one example without an axis for the batch."""


TYPE_TESTS = frozenset(
    """builtins.hasattr builtins.callable builtins.type jax.numpy.isscalar numpy.isscalar equinox.is_array
    equinox.is_inexact_array equinox.is_array_like jax.core.is_concrete""".split()
)
"""Functions that ask what kind of object something is."""

TRACER_TESTS = ("is_concrete", "trace_state_clean", "is_tracer", "unsafe_am_i_under_a_jit_DO_NOT_USE")
"""Functions of JAX and its users that ask whether something is traced, by the last part of their names."""

_COMPUTING = tuple(f"jax.{module}." for module in "numpy lax nn scipy random image tree".split())


def computes(name: str) -> bool:
    """Whether a function belongs to a module of JAX whose functions compute and do nothing else."""
    return name.startswith(_COMPUTING)


ON_EACH_DEVICE = ("prefetch_to_device", "device_put_replicated", "device_put_sharded", "pad_shard_unpad")
"""Functions that give each device an array of its own."""


def package(name: str) -> str:
    """Return the top-level package of a qualified name."""
    return name.partition(".")[0]

READ_AT_IMPORT = frozenset(
    f"JAX_{name}"
    for name in """CHECK_TRACER_LEAKS COMPILATION_CACHE_DIR DEBUG_INFS DEBUG_KEY_REUSE DEBUG_NANS
    DEFAULT_MATMUL_PRECISION DEFAULT_PRNG_IMPL DISABLE_JIT ENABLE_X64 LOG_COMPILES NUMPY_DTYPE_PROMOTION
    NUMPY_RANK_PROMOTION PLATFORMS PLATFORM_NAME THREEFRY_PARTITIONABLE TRACEBACK_FILTERING TRANSFER_GUARD""".split()
)
"""Variables of the environment that JAX reads once, when it is imported."""
