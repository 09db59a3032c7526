"""The library tables are sound in themselves, and agree with the libraries where these are installed."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from functools import reduce

import pytest

from jaxaudit.ir.ops import VOCABULARY
from jaxaudit.libraries import aliases, methods, table
from jaxaudit.libraries.lookup import ROWS, canonical, lookup
from jaxaudit.libraries.results import Like, Parts
from jaxaudit.libraries.rows import ROLES, Row
from jaxaudit.libraries.unmodelled import UNMODELLED

KEYLESS = {"key.seed", "key.stream"}
COVERED = (
    "jax.random jax.numpy jax.numpy.linalg jax.numpy.fft jax.lax jax.lax.linalg jax.nn jax.nn.initializers jax.ops "
    "jax.image jax.scipy.special jax.scipy.linalg jax.scipy.signal"
)
VERIFIED = "jax flax equinox haiku distrax numpyro optax gymnax brax rlax blackjax diffrax"
SAMPLING = "distrax numpyro.distributions gymnax.environments tensorflow_probability.substrates.jax.distributions"

# Their samplers are declared with the key that they fill in by themselves.
STREAMS = ("flax.nnx.Rngs.", "flax.nnx.RngStream.")

# Canonical names under which nothing can be found: classes of results, and names that live one module deeper.
INVENTED = (
    "jax.nn.Initializer jax.nn.ConstantInitializer flax.linen.Applied flax.linen.Initialised "
    "flax.training.train_state.TrainState.apply_fn haiku.Transformed haiku.MultiTransformed optax.InjectedFactory "
    "jax.flatten_util.Unravel "
    "optax.Schedule optax.GradientTransformation blackjax.AdaptationAlgorithm blackjax.Kernel "
    "blackjax.SamplingAlgorithm blackjax.VIAlgorithm blackjax.normal_random_walk rlax.DiscreteDistribution "
    "rlax.ContinuousDistribution jax.config gymnax.wrappers.GymnaxToVectorGymWrapper haiku.TransformedWithoutRng "
    "haiku.TransformedWithStateWithoutRng haiku.TransformedWithState.without_apply_rng "
    "optax.kl_divergence_with_log_targets optax.poly_loss_cross_entropy optax.triplet_margin_loss"
)

# Functions of older versions that code in the wild still calls.
GONE = (
    "jax.random.shuffle jax.numpy.alltrue jax.numpy.sometrue jax.numpy.cumproduct jax.numpy.product jax.numpy.msort "
    "jax.numpy.in1d jax.numpy.fix jax.numpy.trapz jax.lax.all_gather_invariant jax.lax.pvary jax.device_put_replicated "
    "jax.device_put_sharded flax.training.checkpoints jax.nn.normalize jax.nn.initializers.ones_init "
    "jax.nn.initializers.zeros_init"
)


def test_every_op_is_in_the_vocabulary() -> None:
    assert {row.op for row in ROWS.values()} <= VOCABULARY.keys()


def test_every_key_op_names_its_key() -> None:
    missing = [
        name for name, row in ROWS.items() if row.op.startswith("key.") and row.op not in KEYLESS and not row.key
    ]
    assert not missing


def test_only_key_ops_name_a_key() -> None:
    assert not [name for name, row in ROWS.items() if row.key and not row.op.startswith("key.")]


def test_rows_stand_under_canonical_names() -> None:
    assert not [name for name in ROWS if canonical(name) != name]


def test_canonical_is_idempotent() -> None:
    for name in [*ROWS, *aliases.NAMES, *(f"{prefix}.name" for prefix in aliases.PREFIXES)]:
        assert canonical(canonical(name)) == canonical(name)


def test_a_name_has_a_row_or_a_reason_not_both() -> None:
    assert not ROWS.keys() & UNMODELLED.keys()


def test_two_rows_for_one_name_are_refused() -> None:
    once = table.rows("p", "array.map", "f: x")
    with pytest.raises(ValueError, match=r"p\.f"):
        table.merge(once, once)
    with pytest.raises(ValueError, match=r"p\.f"):
        table.rows("p", "array.map", "f: x\nf: y")


def test_parameters_are_names() -> None:
    for name, row in ROWS.items():
        assert all(param.removeprefix("*").isidentifier() for param in row.params), name
        assert len(set(row.params)) == len(row.params), name
        assert not any(param.startswith("*") for param in row.params[:-1]), name


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("jax.experimental.shard_map.shard_map", "jax.shard_map"),
        ("jax.tree_util.tree_map", "jax.tree.map"),
        ("jax.tree_map", "jax.tree.map"),
        ("jax.experimental.pjit.pjit", "jax.jit"),
        ("jax.remat", "jax.checkpoint"),
        ("jax.ad_checkpoint.checkpoint", "jax.checkpoint"),
        ("jax._src.random.normal", "jax.random.normal"),
        ("jax.scipy.special.logsumexp", "jax.nn.logsumexp"),
        ("flax.linen.initializers.he_normal", "jax.nn.initializers.he_normal"),
        ("flax.linen.recurrent.GRUCell", "flax.linen.GRUCell"),
        ("flax.linen.relu", "jax.nn.relu"),
        ("hk.next_rng_key", "haiku.next_rng_key"),
        ("jax.Array.mean", "array.mean"),
        ("numpy.mean", "numpy.mean"),
        ("flax.nnx.jit", "flax.nnx.jit"),
        ("jax.lax.scan", "jax.lax.scan"),
        ("some.other.name", "some.other.name"),
    ],
)
def test_canonical_names(spelling: str, name: str) -> None:
    assert canonical(spelling) == name


@pytest.mark.parametrize(
    ("name", "op", "key"),
    [
        ("jax.random.normal", "key.draw", "key"),
        ("jax.random.split", "key.split", "key"),
        ("distrax.Categorical.sample", "key.draw", "seed"),
        ("numpyro.distributions.Normal.sample", "key.draw", "key"),
        ("numpyro.infer.MCMC.run", "key.draw", "rng_key"),
        ("gymnax.wrappers.purerl.LogWrapper.step", "key.draw", "key"),
        ("brax.envs.ant.Ant.reset", "key.draw", "rng"),
        ("flax.linen.Module.apply", "key.draw", "rngs"),
        ("flax.nnx.Rngs.dropout", "key.stream", ""),
        ("flax.nnx.Rngs.normal", "py.call_library", ""),
        ("equinox.nn.Linear", "key.draw", "key"),
        ("equinox.nn.Linear.__call__", "py.call_library", ""),
        ("haiku.Transformed.apply", "key.draw", "rng"),
        ("numpy.random.rand", "py.random", ""),
        ("numpy.random.Generator.normal", "py.random", ""),
        ("numpy.unheard_of", "array.numpy", ""),
        ("print", "py.print", ""),
        ("array.item", "py.to_python", ""),
    ],
)
def test_lookup(name: str, op: str, key: str) -> None:
    row = lookup(name)
    assert row is not None
    assert (row.op, row.key) == (op, key)


def test_an_exact_row_wins_over_a_wildcard_and_the_longer_wildcard_over_the_shorter() -> None:
    assert lookup("numpy.random.default_rng") == ROWS["numpy.random.default_rng"]
    assert lookup("numpy.random.unheard_of") == ROWS["numpy.random.*"]
    assert lookup("numpy.unheard_of") == ROWS["numpy.*"]


def test_unknown_and_unmodelled_names_have_no_row() -> None:
    assert lookup("jax.random.unheard_of") is None
    assert lookup("numpy.vectorize") is None
    assert lookup("nowhere") is None


def test_a_constructor_that_draws_gives_an_object_of_its_class() -> None:
    row = lookup("equinox.nn.MLP")
    assert row is not None
    assert row.cls == "equinox.nn.MLP"


def test_attributes_have_rows() -> None:
    assert ROWS.keys() >= methods.ATTRIBUTES


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", COVERED.split())
def test_every_public_callable_has_a_row_or_a_reason(module: str) -> None:
    pytest.importorskip("jax")
    loaded = importlib.import_module(module)
    public = {
        f"{module}.{name}"
        for name, value in vars(loaded).items()
        if not name.startswith("_") and callable(value) and not inspect.ismodule(value)
    }
    assert not {name for name in public if lookup(name) is None and canonical(name) not in UNMODELLED}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", VERIFIED.split())
def test_rows_agree_with_the_signatures(package: str) -> None:
    pytest.importorskip(package)
    wrong = []
    for name in ROWS:
        known = any(f"{name}.".startswith(f"{other}.") for other in (INVENTED + " " + GONE).split())
        if name.split(".")[0] == package and "*" not in name and not known:
            wrong += _disagreement(name)
    assert not wrong, "\n".join(wrong)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", SAMPLING.split())
def test_wildcards_agree_with_the_classes(package: str) -> None:
    module = pytest.importorskip(package)
    classes = [(name, value) for name, value in vars(module).items() if inspect.isclass(value)]
    checked, wrong = 0, []
    for name, owner in classes:
        for method in ("sample", "sample_and_log_prob", "rsample", "reset", "step", "step_env"):
            row = lookup(f"{package}.{name}.{method}")
            if row is not None and inspect.isfunction(function := getattr(owner, method, None)):
                checked += 1
                parameters = list(inspect.signature(function).parameters)[1:]
                if list(row.params) != parameters[: len(row.params)] or row.key not in parameters:
                    wrong.append(f"{name}.{method}: row {' '.join(row.params)}, method {' '.join(parameters)}")
    assert checked
    assert not wrong, "\n".join(wrong)


def _disagreement(name: str) -> list[str]:
    """Compares one row with the function it stands for."""
    row = ROWS[name]
    try:
        function = _resolve(name)
    except (ImportError, AttributeError) as problem:
        return [f"{name}: {problem}"]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    if parameters and (parameters[0].name == "self" or name.startswith(STREAMS)):
        parameters = parameters[1:]
    names = [parameter.name for parameter in parameters]
    opaque = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    positional = [
        ("*" if parameter.kind is parameter.VAR_POSITIONAL else "") + parameter.name
        for parameter in parameters
        if parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
    ]
    found = []
    ufunc = positional == ["*args"] or (not positional and opaque)
    if not ufunc and row.params != ("*args",) and list(row.params) != positional[: len(row.params)]:
        found.append(f"{name}: row {' '.join(row.params)}, function {' '.join(positional)}")
    if row.key and not opaque and row.key not in names:
        found.append(f"{name}: no parameter {row.key} in {' '.join(names)}")
    return found


def _resolve(name: str) -> Callable[..., object]:
    """Finds the object of a qualified name: as many parts as possible are modules, the rest attributes."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[count:], module)  # type: ignore[arg-type, return-value]
    raise ImportError(f"no module {parts[0]}")


def test_every_role_is_explained() -> None:
    assert {role for row in ROWS.values() for role in row.roles} == set(ROLES)


def test_results_name_parameters() -> None:
    """What a result is like, or is computed from, is an argument of the function or of its constructor."""
    for name, row in ROWS.items():
        params = {param.lstrip("*") for param in row.params} | {"self"}
        assert {like.param for like in _likes(row)} <= params, name


def _likes(row: Row) -> list[Like]:
    items = row.result.items if isinstance(row.result, Parts) else (row.result,)
    return [item for item in items if isinstance(item, Like)]


@pytest.mark.filterwarnings("ignore")
def test_optimizers_keep_moments_as_their_rows_say() -> None:
    """The state of an optimizer has an array like each parameter, or has none."""
    jax = pytest.importorskip("jax")
    params = {"w": jax.ShapeDtypeStruct((3, 5), "float32"), "b": jax.ShapeDtypeStruct((7,), "float32")}
    checked = 0
    for name, row in ROWS.items():
        if row.cls == "optax.GradientTransformation" and row.params == ("learning_rate",) and row.op != "key.draw":
            checked += 1
            state = jax.eval_shape(_resolve(name)(0.1).init, params)
            shapes = {leaf.shape[-2:] for leaf in jax.tree.leaves(state)}
            assert ((3, 5) in shapes and (7,) in {shape[-1:] for shape in shapes}) == (
                "optimizer.moments" in row.roles
            ), name
    assert checked > 30
