"""Matrices that are surely not symmetric: drawn numbers, counts of pairs, products of two unlike arrays.

Sums, products and choices of such a matrix and of symmetric ones are not symmetric either, unless its transpose takes
part in them, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, last, nothing, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Loop, moved
from jaxaudit.ir.ops import KEEPING, PASSED_ON

_MEETS = PASSED_ON | {"array.map", "array.select", "array.reduce"}
_KNOWN = _MEETS | {"array.permute", "array.create"}
_Turned = tuple[Value, bool]
"""A value, and whether it takes part transposed."""


def is_lopsided(facts: Facts, matrix: Value) -> bool:
    """Whether element (i, j) of a matrix is surely not element (j, i) in general."""
    flow, sources = facts.flow, list[_Turned]()
    for value, turned in walk([(matrix, False)], lambda one: _parts(facts, *one)):
        op = flow.maker(value)
        if op is not None and _is_unlike(flow, op, value):
            sources.append((value, turned))
        elif not (behind(flow, value, nothing) if op is None or op.regions else op.name in _KNOWN):
            return False
    return bool(sources) and not any((value, not turned) in sources for value, turned in sources)


def _parts(facts: Facts, value: Value, turned: bool) -> Iterator[_Turned]:
    """Return the matrices that a matrix is made of, element by element."""
    op = facts.flow.maker(value)
    if op is not None and _is_unlike(facts.flow, op, value):
        return
    if op is None or op.regions:
        yield from ((one, turned) for one in behind(facts.flow, value, nothing))
    elif op.name == "array.permute":
        yield op.operands[0], not turned
    elif op.name in _MEETS:
        dims = ((one, facts.get(Shapes).of(one).dims) for one in op.operands)
        # Rows and columns change nothing: they are symmetric or not as the matrix is that they are lined up with.
        yield from ((one, turned) for one, own in dims if own is None or (len(own) > 1 and ONE not in own[-2:]))


def _is_unlike(flow: Flow, op: Op, made: Value) -> bool:
    """Whether an op makes a matrix whose two axes are two things: of a scan, its steps are one of them."""
    if (loop := Loop.of(op)) is not None:
        return any(made is stacked for _, stacked in loop.stacked)
    if op.name == "array.dot" and len(op.operands) == 2:
        first, second = (last(one, lambda value: moved(flow.maker(value), KEEPING)) for one in op.operands)
        return not (_is_factor(flow, first, second) or _is_factor(flow, second, first))
    return op.name == "key.draw" or (op.name == "array.scatter" and _counts_pairs(flow, op))


def _counts_pairs(flow: Flow, op: Op) -> bool:
    """Whether an op adds at places of which each is given by two numbers, and nothing adds at the mirrored ones."""
    index, base = op.arguments.get("index"), op.base
    before = flow.maker(base) if base is not None else None
    both = isinstance(index, tuple) and len(index) == 2 and all(isinstance(one, Value) for one in index)
    return both and before is not None and before.name == "array.create"


def _is_factor(flow: Flow, one: Value, of: Value) -> bool:
    """Whether a value is another one, or one that it was multiplied of: `x @ m @ x.T` may be symmetric."""
    return one in walk((of,), lambda value: behind(flow, value, lambda op: op.name in ("array.dot", "array.permute")))
