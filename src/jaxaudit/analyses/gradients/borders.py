"""How gradient crosses the borders of regions: what a result is inside, and what a parameter is outside."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import JACOBIANS
from jaxaudit.ir.interfaces import Loop, given_as, inside_of, turn_before
from jaxaudit.ir.ops import BRANCHES, CUSTOM_DERIVATIVES, LOOPS

Inner = tuple[Region | None, Value, Edge]
"""A value that a result or a parameter comes from: in a region of the op, or (None) beside the op itself."""


def behind_result(op: Op, position: int, *, traced: bool) -> Iterator[Inner]:
    """Return what a result of an op with regions comes from."""
    inner = ((region, value, Edge.LIVE) for region, value in inside_of(op, position))
    if op.name in CUSTOM_DERIVATIVES or op.name in ("transform", "callback"):
        # The rule of a custom derivative says how gradient flows, not the body.
        yield from ((None, value, Edge.MAYBE) for value in op.operands)
    elif op.name in BRANCHES:
        yield from inner
        yield from ((None, predicate, Edge.ZERO) for predicate in op.operands[:1])
    elif op.name in LOOPS:
        yield from inner
        starts = op.operands
        if op.name != "associative_scan":
            starts = tuple(one.start for one in Loop(op).carried if one.position == position)
        yield from ((None, start, Edge.LIVE) for start in starts)
    elif op.name == "tree.map":
        yield from ((None, value, Edge.LIVE) for value in op.operands)
        yield from ((op.regions[0], value, Edge.LIVE) for value in op.regions[0].results)
    elif op.name != "abstract":
        own = position >= len(op.regions[0].results) or (op.transformation in JACOBIANS and not traced)
        # In source, derivatives themselves are no results of any region.
        yield from ((op.regions[0], value, Edge.MAYBE) for value in op.regions[0].results[:1]) if own else inner


def behind_parameter(op: Op, region: Region, param: Value) -> Iterator[Inner]:
    """Return what a parameter of a region stands for; from inside the region (later turns) or outside (None)."""
    yield from ((None, value, Edge.LIVE) for value in given_as(op, region, param))
    yield from ((op.regions[-1], value, Edge.LIVE) for value in turn_before(op, region, param))
