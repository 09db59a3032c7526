"""The table itself: finds the row of an exception, and knows the family of every rule it may name."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions import arrays, devices, libraries, loops, maps, traced, values
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row
from jaxaudit.frontends.jaxpr.exceptions.values import failed

ROWS: tuple[Row, ...] = (
    *libraries.ROWS,
    *traced.ROWS,
    *loops.ROWS,
    *maps.ROWS,
    *devices.ROWS,
    *values.ROWS,
    *arrays.ROWS,
)

_TREE_FUNCTIONS = ("tree_map", "tree_leaves", "tree_flatten", "tree_unflatten", "_prefix_error")


def explain(facts: Facts) -> Explanation:
    """Say what an exception means; one that no row knows is told as it is."""
    for row in (*_special(facts), *ROWS):
        match = row.matches(facts.failure)
        if match is not None:
            return row.explain(facts, match)
    match = re.match("", "")
    assert match is not None
    return failed(facts, match)


def _special(facts: Facts) -> tuple[Row, ...]:
    """Give the rows that hold because of where the exception was raised."""
    inner = " ".join(facts.inner)
    inside_trees = any(name in inner for name in _TREE_FUNCTIONS)
    collective = re.search(
        r"\b(psum|pmean|pmax|pmin|all_gather|ppermute|axis_index|psum_scatter|all_to_all)\(", facts.line
    )
    return (
        *(devices.PMAP_ROWS if "pmap" in inner else ()),
        *(values.TREE_TESTS if inside_trees else ()),
        *(devices.COLLECTIVE_ROWS if collective else ()),
        *(maps.OUT_AXES_ROWS if "out_axes" in facts.line and not facts.inner else ()),
    )
