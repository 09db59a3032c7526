"""`jaxaudit trace --mesh`: programs for many devices, traced on a machine that has one."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import issues, jaxaudit, report

pytest.importorskip("jax")

MODULE = """\
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P


def from_context(x, w):
    def body(x, w):
        return jax.lax.psum(x @ w, "model")

    specs = (P("data", "model"), P("model", None))
    return jax.shard_map(body, in_specs=specs, out_specs=P("data", None))(x, w)


def not_summed(x, w):
    def body(x, w):
        return x @ w

    specs = (P("data", "model"), P("model", None))
    return jax.shard_map(body, in_specs=specs, out_specs=P("data", None), check_vma=False)(x, w)


def from_argument(x, w, mesh):
    return jax.lax.with_sharding_constraint(x @ w, NamedSharding(mesh, P("data")))


def its_own(x, w):
    mesh = jax.make_mesh((1, 1), ("data", "model"), axis_types=(AxisType.Auto,) * 2)

    def body(x, w):
        return jax.lax.psum(x @ w, "model")

    specs = (P("data", "model"), P("model", None))
    return jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=P("data", None))(x, w)


def build(mesh: Mesh):
    def layer(x, w):
        return jnp.tanh(x @ w)

    return layer
"""
X, W = "x=f32[batch=4096,d=64]", "w=f32[64,32]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("meshes")
    (made / "model.py").write_text(MODULE)
    return made


def traced(folder, target, mesh, x=X, w=W, **options):
    return report("trace", f"model.py:{target}", "--arg", x, "--arg", w, "--mesh", mesh, cwd=folder, **options)


@pytest.mark.parametrize("mesh", ["data=4,model=2", "data=512,model=8"])
@pytest.mark.parametrize("target", ["from_context", "its_own"])
def test_a_mesh_has_the_wanted_sizes_wherever_it_comes_from(folder, target, mesh):
    found = traced(folder, target, mesh)
    data, model = (int(one.partition("=")[2]) for one in mesh.split(","))
    assert f"f32[{4096 // data},{64 // model}]" in str(found["boundaries"])


@pytest.mark.parametrize("target", ["from_argument", "build(mesh)"])
def test_a_mesh_is_given_to_who_asks_for_it(folder, target):
    found = traced(folder, target, "data=8,model=8")
    assert {rule for rule, _, _ in issues(found)} == {"missing-cross-device-reduction"}  # of `not_summed`
    assert "f32[4096,32]" in str(found["data_flow"])


def test_what_only_a_mesh_shows_is_found(folder):
    assert "missing-cross-device-reduction" in str(issues(traced(folder, "not_summed", "data=512,model=8")))


def test_axes_of_arguments_are_split_in_their_types(folder):
    split = {"x": "x=f32[batch=512@data,64@model]", "w": "w=f32[64@model,32]"}
    assert "explicit-sharding-conflict" in str(issues(traced(folder, "build(mesh)", "data=8,model=8", **split)))
    agreeing = {"x": "x=f32[batch=512@data,64]", "w": "w=f32[64,32@model]"}
    assert "explicit-sharding-conflict" not in str(issues(traced(folder, "build(mesh)", "data=8,model=8", **agreeing)))


def test_a_target_elsewhere_is_audited_as_well(folder, tmp_path):
    arguments = ("--arg", X, "--arg", W, "--mesh", "data=4,model=2")
    found = report("trace", f"{folder / 'model.py'}:not_summed", *arguments, cwd=tmp_path)
    assert "missing-cross-device-reduction" in str(issues(found))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--mesh", "data=x"], "--mesh data wants a positive whole number, not `x`"),
        (["--mesh", "data"], "--mesh wants NAME=VALUE, not `data`"),
        (["--mesh", "data=8", "--arg", "x=f32[8@model]"], "no axis of the mesh; the axes of --mesh are data"),
        (["--arg", "x=f32[8@model]"], "no axis of the mesh: there is no --mesh"),
        (["--arg", X, "--arg", W], "if it is a mesh of devices, say which with --mesh data=8"),
    ],
)
def test_bad_meshes_are_one_sentence(folder, arguments, sentence):
    done = jaxaudit("trace", *arguments, "model.py:from_argument", cwd=folder)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
