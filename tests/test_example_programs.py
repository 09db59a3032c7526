"""The example programs, traced: what the report must say about each, and that nothing in them is called a mistake."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("jax")
pytest.importorskip("flax")
pytest.importorskip("optax")
pytest.importorskip("equinox")

from jaxaudit.config import Config
from jaxaudit.frontends.jaxpr.protocol import Request
from jaxaudit.frontends.jaxpr.targets import trace_target
from jaxaudit.observation.conclude import conclude
from jaxaudit.reports.formats.text import render_text
from jaxaudit.reports.model import Axis, Report
from jaxaudit.reports.registry import Detail
from jaxaudit.session import Outcome

EXAMPLES = Path(__file__).parent.parent / "examples"
TARGETS = {
    "ppo.py": ("make_train(CONFIG)", {"rng": "key"}),
    "transformer.py": (
        "train_step",
        {"state": "=init_state(key)", "tokens": "i32[batch=8,time=32]", "dropout_key": "key"},
    ),
    "equinox_mlp.py": (
        "loss_fn",
        {"model": "=Classifier(key)", "points": "f32[batch=32,2]", "labels": "i32[batch=32]", "keys": "key[batch=32]"},
    ),
}
KNOWN: dict[str, Outcome] = {}


def outcome(name: str) -> Outcome:
    """Trace an example, once for all tests."""
    if name not in KNOWN:
        target, specs = TARGETS[name]
        path = EXAMPLES / name
        sys.path.insert(0, str(EXAMPLES))
        reply = trace_target(Request("trace", f"{path}:{target}", specs=specs))
        sys.path.remove(str(EXAMPLES))
        assert reply.status == "done", reply.failure or reply.message
        # Other tests in this process import modules of their own, which have no part in this.
        KNOWN[name] = conclude(replace(reply, files=(str(path),)), [str(path)], Config())
    return KNOWN[name]


def report(name: str) -> Report:
    return outcome(name).report


def way(axis: Axis) -> list[tuple[str, int]]:
    return [(station.kind, station.line) for station in axis.stations if not station.backward]


def line(name: str, text: str) -> int:
    """Return the line of an example that holds a text."""
    lines = (EXAMPLES / name).read_text().splitlines()
    return next(number for number, one in enumerate(lines, start=1) if text in one)


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_called_a_mistake(name):
    found = report(name)
    assert (found.issues, found.warnings) == ((), ())
    assert found.data_flow
    assert found.transformation_stack
    assert found.boundaries
    assert found.axes
    assert found.coverage.unknown <= found.coverage.obligations * 0.12


def test_the_axes_of_ppo_have_the_names_of_its_configuration():
    axes = {axis.name: axis for axis in report("ppo.py").axes if axis.name}
    assert {"NUM_ENVS", "NUM_STEPS", "NUM_STEPS*NUM_ENVS", "HIDDEN"} <= axes.keys()
    rollout, gae = line("ppo.py", "lax.scan(env_step"), line("ppo.py", "lax.scan(backwards")
    assert way(axes["NUM_STEPS"])[:3] == [("stacked", rollout), ("scanned", gae), ("stacked", gae)]
    assert axes["NUM_STEPS*NUM_ENVS"].factors == (axes["NUM_STEPS"].id, axes["NUM_ENVS"].id)
    assert ("vmapped", line("ppo.py", "jax.vmap(step)")) in way(axes["NUM_ENVS"])


def test_the_stations_of_an_axis_lead_to_the_other_sections():
    found = report("ppo.py")
    steps = {step.id: step for step in found.data_flow}
    rows = {row.id: row for row in found.transformation_stack}
    for axis in found.axes:
        for station in axis.stations:
            if station.step is not None and station.kind != "enters":
                assert steps[station.step].line == station.line
            if station.kind in ("vmapped", "scanned"):
                assert rows[station.transformation].line == station.line


def test_the_stack_of_ppo_is_nested_as_it_is_written():
    rows = [row for row in report("ppo.py").transformation_stack if row.front_end == "jaxpr"]
    assert [(row.depth, row.transform, row.function) for row in rows] == [
        (0, "vmap", "reset"),
        (0, "scan", "update_step"),
        (1, "scan", "env_step"),
        (2, "vmap", "step"),
        (1, "scan", "backwards"),
        (1, "scan", "epoch"),
        (2, "scan", "minibatch_step"),
        (3, "value_and_grad", "loss_fn"),
    ]


def test_what_crosses_into_the_environment_step():
    (border,) = [one for one in report("ppo.py").boundaries if one.function == "step"]
    entries = {one.name: (one.outside, one.inside, one.how) for one in border.entries}
    assert entries["key"] == ("key[16]", "key[]", "mapped over axis 0")
    assert entries["state.position"] == ("i32[16,2]", "i32[2]", "mapped over axis 0")
    assert entries["MOVES"] == ("i32[4,2]", "i32[4,2]", "captured")
    assert {one.name: (one.inside, one.outside) for one in border.exits}["reward"] == ("f32[]", "f32[16]")


def test_value_auxiliary_results_and_gradients_are_told_apart():
    (border,) = [one for one in report("transformer.py").boundaries if one.transform == "value_and_grad"]
    roles = [one.how for one in border.exits]
    assert roles[:2] == ["value", "auxiliary"]
    assert set(roles[2:]) == {"gradient"}
    assert {one.name.partition("[")[0] for one in border.exits[2:]} == {"params"}


def test_the_text_of_the_equinox_example():
    found = outcome("equinox_mlp.py")
    out = io.StringIO()
    render_text(found.report, found.sources, out, Detail(verbose=True))
    text = out.getvalue()
    assert "vmap  Classifier" in text
    assert "point            f32[batch=32,FEATURES=2] → f32[FEATURES=2]" in text.replace("->", "→")
    assert "logits: f32[batch=32,CLASSES=3]" in text
    assert "model.layers     6 arrays" in text
