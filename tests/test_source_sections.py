"""The sections about data, filled from source alone."""

from __future__ import annotations

from jaxaudit.config import Config
from jaxaudit.session import audit_paths, audit_text

PROGRAM = b"""
import jax
import jax.numpy as jnp

NUM_ENVS = 8
LENGTH = 5


def step(carry, x):
    return carry + x, carry * 2


def rollout(keys):
    start = jax.vmap(lambda key: jax.random.normal(key, (3,)), out_axes=1)(keys)
    pushes = jnp.ones((LENGTH, 3, NUM_ENVS))
    last, path = jax.lax.scan(step, start, pushes)
    unread = path.mean()
    return last, path


result = rollout(jax.random.split(jax.random.key(0), NUM_ENVS))
"""


def report(program=PROGRAM, **options):
    return audit_text("rollout.py", program, Config(), **options).report


def test_steps_have_the_shapes_that_source_shows():
    made = {value.name: value.type for step in report().data_flow for value in step.makes if value.name}
    assert made["start"] == "f32[3,8]"
    assert made["path"] == "f32[5,3,8]"


def test_what_a_module_binds_is_not_dropped_and_what_nothing_reads_is():
    dropped = {value.name for step in report().data_flow for value in step.makes if not value.uses}
    assert "unread" in dropped
    assert "result" not in dropped


def test_boundaries_show_both_sides():
    found = {one.transform: one for one in report().boundaries}
    assert [(one.outside, one.inside, one.how) for one in found["vmap"].entries] == [
        ("key[8]", "key[]", "mapped over axis 0")
    ]
    assert [(one.outside, one.inside, one.how) for one in found["vmap"].exits] == [
        ("f32[3,8]", "f32[3]", "collected along axis 1")
    ]
    assert [(one.name, one.outside, one.inside) for one in found["scan"].entries] == [
        ("carry", "f32[3,8]", "f32[3,8]"),
        ("x", "f32[5,3,8]", "f32[3,8]"),
    ]


def test_axes_are_those_with_a_name():
    axes = {one.name: [station.kind for station in one.stations] for one in report().axes}
    assert axes["NUM_ENVS"][:2] == ["made", "vmapped"]
    assert "scanned" in axes["LENGTH"]


def test_a_body_that_calls_share_is_told_once():
    program = b"import jax.numpy as jnp\n\ndef f(x):\n    return jnp.sin(x)\n\na = f(jnp.ones(3))\nb = f(jnp.ones(3))\n"
    lines = [step.line for step in report(program).data_flow]
    assert lines.count(4) == 1
    assert {6, 7} <= set(lines)


def test_sections_that_nobody_shows_are_not_made():
    found = report(sections=False)
    assert not found.data_flow
    assert found.not_available == ("data_flow", "boundaries")


def test_a_large_project_shows_the_flow_of_its_first_functions(monkeypatch):
    monkeypatch.setattr("jaxaudit.reports.inside._MOST_FROM_SOURCE", 3)
    program = b"import jax.numpy as jnp\n" + b"".join(
        b"\ndef f%d(x):\n    return jnp.sin(x)\n" % number for number in range(4)
    )
    *_, last = report(program).data_flow
    assert last.what == "the flow of 3 more functions is left out; audit fewer files to see it"


def test_axes_of_unrelated_files_that_are_called_alike_stay_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = "import jax.numpy as jnp\n{batch}\nx = jnp.zeros((BATCH, 3))\ny = x.sum(0)\n"
    (tmp_path / "a.py").write_text(program.format(batch="BATCH = 4"))
    (tmp_path / "b.py").write_text(program.format(batch="BATCH = 32"))
    (tmp_path / "c.py").write_text(program.format(batch="from a import BATCH"))
    report = audit_paths(["a.py", "b.py", "c.py"], Config(root=tmp_path)).report
    ways = {axis.id: (axis.size, {one.path for one in axis.stations}) for axis in report.axes}
    assert ways == {"BATCH": (4, {"a.py", "c.py"}), "BATCH#2": (32, {"b.py"})}
    assert [axis.name for axis in report.axes] == ["BATCH", "BATCH"]
    shown = {step.path: one.axes for step in report.data_flow for one in step.makes if one.name == "x"}
    assert shown == {"a.py": ("BATCH", ""), "b.py": ("BATCH#2", ""), "c.py": ("BATCH", "")}
