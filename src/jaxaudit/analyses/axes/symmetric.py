"""Matrices that have to be symmetric, and vectors that broadcasting adds to each of their rows.

A covariance, a Gram matrix, a Hessian: element (i, j) is element (j, i). A vector with an entry for each i that is
added to such a matrix lands on its columns alone, and the matrix is symmetric no more; on the diagonal it would be.
What reads the matrix tells that it has to be symmetric. A vector that goes in along both axes leaves it so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.dims import ONE, Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, nothing, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import DIAGONAL_MATRICES, MATRIX_EQUATIONS, SUMS_OF_TWO, SYMMETRIC_ONLY
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.record import record

"""What is done with any square matrix, symmetric ones included."""


@record
class Skewed:
    """A vector that lands on one axis of a matrix alone."""

    op: Op
    vector: Value
    reader: Op
    """What takes the matrix for a symmetric one."""


@record
class _Landing:
    """Where a vector meets a matrix, and on which of its axes it lands."""

    op: Op
    vector: Value
    on_rows: bool


def skewed(facts: Facts) -> Iterator[Skewed]:
    """Return the vectors after which a matrix that has to be symmetric is so no more."""
    for op in facts.program.named("array.linalg", "array.numpy", "key.draw", "py.call_library"):
        matrix = op.argument("cov") if op.function not in SYMMETRIC_ONLY | MATRIX_EQUATIONS else _first(op)
        if not isinstance(matrix, Value):
            continue
        landings = [*_landings(facts, matrix)]
        sides = {one.on_rows for one in landings}
        if len(sides) == 1 and (op.function not in MATRIX_EQUATIONS or _is_added(facts, landings[-1])):
            yield Skewed(landings[0].op, landings[0].vector, op)


def _first(op: Op) -> object:
    return next(iter(op.arguments.values()), None) if op.arguments else next(iter(op.operands), None)


def _landings(facts: Facts, matrix: Value) -> Iterator[_Landing]:
    """Return every vector that a matrix was computed with, element by element."""
    shapes, flow = facts.get(Shapes), facts.flow
    for value in walk((matrix,), lambda one: _parts(one, flow, shapes)):
        op = flow.maker(value)
        if op is None or not _meets(op):
            continue
        if any(_is_matrix(shapes.of(one).dims) for one in op.operands) and not _is_diagonal(op, flow):
            for vector in op.operands:
                axis = _lands_on(shapes.of(vector).dims)
                if axis is not None:
                    yield _Landing(op, vector, axis == -2)


def _parts(value: Value, flow: Flow, shapes: Shapes) -> Sequence[Value]:
    """Return the matrices that a matrix was computed of, element by element."""
    op = flow.maker(value)
    if op is None or op.regions:
        return behind(flow, value, nothing)
    if not (_meets(op) or op.name in PASSED_ON or (op.name == "array.map" and len(op.operands) == 1)):
        return ()
    return () if _is_diagonal(op, flow) else [one for one in op.operands if _is_matrix(shapes.of(one).dims)]


def _meets(op: Op) -> bool:
    return op.name == "array.map" and len(op.operands) > 1


def _is_matrix(dims: Sequence[Dim] | None) -> bool:
    return dims is not None and len(dims) > 1 and dims[-1] != ONE and same(dims[-1], dims[-2])


def _lands_on(dims: Sequence[Dim] | None) -> int | None:
    """Return the axis of a matrix that a vector lands on, counted from the back; None for numbers and matrices."""
    if not dims:
        return None
    if dims[-1] != ONE:
        return -1 if len(dims) == 1 or (len(dims) == 2 and dims[0] == ONE) else None
    return -2 if len(dims) == 2 and dims[0] != ONE else None


def _is_diagonal(op: Op, flow: Flow) -> bool:
    """Whether something is multiplied with a matrix that has nothing beside its diagonal."""
    makers = (flow.maker(one) for one in op.operands)
    return op.function == "multiply" and any(
        one is not None and not DIAGONAL_MATRICES.isdisjoint((one.function, one.api)) for one in makers
    )


def _is_added(facts: Facts, landing: _Landing) -> bool:
    """Whether a vector is added to the product of an array with itself."""
    flow, shapes = facts.flow, facts.get(Shapes)
    if landing.op.function not in SUMS_OF_TWO:
        # Times a vector it is a product with a diagonal matrix, which need not be symmetric.
        return False

    def before(value: Value) -> Sequence[Value]:
        op = flow.maker(value)
        given = moved(op)
        if given is not None:
            return (given,)
        return op.operands if op is not None and op.name == "array.map" else behind(flow, value, nothing)

    for matrix in (one for one in landing.op.operands if _is_matrix(shapes.of(one).dims)):
        for value in walk((matrix,), lambda one: _parts(one, flow, shapes)):
            op = flow.maker(value)
            if op is not None and op.name == "array.dot" and len(op.operands) == 2:
                first, second = (set(walk((one,), before)) for one in op.operands)
                return not first.isdisjoint(second)
    return False
