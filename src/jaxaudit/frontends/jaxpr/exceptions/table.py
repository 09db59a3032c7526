"""The table itself: finds the row of an exception, and knows the family of every rule it may name."""

from __future__ import annotations

import re
from dataclasses import replace

from jaxaudit.frontends.jaxpr.exceptions import (
    arrays,
    callbacks,
    calls,
    derivatives,
    devices,
    libraries,
    loops,
    maps,
    missing,
    traced,
    values,
)
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row
from jaxaudit.frontends.jaxpr.exceptions.refused import failed

ROWS: tuple[Row, ...] = (
    *libraries.ROWS,
    *callbacks.ROWS,
    *traced.ROWS,
    *loops.ROWS,
    *maps.ROWS,
    *derivatives.ROWS,
    *devices.ROWS,
    *values.ROWS,
    *arrays.ROWS,
    *calls.ROWS,
    *missing.ROWS,
)

_TREE_FUNCTIONS = ("tree_map", "tree_leaves", "tree_flatten", "tree_unflatten", "_prefix_error")


_SHOW_GIVEN = ("axis-conflict", "invalid-input-type", "not-a-key", "script-failed", "dynamic-shape")
"""Rules whose exceptions are about single calls, where it helps to see what these were given."""


def explain(facts: Facts) -> Explanation:
    """Return what an exception means; one that no row knows is told as it is."""
    told = _explained(facts)
    told = replace(told, steps=told.steps or facts.traced_here)
    at = facts.failure.at
    if at is not None:
        told = replace(told, current=f"{told.current}; `tree.map` is at the leaf `{at.path}` ({at.type})")
    if told.rule in _SHOW_GIVEN and facts.told and told.expected:
        return replace(told, current=f"{told.current}; {facts.told}")
    return told


def _explained(facts: Facts) -> Explanation:
    for row in (*_special(facts), *ROWS):
        match = row.matches(facts.failure)
        if match is not None:
            return row.explain(facts, match)
    return failed(facts, None)


def _special(facts: Facts) -> tuple[Row, ...]:
    """Return the rows that hold because of where the exception was raised."""
    inner = " ".join(facts.inner)
    inside_trees = any(name in inner for name in _TREE_FUNCTIONS)
    collective = re.search(
        r"\b(psum|pmean|pmax|pmin|all_gather|ppermute|axis_index|psum_scatter|all_to_all)\(", facts.line
    )
    return (
        *(devices.PMAP_ROWS if "pmap" in inner else ()),
        *(values.TREE_TESTS if inside_trees else ()),
        *(devices.COLLECTIVE_ROWS if collective else ()),
        *(callbacks.PRINT_ROWS if "debug.print(" in facts.line else ()),
        *(maps.OUT_AXES_ROWS if "out_axes" in facts.line and not facts.inner else ()),
    )
