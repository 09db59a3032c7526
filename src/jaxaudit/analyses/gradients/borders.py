"""How values cross the borders of regions: what a result is inside, and what a parameter is outside."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.ir import Exit, Op, Region, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS

Inner = tuple[Region | None, Value, Edge]
"""A value that a result or a parameter comes from: in a region of the op, or (None) beside the op itself."""

_DERIVED = ("jacrev", "jacfwd", "jacobian", "hessian")


def behind_result(op: Op, position: int, *, traced: bool) -> Iterator[Inner]:
    """Return what a result of an op with regions comes from."""
    if op.name in ("custom_jvp", "custom_vjp", "transform", "callback"):
        # The rule of a custom derivative says how gradient flows, not the body.
        yield from ((None, value, Edge.MAYBE) for value in op.operands)
    elif op.name == "abstract":
        return
    elif op.name in ("cond", "py.branch"):
        yield from _chosen(op, position)
    elif op.name in LOOPS:
        yield from _looped(op, position)
    elif op.name == "tree.map":
        yield from ((None, value, Edge.LIVE) for value in op.operands)
        yield from ((op.regions[0], value, Edge.LIVE) for value in op.regions[0].results)
    else:
        yield from _given(op, position, traced)


def _given(op: Op, position: int, traced: bool) -> Iterator[Inner]:
    """A body's result; in source, the derivatives themselves are no results of any region."""
    region = op.regions[0]
    derived = op.spelling.rpartition(".")[2].removeprefix("filter_") in _DERIVED
    if position < len(region.results) and (traced or not derived):
        yield region, region.results[position], Edge.LIVE
    else:
        yield from ((region, value, Edge.MAYBE) for value in region.results[:1])


def _chosen(op: Op, position: int) -> Iterator[Inner]:
    for region in op.regions:
        if region.exit is Exit.FALL and position < len(region.results):
            yield region, region.results[position], Edge.LIVE
    if op.operands:
        yield None, op.operands[0], Edge.ZERO


def _looped(op: Op, position: int) -> Iterator[Inner]:
    region = op.regions[-1]
    if position < len(region.results):
        yield region, region.results[position], Edge.LIVE
    starts = Loop(op).carried_in(region)
    yield from ((None, start, Edge.LIVE) for _, start, at in starts if at == position)
    if op.name == "associative_scan":
        yield from ((None, value, Edge.LIVE) for value in op.operands)


def behind_parameter(op: Op, region: Region, value: Value, at: int) -> Iterator[Inner]:
    """Return what a parameter of a region stands for; from inside the region (later turns) or outside (None)."""
    if op.name in LOOPS:
        yield from _turned(op, region, value, at)
    elif op.name == "tree.map":
        yield from ((None, operand, Edge.LIVE) for operand in op.operands)
    else:
        shift = 1 if op.name == "cond" else 0
        if at + shift < len(op.operands):
            yield None, op.operands[at + shift], Edge.LIVE


def _turned(op: Op, region: Region, value: Value, at: int) -> Iterator[Inner]:
    body = op.regions[-1]
    starts = Loop(op).carried_in(region)
    known = next(((start, position) for param, start, position in starts if param is value), None)
    if known is not None:
        start, position = known
        yield None, start, Edge.LIVE
        if position < len(body.results):
            yield body, body.results[position], Edge.LIVE
    elif op.name == "scan" and at < len(op.operands):
        yield None, op.operands[at], Edge.LIVE
    elif op.name == "associative_scan" and op.operands:
        yield None, op.operands[at % len(op.operands)], Edge.LIVE
        yield from ((body, result, Edge.LIVE) for result in body.results)
