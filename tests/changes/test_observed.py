"""What runs and tests showed of a function holds for both states of a change: shapes that the source does not tell."""

from __future__ import annotations

import pytest

from jaxaudit.frontends.forms import Sighting
from jaxaudit.observation import store

LOSS = """
import jax.numpy as jnp

def loss(predicted, wanted):
    errors = predicted[:, 0] - wanted
    return jnp.mean(errors**2)
"""
SPREAD = LOSS.replace("predicted[:, 0]", "predicted")


@pytest.fixture
def edited(project, tmp_path, monkeypatch):
    """A repository whose function was seen with (8, 1) and (8,), and is edited afterwards."""
    monkeypatch.setenv("JAXAUDIT_CACHE_DIR", str(tmp_path / "cache"))
    project.commit(losses=LOSS)
    shapes = {"predicted": ["array", "float32", [8, 1], ""], "wanted": ["array", "float32", [8], ""]}
    store.keep([Sighting(str(project.root / "losses.py"), "loss", 3, "tests/test_losses.py::test_loss", shapes, 2)])
    project.write(losses=SPREAD)
    return project


def test_the_shapes_of_the_tests_show_what_an_edit_breaks(edited):
    assert edited.change()["found"] == ["losses.py:4 silent-broadcast"]


def test_without_them_it_stays_open(edited):
    assert edited.change("--no-observed")["found"] == []
