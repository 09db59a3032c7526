"""`jaxaudit trace`: targets of every kind, with arguments from specs, annotations, tables and files."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import issues, jaxaudit, report

pytest.importorskip("jax")

MODULE = """\
import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def loss(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]).sum(-1) - y) ** 2)


@jax.jit
def step(params, x, y, lr=0.1):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - lr * g, params, grads), value


def typed(x: Float[Array, "batch time feat"], w: Float[Array, "feat out"]):
    def one(series):
        return jax.lax.scan(lambda c, v: (c + v, c), jnp.zeros(series.shape[-1]), series)[1]

    return jax.vmap(one)(x) @ w


def make(config):
    def train(key):
        return jax.random.normal(key, (config["n"],))

    return train


def build():
    return step, ({"w": jnp.ones((4, 3)), "b": jnp.zeros(3)}, jnp.ones((8, 4)), jnp.ones(8))


class Linen(nn.Module):
    width: int = 16

    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.relu(nn.Dense(self.width)(x)))


class Net(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 3, key=key)

    def __call__(self, x):
        return self.linear(x)


haiku_net = hk.transform(lambda x: hk.nets.MLP([8, 3])(x))


class Agent:
    def act(self, obs):
        return obs * 2


def broken(x, y):
    return x @ y
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    for name in ("flax", "equinox", "haiku", "jaxtyping"):
        pytest.importorskip(name)
    made = tmp_path_factory.mktemp("targets")
    (made / "model.py").write_text(MODULE)
    (made / "specs.py").write_text(
        "TARGETS = {'step': {'params': \"{'w': f32[d,h], 'b': f32[h]}\", 'x': 'f32[n,d]', 'y': 'f32[n]'}}\n"
    )
    (made / "pyproject.toml").write_text("[tool.jaxaudit.targets.broken]\nx = 'f32[a,b]'\ny = 'f32[c,d]'\n")
    return made


def entered(found: dict) -> dict[str, str]:
    return {one["name"]: one["type"] for one in found["data_flow"][0]["makes"]}


def test_specs_on_the_command_line(folder):
    params = "params={'w': f32[feat=4,hidden=3], 'b': f32[hidden]}"
    found = report(
        "trace", "--arg", params, "--arg", "x=f32[batch=8,feat]", "--arg", "y=f32[batch]", "model.py:step", cwd=folder
    )
    assert entered(found) == {"params['b']": "f32[3]", "params['w']": "f32[4,3]", "x": "f32[8,4]", "y": "f32[8]"}
    stack = [
        (row["transform"], row["function"]) for row in found["transformation_stack"] if row["front_end"] == "jaxpr"
    ]
    assert stack[:2] == [("jit", "step"), ("value_and_grad", "loss")]
    assert {row["path"] for row in found["boundaries"]} == {"model.py"}


def test_annotations_and_distinct_sizes(folder):
    found = report("trace", "--size", "batch=6", "model:typed", cwd=folder)
    sizes = entered(found)
    assert sizes["x"].startswith("f32[6,")
    assert len(set(sizes["x"][4:-1].split(",") + sizes["w"][4:-1].split(","))) == 4
    vmap, scan = (row for row in found["boundaries"] if row["transform"] in ("vmap", "scan"))
    assert vmap["entries"][0]["how"] == "mapped over axis 0"
    assert [one["how"] for one in scan["entries"]] == ["carried", "scanned over axis 0"]
    assert scan["mapped"]


@pytest.mark.parametrize(
    ("arguments", "name", "wanted"),
    [
        (["--arg", "key=key", "model.py:make({'n': 4})"], "train", {"key": "key[]"}),
        (["model.py:build()"], "step", {"x": "f32[8,4]"}),
        (["--arg", "x=f32[batch=5,7]", "model.py:Linen"], "Linen", {"x": "f32[5,7]"}),
        (["--arg", "x=f32[4]", "model.py:Net(key)"], "Net", {"x": "f32[4]"}),
        (["--arg", "0=f32[b=6,4]", "model.py:haiku_net"], "haiku_net", {"x": "f32[6,4]"}),
        (["--arg", "obs=f32[3]", "model.py:Agent().act"], "Agent.act", {"obs": "f32[3]"}),
        (["--specs", "specs.py", "model.py:step"], "step", {}),
    ],
)
def test_targets(folder, arguments, name, wanted):
    found = report("trace", *arguments, cwd=folder)
    assert [target["name"] for target in found["targets"] if target["front_end"] == "jaxpr"] == [name]
    assert wanted.items() <= entered(found).items()
    assert issues(found) == []


MODULES = """\
import equinox as eqx
import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx
from jax.sharding import PartitionSpec as P


class Nnx(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))

    def loss(self, x):
        return jnp.mean(self(x) ** 2)


class Net(eqx.Module):
    weight: jax.Array

    def energy(self, x):
        return jnp.sum(x @ self.weight)


class Linen(nn.Module):
    def setup(self):
        self.dense = nn.Dense(3)
        self.norm = nn.BatchNorm(use_running_average=False)

    def encode(self, x):
        return self.norm(self.dense(x))


def spread(x):
    mesh = jax.make_mesh((4,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    return jax.shard_map(lambda x: jax.lax.pmean(x.sum(0), "data"), mesh=mesh, in_specs=P("data"), out_specs=P())(x)


def huge(x):
    mesh = jax.sharding.AbstractMesh((4096,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    return jax.shard_map(lambda x: jax.lax.pmean(x.sum(0), "data"), mesh=mesh, in_specs=P("data"), out_specs=P())(x)
"""


@pytest.mark.parametrize(
    ("target", "spec", "name", "wanted"),
    [
        ("Nnx(nnx.Rngs(0))", "f32[b=8,4]", "Nnx", "model['linear']['kernel'].value"),
        ("Nnx(nnx.Rngs(0)).loss", "f32[b=8,4]", "Nnx.loss", "model['dropout']['rngs']"),
        ("Net(jnp.ones((4, 3))).energy", "f32[b=8,4]", "Net.energy", "model.weight"),
        ("Linen().encode", "f32[b=8,4]", "Linen.encode", "params['params']['dense']['kernel']"),
        ("spread", "f32[8,4]", "spread", "x"),
        ("huge", "f32[8192,4]", "huge", "x"),
    ],
)
def test_modules_methods_and_meshes(tmp_path, target, spec, name, wanted):
    (tmp_path / "modules.py").write_text(MODULES)
    found = report("trace", "--arg", f"x={spec}", f"modules.py:{target}", cwd=tmp_path)
    assert [one["name"] for one in found["targets"] if one["front_end"] == "jaxpr"] == [name]
    assert any(one.startswith(wanted) for one in entered(found))
    assert issues(found) == []


STATEFUL = """\
import haiku as hk

stateful = hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9)(x, is_training=True))
"""


def test_transforms_of_haiku_with_state(tmp_path):
    pytest.importorskip("haiku")
    (tmp_path / "modules.py").write_text(STATEFUL)
    found = report("trace", "--arg", "0=f32[b=8,4]", "modules.py:stateful", cwd=tmp_path)
    assert any(one.startswith("params[0]['batch_norm']['offset']") for one in entered(found))
    assert issues(found) == []


def test_what_jax_refuses_is_an_issue(folder):
    found = report("trace", "model.py:broken", cwd=folder)
    assert issues(found) == [("axis-conflict", "model.py", 64)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["model.py:nope"], "model has no `nope`"),
        (["model.py:stpe"], "model has no `stpe`; did you mean `step`?"),
        (["nowhere.py:f"], "no such file: nowhere.py"),
        (["nowhere.model:f"], "there is no module `nowhere` here; a file is named as FILE.py:FUNCTION"),
        (["model.py"], "`model.py` is no target; write FILE:FUNCTION or pkg.mod:function"),
        (["model.py:Agent.act"], "`Agent.act` is a method; name it on an instance: `Agent(...).act`"),
        (["--arg", "x=f99[3]", "model.py:step"], "`f99` in the spec `f99[3]` is no dtype"),
        (["--arg", "z=f32[3]", "model.py:loss"], "`loss` has no argument `z`; it takes params, x, y"),
        (["--arg", "x", "model.py:loss"], "--arg wants NAME=VALUE, not `x`"),
        (["--size", "b=x", "model.py:loss"], "--size b wants a positive whole number, not `x`"),
        (["model.py:loss"], "nothing tells the type of argument `params` of `loss`"),
    ],
)
def test_bad_targets_are_one_sentence(folder, arguments, sentence):
    done = jaxaudit("trace", *arguments, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"jaxaudit: {sentence}")
    assert done.stderr.count("\n") == 1
