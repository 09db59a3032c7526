"""What rows state about results is what the libraries give, for generated arguments and options.

Each line of `CALLS` is a function or class of a library with arguments that it accepts. Every option of its real
signature is varied one by one. What the shapes domain says about a call is unknown, or what `jax.eval_shape` says.
"""

import inspect
from typing import Any

import pytest

from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import ShapeFact
from tests.analyses.shapes.test_shapes import solved

jax = pytest.importorskip("jax")

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = """
import distrax
import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import optax
from flax import nnx
from tensorflow_probability.substrates.jax import bijectors as tfb
from tensorflow_probability.substrates.jax import distributions as tfd

key = jax.random.key(0)
x = jnp.ones((8, 16, 5))
half = jnp.ones((8, 16, 5), jnp.bfloat16)
whole = jnp.ones((8, 16, 5), jnp.int32)
row = jnp.ones((8, 5))
wide = jnp.ones((8, 7))
one = jnp.ones(5)
cold = jnp.ones(5, jnp.bfloat16)
seven = jnp.ones(7)
ids = jnp.ones((8, 4), jnp.int32)
image = jnp.ones((8, 32, 32, 3))
line = jnp.ones((8, 32, 3))
block = jnp.ones((8, 8, 8, 8, 3))
first = jnp.ones((3, 32, 32))
first1 = jnp.ones((3, 32))
first3 = jnp.ones((3, 8, 8, 8))
queries = jnp.ones((8, 16, 8))
tree = {"w": jnp.ones((5, 3)), "b": jnp.ones(3)}
"""

CALLS = """
nn.Dense(features=7) | x
nn.Dense(features=7) | half
nn.Dense(features=7) | whole
nn.DenseGeneral(features=(2, 3)) | x
nn.DenseGeneral(features=9) | x
nn.Embed(num_embeddings=11, features=12) | ids
nn.Conv(features=6, kernel_size=(3, 3)) | image
nn.Conv(features=6, kernel_size=(5, 3)) | image
nn.Conv(features=6, kernel_size=3) | line
nn.ConvTranspose(features=6, kernel_size=(3, 3)) | image
nn.RNN(cell=nn.GRUCell(features=7)) | x
nn.RNN(cell=nn.LSTMCell(features=7)) | x
nn.GRUCell(features=7) | wide, row
nn.MGUCell(features=7) | wide, row
nn.SimpleCell(features=7) | wide, row
nn.LSTMCell(features=7) | (wide, wide), row
nn.OptimizedLSTMCell(features=7) | (wide, wide), row
nn.LayerNorm() | x
nn.LayerNorm() | half
nn.RMSNorm() | x
nn.GroupNorm(num_groups=1) | x
nn.InstanceNorm() | x
nn.BatchNorm(use_running_average=False) | x
nn.PReLU() | x
nn.PReLU() | half
nn.Dropout(rate=0.5, deterministic=True) | x
nn.Dropout(rate=0.5, deterministic=True) | half
nn.MultiHeadAttention(num_heads=4) | queries, queries
nn.MultiHeadDotProductAttention(num_heads=4) | queries, queries
nn.SelfAttention(num_heads=4) | queries
nnx.Linear(in_features=5, out_features=7, rngs=nnx.Rngs(0)) | x
nnx.Linear(in_features=5, out_features=7, rngs=nnx.Rngs(0)) | half
nnx.LinearGeneral(in_features=5, out_features=(2, 3), rngs=nnx.Rngs(0)) | x
nnx.Conv(in_features=3, out_features=6, kernel_size=(3, 3), rngs=nnx.Rngs(0)) | image
nnx.ConvTranspose(in_features=3, out_features=6, kernel_size=(3, 3), rngs=nnx.Rngs(0)) | image
nnx.RNN(cell=nnx.GRUCell(5, 7, rngs=nnx.Rngs(0))) | x
nnx.Embed(num_embeddings=11, features=12, rngs=nnx.Rngs(0)) | ids
nnx.GRUCell(in_features=5, hidden_features=7, rngs=nnx.Rngs(0)) | wide, row
nnx.SimpleCell(in_features=5, hidden_features=7, rngs=nnx.Rngs(0)) | wide, row
nnx.LSTMCell(in_features=5, hidden_features=7, rngs=nnx.Rngs(0)) | (wide, wide), row
nnx.OptimizedLSTMCell(in_features=5, hidden_features=7, rngs=nnx.Rngs(0)) | (wide, wide), row
nnx.MultiHeadAttention(num_heads=4, in_features=8, decode=False, rngs=nnx.Rngs(0)) | queries
nnx.BatchNorm(num_features=5, rngs=nnx.Rngs(0)) | x
nnx.LayerNorm(num_features=5, rngs=nnx.Rngs(0)) | x
nnx.LayerNorm(num_features=5, rngs=nnx.Rngs(0)) | half
nnx.RMSNorm(num_features=5, rngs=nnx.Rngs(0)) | x
nnx.GroupNorm(num_features=5, num_groups=1, rngs=nnx.Rngs(0)) | x
nnx.InstanceNorm(num_features=5, rngs=nnx.Rngs(0)) | x
nnx.PReLU() | x
nnx.PReLU() | half
nnx.Dropout(rate=0.5, rngs=nnx.Rngs(0)) | x
hk.Linear(output_size=7) | x
hk.Linear(output_size=7) | half
hk.Embed(vocab_size=11, embed_dim=12) | ids
hk.Conv1D(output_channels=6, kernel_shape=3) | line
hk.Conv2D(output_channels=6, kernel_shape=3) | image
hk.Conv2D(output_channels=6, kernel_shape=(5, 3)) | image
hk.Conv3D(output_channels=6, kernel_shape=3) | block
hk.Conv1DTranspose(output_channels=6, kernel_shape=3) | line
hk.Conv2DTranspose(output_channels=6, kernel_shape=3) | image
hk.Conv3DTranspose(output_channels=6, kernel_shape=3) | block
hk.GRU(hidden_size=7) | row, wide
hk.VanillaRNN(hidden_size=7) | row, wide
hk.LSTM(hidden_size=7) | row, hk.LSTMState(wide, wide)
hk.MultiHeadAttention(num_heads=4, key_size=3, w_init_scale=1.0) | queries, queries, queries
hk.LayerNorm(axis=-1, create_scale=True, create_offset=True) | x
hk.LayerNorm(axis=-1, create_scale=True, create_offset=True) | half
hk.RMSNorm(axis=-1) | x
hk.GroupNorm(groups=1) | x
hk.InstanceNorm(create_scale=True, create_offset=True) | x
hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.9) | x, True
hk.nets.MLP(output_sizes=[32, 7]) | x
hk.nets.MLP(output_sizes=[32, 7]) | half
hk.Flatten() | x
eqx.nn.Linear(in_features=5, out_features=7, key=key) | one
eqx.nn.Linear(in_features=5, out_features=7, key=key) | cold
eqx.nn.MLP(in_size=5, out_size=7, width_size=32, depth=2, key=key) | one
eqx.nn.MLP(in_size=5, out_size=7, width_size=32, depth=0, key=key) | cold
eqx.nn.Conv1d(in_channels=3, out_channels=6, kernel_size=3, key=key) | first1
eqx.nn.Conv2d(in_channels=3, out_channels=6, kernel_size=3, key=key) | first
eqx.nn.Conv3d(in_channels=3, out_channels=6, kernel_size=3, key=key) | first3
eqx.nn.ConvTranspose1d(in_channels=3, out_channels=6, kernel_size=3, key=key) | first1
eqx.nn.ConvTranspose2d(in_channels=3, out_channels=6, kernel_size=3, key=key) | first
eqx.nn.ConvTranspose3d(in_channels=3, out_channels=6, kernel_size=3, key=key) | first3
eqx.nn.Embedding(num_embeddings=11, embedding_size=12, key=key) | jnp.array(3)
eqx.nn.GRUCell(input_size=5, hidden_size=7, key=key) | one, seven
eqx.nn.LSTMCell(input_size=5, hidden_size=7, key=key) | one, (seven, seven)
eqx.nn.MultiheadAttention(num_heads=4, query_size=8, key=key) | queries[0], queries[0], queries[0]
eqx.nn.AvgPool1d(kernel_size=3) | first1
eqx.nn.AvgPool2d(kernel_size=3) | first
eqx.nn.AvgPool3d(kernel_size=3) | first3
eqx.nn.MaxPool1d(kernel_size=3) | first1
eqx.nn.MaxPool2d(kernel_size=(3, 2)) | first
eqx.nn.MaxPool3d(kernel_size=3) | first3
eqx.nn.AdaptiveAvgPool1d(target_shape=4) | first1
eqx.nn.AdaptiveAvgPool2d(target_shape=4) | first
eqx.nn.AdaptiveAvgPool3d(target_shape=4) | first3
eqx.nn.AdaptiveMaxPool1d(target_shape=4) | first1
eqx.nn.AdaptiveMaxPool2d(target_shape=(4, 2)) | first
eqx.nn.AdaptiveMaxPool3d(target_shape=4) | first3
eqx.nn.LayerNorm(shape=(5,)) | one
eqx.nn.LayerNorm(shape=(5,)) | cold
eqx.nn.RMSNorm(shape=(5,)) | one
eqx.nn.RMSNorm(shape=(5,)) | cold
eqx.nn.GroupNorm(groups=1, channels=3) | first
eqx.nn.Identity() | one
eqx.nn.PReLU() | one
eqx.nn.PReLU() | cold
eqx.nn.Dropout(p=0.5, inference=True) | one
nn.avg_pool | image, (2, 2)
nn.max_pool | image, (3, 3)
nnx.avg_pool | image, (2, 2)
nnx.max_pool | image, (3, 3)
nnx.min_pool | image, (3, 3)
hk.avg_pool | image, 2, 2, 'VALID'
hk.max_pool | image, (2, 2, 1), (2, 2, 1), 'SAME'
optax.l2_loss | x, x
optax.l2_loss | x
optax.squared_error | x, x
optax.huber_loss | x, x
optax.log_cosh | x, x
optax.sigmoid_binary_cross_entropy | x, x
optax.softmax_cross_entropy | x, x
optax.softmax_cross_entropy_with_integer_labels | x, whole[..., 0]
optax.kl_divergence | x, x
optax.global_norm | tree
jax.random.normal | key, (3, 4)
jax.random.bits | key, (3, 4)
jax.random.rademacher | key, (3, 4)
jax.random.cauchy | key, (3, 4)
jax.random.exponential | key, (3, 4)
jax.random.laplace | key, (3, 4)
jax.random.logistic | key, (3, 4)
jax.random.maxwell | key, (3, 4)
jax.random.gumbel | key, (3, 4)
jax.random.uniform | key, (3, 4)
jax.random.uniform | key
jax.random.randint | key, (3, 4), 0, 10
jax.random.bernoulli | key, 0.5, (3, 4)
jax.random.bernoulli | key, x
jax.random.beta | key, x, one
jax.random.binomial | key, 10, x
jax.random.categorical | key, x
jax.random.chisquare | key, x
jax.random.t | key, x
jax.random.choice | key, 10, (3, 4)
jax.random.choice | key, x, (3, 4)
jax.random.f | key, x, x
jax.random.gamma | key, x
jax.random.loggamma | key, x
jax.random.geometric | key, x
jax.random.lognormal | key, x
jax.random.multivariate_normal | key, one, jnp.eye(5)
jax.random.pareto | key, x
jax.random.permutation | key, x
jax.random.permutation | key, 10
jax.random.poisson | key, x
jax.random.rayleigh | key, x
jax.random.triangular | key, x, x, x
jax.random.truncated_normal | key, x, 2.0
jax.random.wald | key, x
distrax.Normal(loc=x, scale=1.0).log_prob | x
distrax.Normal(loc=x, scale=1.0).sample | seed=key
distrax.Normal(loc=x, scale=1.0).entropy |
distrax.Laplace(loc=x, scale=x).mean |
distrax.Logistic(loc=x, scale=x).log_prob | x
distrax.Gumbel(loc=x, scale=x).mode |
distrax.LogStddevNormal(loc=x, log_scale=x).log_prob | x
distrax.Deterministic(loc=x).mean |
distrax.Bernoulli(logits=x).log_prob | whole
distrax.Beta(alpha=x, beta=x).log_prob | x
distrax.Gamma(concentration=x, rate=x).log_prob | x
distrax.Uniform(low=0.0, high=x).log_prob | x
distrax.VonMises(loc=x, concentration=x).log_prob | x
distrax.Categorical(logits=x).log_prob | whole[..., 0]
distrax.Categorical(logits=x).sample | seed=key, sample_shape=(3,)
distrax.Categorical(logits=x).sample_and_log_prob | seed=key
distrax.Categorical(logits=x).mode |
distrax.Categorical(probs=x).kl_divergence | distrax.Categorical(logits=x)
distrax.Softmax(logits=x).sample | seed=key
distrax.Greedy(preferences=x).sample | seed=key
distrax.EpsilonGreedy(preferences=x, epsilon=0.1).sample | seed=key
distrax.MultivariateNormalDiag(loc=x, scale_diag=jnp.ones(5)).log_prob | x
distrax.MultivariateNormalDiag(loc=x, scale_diag=x).sample_and_log_prob | seed=key
distrax.MultivariateNormalDiag(loc=x, scale_diag=x).entropy |
distrax.Dirichlet(concentration=x).sample | seed=key
distrax.Transformed(distribution=distrax.Normal(x, 1.0), bijector=distrax.Tanh()).log_prob | x
distrax.Transformed(distribution=distrax.Normal(x, x), bijector=distrax.Chain([distrax.Tanh(), distrax.Sigmoid()])).sample_and_log_prob | seed=key
distrax.Transformed(distribution=distrax.MultivariateNormalDiag(x, x), bijector=distrax.Block(distrax.Tanh(), ndims=1)).sample_and_log_prob | seed=key
distrax.Transformed(distribution=distrax.MultivariateNormalDiag(x, x), bijector=distrax.Block(distrax.Tanh(), 1)).log_prob | x
distrax.Transformed(distribution=distrax.MultivariateNormalDiag(x, x), bijector=distrax.Inverse(distrax.Block(distrax.Sigmoid(), 1))).sample | seed=key
distrax.Independent(distribution=distrax.Normal(x, 1.0), reinterpreted_batch_ndims=1).log_prob | x
distrax.Independent(distribution=distrax.Normal(x, x), reinterpreted_batch_ndims=2).sample_and_log_prob | seed=key
distrax.Independent(distribution=distrax.Bernoulli(logits=x), reinterpreted_batch_ndims=1).sample | seed=key
tfd.TransformedDistribution(distribution=tfd.Normal(x, 1.0), bijector=tfb.Tanh()).log_prob | half * 0.5
tfd.TransformedDistribution(distribution=tfd.MultivariateNormalDiag(x, x), bijector=tfb.Tanh()).sample | seed=key
tfd.TransformedDistribution(distribution=tfd.MultivariateNormalDiag(x, x), bijector=tfb.Chain([tfb.Tanh(), tfb.Invert(tfb.Sigmoid())])).log_prob | x
tfd.Independent(distribution=tfd.Normal(x, 1.0), reinterpreted_batch_ndims=2).sample | sample_shape=(3,), seed=key
tfd.Independent(distribution=tfd.Normal(x, 1.0), reinterpreted_batch_ndims=2).log_prob | x
distrax.OneHotCategorical(logits=x).log_prob | x
distrax.OneHotCategorical(logits=x).sample | seed=key
"""

OPTIONS = {
    "axis": ("0", "(-2, -1)"),
    "data_format": ("'NCHW'", "'NCW'", "'channels_first'"),
    "dilation": ("2",),
    "dtype": ("jnp.bfloat16",),
    "input_dilation": ("2",),
    "kernel_dilation": ("2", "(2, 1)"),
    "mode": ("'ema'", "'batch'"),
    "model_size": ("9",),
    "out_features": ("'scalar'", "9"),
    "out_size": ("'scalar'",),
    "output_padding": ("1",),
    "output_shape": ("(64, 64)",),
    "output_size": ("9",),
    "padding": ("'VALID'", "'SAME'", "'CIRCULAR'", "'CAUSAL'", "1", "((1, 2), (0, 1))", "(1, 2)"),
    "param_dtype": ("jnp.bfloat16",),
    "preferred_element_type": ("jnp.float16",),
    "preserve_dims": ("2",),
    "qkv_features": ("16",),
    "rate": ("2",),
    "shape": ("(8, 16, 5)", "(3, 8, 16, 5)", "(2,)"),
    "stride": ("2", "(2, 1)"),
    "strides": ("2", "(2, 2)", "(3, 1)"),
    "unroll": ("2",),
    "value_size": ("3",),
    "vo_size": ("6",),
}
"""What options are set to; the others are turned around where they are true or false, and left alone else."""


def _varied(function: Any) -> list[str]:
    """Write every option of a function with each value that it is tried with."""
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in OPTIONS:
            found += [f"{name}={value}" for value in OPTIONS[name]]
        elif isinstance(parameter.default, bool):
            found.append(f"{name}={not parameter.default}")
    return found


def _cases(scope: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what is called, with which arguments, and the whole call, for every line and every option."""
    cases = []
    for call in CALLS.strip().splitlines():
        made, _, arguments = map(str.strip, call.partition(" |"))
        constructor = made.partition("(")[0]
        cases.append((made, arguments))
        made, method = (made[: made.rindex(")") + 1], made[made.rindex(")") + 1 :]) if ")" in made else (made, "")
        function = eval(constructor, scope)
        if "(" not in made:
            cases += [(made, f"{arguments}, {option}") for option in _varied(function)]
            continue
        for option in _varied(function):
            name = option.partition("=")[0]
            if f"{name}=" not in made:
                cases.append((f"{made[:-1]}, {option}){method}".replace("(, ", "("), arguments))
            elif option != f"{name}=" and name in ("out_features", "out_size"):
                before, _, after = made.partition(f"{name}=")
                cases.append((before + option + after[after.index(",") :], arguments))
        called = getattr(function, method[1:] or "__call__")
        cases += [(made + method, f"{arguments}, {option}") for option in _varied(called)]
    return [(made, arguments, f"{made}({arguments})") for made, arguments in dict.fromkeys(cases)]


def _real(made: str, arguments: str, scope: dict[str, Any]) -> Any:
    """Return the shapes that the library gives; None where it refuses the call."""
    hk, key = scope["hk"], scope["key"]
    if made.startswith("nn.") and "(" in made:
        call = f"({made}).init_with_output({{'params': key, 'dropout': key}}, {arguments})[0]"
    else:
        call = f"{made}({arguments})"
    try:
        if made.startswith("hk."):
            run = hk.transform_with_state(lambda: eval(call, scope))
            return jax.eval_shape(lambda: run.apply(*run.init(key), key)[0])
        return jax.eval_shape(lambda: eval(call, scope))
    except Exception:  # noqa: BLE001
        return None


def _difference(fact: ShapeFact, real: Any) -> str:
    """Say how what is stated differs from what is real; what is unknown differs from nothing."""
    if fact.items is not None:
        parts = list(real) if isinstance(real, tuple | list) else []
        if len(parts) != len(fact.items):
            return f"{len(fact.items)} items, not {real}"
        return next(filter(None, map(_difference, fact.items, parts)), "")
    if fact.dims is None:
        return ""
    shape = getattr(real, "shape", None)
    if shape is None or len(fact.dims) != len(shape):
        return f"{len(fact.dims)} axes, not {real}"
    sizes = [dim.constant for dim in fact.dims]
    if any(size is not None and size != actual for size, actual in zip(sizes, shape, strict=True)):
        return f"{sizes}, not {real}"
    return f"{fact.dtype}, not {real}" if fact.dtype is not None and fact.dtype != str(real.dtype) else ""


def _known(fact: ShapeFact) -> bool:
    if fact.items is not None:
        return all(map(_known, fact.items))
    return fact.dims is not None and all(dim.constant is not None for dim in fact.dims)


@pytest.fixture(scope="module")
def results() -> dict[str, tuple[ShapeFact, Any]]:
    """What the domain states and what is real, for every call that the library accepts."""
    scope: dict[str, Any] = {}
    exec(HEAD, scope)
    cases = [(call, real) for made, given, call in _cases(scope) if (real := _real(made, given, scope)) is not None]
    code = HEAD + "".join(f"result{at} = {call}\n" for at, (call, _) in enumerate(cases))
    program, shapes = solved(code)
    assert isinstance(shapes, Shapes)
    named = {value.name: shapes.of(value) for op in program.walk() for value in op.results}
    return {call: (named.get(f"result{at}", ShapeFact()), real) for at, (call, real) in enumerate(cases)}


def test_every_stated_result_is_the_real_one(results):
    wrong = [f"{call}: {found}" for call, (fact, real) in results.items() if (found := _difference(fact, real))]
    assert not wrong, "\n".join(wrong)


def test_results_without_options_are_known(results):
    lines = [line.partition(" |") for line in CALLS.strip().splitlines()]
    plain = [f"{made}({given.strip()})" for made, _, given in lines]
    assert not [call for call in plain if call not in results or not _known(results[call][0])]
