"""Old, short and private spellings of library names, each with the public name that stands for it."""

from __future__ import annotations

NAMES: dict[str, str] = {}
"""Whole names: each maps to the name that stands for it."""

PREFIXES: dict[str, str] = {}
"""Modules and classes: what follows the prefix stays."""


def _same(target: str, spellings: str) -> None:
    """Records several whole-name spellings of one target."""
    for spelling in spellings.split():
        NAMES[spelling] = target


def _reexports(target: str, modules: str, names: str) -> None:
    """Records functions of one module that other modules offer under the same name."""
    for module in modules.split():
        for name in names.split():
            NAMES[f"{module}.{name}"] = f"{target}.{name}"


def _prefixed(target: str, old: str, names: str) -> None:
    """Records names that differ in what stands before them alone."""
    for name in names.split():
        NAMES[old + name] = target + name


def _modules(target: str, spellings: str) -> None:
    """Records several spellings of one module or class."""
    for spelling in spellings.split():
        PREFIXES[spelling] = target


def _parts(package: str, submodules: str) -> None:
    """Records the submodules whose names a package offers at its own level."""
    _modules(package, " ".join(f"{package}.{submodule}" for submodule in submodules.split()))


# Transformations: the table of transformations matches the names on the left.
_same("jax.jit", "jax.experimental.pjit.pjit jax.pjit jax.api.jit jax._src.api.jit jax._src.pjit.pjit")
_same("jax.shard_map", "jax.experimental.shard_map.shard_map jax._src.shard_map.shard_map")
_same("jax.checkpoint", "jax.remat jax.ad_checkpoint.checkpoint jax._src.ad_checkpoint.checkpoint")
_same("jax.jacrev", "jax.jacobian")
_same("jax.pure_callback", "jax.experimental.pure_callback")
_same("jax.debug.callback", "jax.experimental.debug_callback jax._src.debugging.debug_callback")
_same("jax.experimental.io_callback", "jax.experimental.io_callback.io_callback jax.io_callback")
_reexports(
    "jax",
    "jax.api jax._src.api jax.custom_derivatives jax._src.custom_derivatives",
    "custom_jvp custom_vjp custom_gradient closure_convert eval_shape grad hessian jacfwd jacrev jvp linearize "
    "make_jaxpr pmap value_and_grad vjp vmap device_put device_get block_until_ready linear_transpose",
)

# Python's own.
_modules("typing", "typing_extensions")
_same("builtins.list", "flax.nnx.List")

# Trees.
for _old in ("jax.tree_util.tree_", "jax.tree_", "jax._src.tree_util.tree_"):
    _prefixed(
        "jax.tree.",
        _old,
        "all broadcast flatten flatten_with_path leaves leaves_with_path map map_with_path reduce reduce_associative "
        "structure transpose unflatten",
    )
_same("jax.tree.map", "jax.tree_multimap jax.tree_util.tree_multimap")
_same("jax.tree.flatten_with_path", "jax.tree_util.tree_flatten_with_keys")
_same("jax.tree.unflatten", "jax.tree_util.PyTreeDef.unflatten")
_same("jax.tree_util.Partial", "jax.Partial jax._src.tree_util.Partial")

# Classes.
_same("chex.dataclass", "chex._src.dataclass.dataclass")
_same("flax.nnx.dataclass", "flax.nnx.pytreelib.dataclass")

# Shardings and devices.
_same("jax.sharding.PartitionSpec", "jax.P jax.experimental.PartitionSpec jax.experimental.pjit.PartitionSpec")
_same("jax.sharding.PartitionSpec", "jax.interpreters.pxla.PartitionSpec jax.sharding.P")
_same("jax.sharding.Mesh", "jax.experimental.maps.Mesh jax.interpreters.pxla.Mesh jax.Mesh")
_same("jax.sharding.NamedSharding", "jax.NamedSharding")
_same("jax.lax.with_sharding_constraint", "jax.experimental.pjit.with_sharding_constraint")
_same("jax.reshard", "jax.sharding.reshard")
_same("jax.enable_x64", "jax.experimental.enable_x64 jax.experimental.x64_context.enable_x64")

# One function in two places.
_reexports("jax.nn", "jax.scipy.special jax._src.ops.special", "logsumexp softmax log_softmax")
_same("jax.nn.sigmoid", "jax.scipy.special.sigmoid")
_same("jax.numpy.trapezoid", "jax.scipy.integrate.trapezoid")
_same("jax.random.PRNGKey", "jax.random.threefry2x32_key jax.random.rbg_key jax.random.unsafe_rbg_key")
_same("jax.numpy.vstack", "jax.numpy.row_stack")
_same("jax.nn.Initializer", "jax.nn.initializers.Initializer flax.typing.Initializer flax.nnx.Initializer")
_reexports("jax.nn.initializers", "flax.linen flax.nnx", "ones ones_init zeros zeros_init")
for _kind in ("normal", "uniform"):
    _same(f"jax.nn.initializers.he_{_kind}", f"jax.nn.initializers.kaiming_{_kind}")
    _same(f"jax.nn.initializers.glorot_{_kind}", f"jax.nn.initializers.xavier_{_kind}")
_reexports(
    "jax.nn",
    "flax.linen flax.nnx flax.linen.activation flax.nnx.nn.activations",
    "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log_sigmoid log_softmax "
    "logsumexp one_hot relu relu6 selu sigmoid silu soft_sign softmax softplus standardize swish normalize tanh",
)
_same("jax.nn.one_hot", "haiku.one_hot")

# Modules.
_modules("jax.random", "jax._src.random")
_modules("jax.nn", "jax._src.nn.functions jax._src.nn jax.experimental.nn")
_modules("jax.nn.initializers", "jax._src.nn.initializers flax.linen.initializers flax.nnx.initializers")
_modules("jax.nn.initializers", "flax.nnx.nn.initializers jax.experimental.stax.initializers")
_modules("jax.lax", "jax._src.lax jax._src.lax.lax jax._src.lax.control_flow jax._src.lax.convolution")
_modules("jax.lax", "jax._src.lax.parallel jax._src.lax.slicing jax._src.lax.windowed_reductions")
_parts("jax.lax", "lax control_flow parallel")
_modules("jax.lax.linalg", "jax._src.lax.linalg")
_modules("jax.numpy", "jax._src.numpy jax._src.numpy.lax_numpy jax._src.numpy.reductions jax._src.numpy.ufuncs")
_modules("jax.numpy", "jax.numpy.lax_numpy jax._src.numpy.setops jax._src.numpy.indexing jax._src.numpy.array_creation")
_modules("jax.numpy.linalg", "jax._src.numpy.linalg jax._src.third_party.numpy.linalg")
_modules("jax.numpy.fft", "jax._src.numpy.fft")
_modules("jax.scipy", "jax._src.scipy")
_modules("jax.tree_util", "jax._src.tree_util")
_modules("jax.flatten_util", "jax._src.flatten_util")
_modules("jax.image", "jax._src.image.scale")
_modules("jax.ops", "jax._src.ops.scatter")
_modules("jax.sharding", "jax.experimental.sharding jax._src.sharding jax._src.mesh")
_modules("array", "jax.Array jax.numpy.ndarray jax.numpy.DeviceArray jax.xla.DeviceArray chex.Array jaxtyping.Array")

_modules("haiku", "hk")
_parts(
    "haiku",
    "_src.base _src.basic _src.transform _src.recurrent _src.stateful _src.conv _src.module _src.attention _src.random "
    "_src.batch_norm _src.layer_norm _src.embed _src.pool",
)
_modules("haiku.initializers", "haiku._src.initializers")
_parts(
    "flax.linen",
    "activation attention batch_apply combinators fp8_ops linear module normalization partitioning pooling recurrent "
    "spmd stochastic summary transforms",
)
_modules("flax.nnx", "flax.experimental.nnx flax.experimental.nnx.nnx")
_parts(
    "flax.nnx",
    "graph graphlib helpers module nn nn.activations nn.attention nn.linear nn.lora nn.normalization nn.recurrent "
    "nn.stochastic rnglib spmd statelib training.metrics training.optimizer transforms.autodiff transforms.compilation "
    "transforms.iteration transforms.general transforms.transforms variablelib object pytreelib",
)
_parts("flax.core", "frozen_dict")
_modules("flax.core.FrozenDict", "flax.linen.FrozenDict flax.FrozenDict")
_same("flax.core.FrozenDict", "flax.linen.FrozenDict flax.FrozenDict")
_modules("flax.training.train_state.TrainState", "flax.training.TrainState")
_same("flax.training.train_state.TrainState", "flax.training.TrainState")
_parts("equinox", "_module _filters _tree _grad _jit _ad _vmap_pmap")
_parts(
    "equinox.nn",
    "_linear _mlp _dropout _embedding _rnn _conv _attention _normalisation _pool _sequential _stateful _batch_norm "
    "_spectral_norm _weight_norm",
)
_parts("numpyro.distributions", "continuous discrete directional distribution conjugate mixtures truncated transforms")
_parts("numpyro.infer", "mcmc svi hmc elbo util autoguide barker sa ensemble mixed_hmc hmc_gibbs gibbs initialization")
_parts("numpyro", "primitives")
_parts("optax", "losses schedules transforms projections optimizers")
_parts("optax", "_src.base _src.alias _src.transform _src.loss _src.update")
_prefixed(
    "optax.tree.",
    "optax.tree_utils.tree_",
    "add add_scale allclose cast cast_like clip conj div dtype full_like get get_all_with_path max min mul norm ones_like "
    "random_like real scale size split_key_like sub sum update_infinity_moment update_moment "
    "update_moment_per_elem_norm vdot where zeros_like",
)
_same("optax.tree.norm", "optax.tree_utils.tree_l2_norm")
for _moment in ("update_moment", "update_moment_per_elem_norm", "update_infinity_moment"):
    _same(f"optax.tree.{_moment}", f"optax.{_moment}")
_modules("tensorflow_probability.substrates.jax", "tfp.substrates.jax tensorflow_probability.substrates.jax.python")
_modules("diffrax", "diffrax._brownian diffrax._brownian.tree diffrax._brownian.path")
_parts("chex", "_src.asserts _src.dataclass _src.pytypes")
_modules("einops", "einops.einops")

# Python's builtins, by their bare names.
_prefixed("builtins.", "", "ascii bool complex float input int open print repr str")
_modules("tensorboardX", "flax.metrics.tensorboard")
_modules("tqdm", "tqdm.auto tqdm.autonotebook tqdm.notebook tqdm.std")
