"""Matrices that cotangents are multiplied with: the derivative of a linear map pulls back by its transpose."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import ahead, behind, sources, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import JACOBIANS, MATRIX_PRODUCTS, UNIT_MATRICES
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.rules.base import Obligation, Severity, Subject

_SUMMED, _GIVEN = 1, 0
"""The axes of a matrix that is applied to a vector: the one that is summed over, and the one that comes out."""


class Product(NamedTuple):
    """A matrix that is multiplied with a vector, or solved for one."""

    op: Op
    matrix: Value
    """Without transposition."""
    axis: int
    """The axis of the matrix that meets the vector."""
    solved: bool


def untransposed(rule: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge the matrices that a backward rule applies to what comes in."""
    for found, sure in _pulled_by_itself(rule, facts):
        name = f"`{found.matrix.name}`" if found.matrix.name else "the matrix"
        act = "solves with" if found.solved else "multiplies with"
        yield Obligation(
            found.op.span,
            severity=Severity.ERROR if sure else Severity.WARNING,
            message=f"the rule of `{rule.qualified}` {act} {name} where its transpose is due",
            current="the cotangent meets the axis of the input, which is right for symmetric matrices alone",
            expected="a cotangent is pulled back by the transpose of what pushes values forward",
            suggestion=f"transpose {name} here",
            subject=Subject(names=(rule.qualified,), tried=True),
        )


def _pulled_by_itself(rule: Op, facts: Facts) -> Iterator[tuple[Product, bool]]:
    """Return where a backward rule applies a matrix to the cotangent as the function applies it, and if surely wrong.

    What is surely not its own transpose: a Jacobian, and a matrix that the same rule gives a gradient for.
    """
    flow, body = facts.flow, rule.regions[0]
    incoming = [value for value in rule.cotangents or () if isinstance(value, Value)]
    moved = set(walk(incoming, lambda one: ahead(flow, one, _elementwise)))
    outputs = [value for value in rule.outputs if isinstance(value, Value)] if isinstance(rule.outputs, tuple) else []
    forward = {flow.maker(one) for one in sources(flow, outputs, _elementwise)}
    products = [one for op in body.walk() for one in _products(flow, op, moved)]
    own = [one for op in forward if op is not None for one in _products(flow, op, None)]
    for product in products:
        made = flow.maker(product.matrix)
        if made is not None and made.transformation in JACOBIANS:
            if product.axis == _SUMMED and made.transformation != "hessian" and not _of_gradient(flow, made):
                yield product, True
        elif any(_same_way(product, one) for one in own):
            yield product, _is_learned(rule, flow, product.matrix)


def _elementwise(op: Op) -> bool:
    return op.name in PASSED_ON or op.name == "array.map"


def _products(flow: Flow, op: Op, vectors: Collection[Value] | None) -> Iterator[Product]:
    """Return an op as the product of a matrix with one of some vectors; None for all."""
    solved = op.name == "array.linalg" and op.function == "solve"
    left, right = op.argument("x", "a"), op.argument("y", "b")
    if not (solved or (op.name == "array.dot" and op.function in MATRIX_PRODUCTS)):
        return
    if not isinstance(left, Value) or not isinstance(right, Value):
        return
    for matrix, vector, axis in ((left, right, _SUMMED), (right, left, _GIVEN)):
        meets = vectors is None or (vector in vectors and matrix not in vectors)
        if meets and not (solved and matrix is right):
            base, turned = _untransposed(flow, matrix)
            yield Product(op, base, axis ^ turned, solved)


def _untransposed(flow: Flow, matrix: Value) -> tuple[Value, bool]:
    """Return a matrix without transpositions, signs and what is added to its diagonal, and whether it is transposed."""
    turned = False
    while (op := flow.maker(matrix)) is None or op.transformation not in JACOBIANS:
        found = origin(flow, matrix, {})
        op, matrix = found.op, found.value
        if op is None:
            break
        operands = [one for one in op.operands if not _is_identity(flow, one)]
        if not operands or (op.name != "array.permute" and (op.name, len(operands)) != ("array.map", 1)):
            break
        turned ^= op.name == "array.permute"
        matrix = operands[0]
    return matrix, turned


def _is_identity(flow: Flow, value: Value) -> bool:
    made = origin(flow, value, {}).op
    return made is not None and made.function in UNIT_MATRICES


def _of_gradient(flow: Flow, jacobian: Op) -> bool:
    """Whether a Jacobian is that of a gradient, and so its own transpose."""
    found = sources(flow, jacobian.regions[0].results, _elementwise)
    return any((made := flow.maker(one)) is not None and made.name == "grad" for one in found)


def _same_way(product: Product, own: Product) -> bool:
    return product.matrix is own.matrix and (product.axis, product.solved) == (own.axis, own.solved)


def _is_learned(rule: Op, flow: Flow, matrix: Value) -> bool:
    """Whether a rule gives a gradient for a matrix, so that nothing keeps it symmetric."""
    pairs = zip(rule.primals or (), rule.gradients or (), strict=False)
    given = (gradient for primal, gradient in pairs for one in primal if origin(flow, one, {}).value is matrix)
    incoming = {value for value in rule.cotangents or () if isinstance(value, Value)}
    return any(
        isinstance(one, Value) and not incoming.isdisjoint(walk((one,), lambda value: behind(flow, value)))
        for gradient in given
        for one in gradient or ()
    )
