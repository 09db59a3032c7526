"""The examples for many devices: nothing in them is called a mistake, by their source or by a run on simulated devices."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import report

pytest.importorskip("jax")

EXAMPLES = Path(__file__).parents[3] / "examples" / "devices"
NAMES = sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", NAMES)
def test_source_has_no_mistake(name):
    found = report("check", name, cwd=EXAMPLES)
    assert (found["issues"], found["warnings"]) == ([], [])


@pytest.mark.parametrize(
    ("name", "rule"),
    [("tensor_parallel.py", "missing-cross-device-reduction"), ("explicit_axes.py", "layouts-disagree")],
)
def test_a_run_on_four_devices_verifies_what_leaves_as_equal(name, rule):
    found = report("run", "--devices", "4", name, cwd=EXAMPLES)
    assert (found["issues"], found["warnings"]) == ([], [])
    assert rule in {one["rule"] for one in found["verified"]}
    assert all(found[section] for section in ("data_flow", "transformation_stack", "boundaries", "axes"))
