"""Data less their mean, and what they are divided by: to be of one scale that is a standard deviation, no variance."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, nothing, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import AVERAGES, BOUNDS, SPREADS, SQUARES, SUMS_OF_TWO
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.record import record


@record
class Scaled:
    """A division of data less their mean by a variance."""

    op: Op
    variance: Op
    """Where squares are averaged for it."""


def divided_by_variance(flow: Flow) -> Iterator[Scaled]:
    """Return the data less their mean that are divided by a mean square: of themselves, or a running one."""
    for op in flow.program.mapping("divide"):
        x, y = op.value("x"), op.value("y")
        taken = None if x is None or op.backward or op.is_derived else flow.maker(x)
        if y is None or taken is None or taken.function != "subtract" or _is_weighed(flow, op):
            continue
        data, centre = taken.value("x"), taken.value("y")
        # The difference of two means over a variance is a discriminant.
        if data is None or centre is None or _means(flow, data) or not _means(flow, centre):
            continue
        variance = next(_mean_squares(flow, y), None)
        if variance is not None:
            yield Scaled(op, variance)


def _is_weighed(flow: Flow, op: Op) -> bool:
    """Whether a quotient is multiplied, as in a distance or a score, or turned round as a gradient is."""
    return any(one.function in ("multiply", "negative") for one in flow.readers.get(op.result, ()))


def _means(flow: Flow, value: Value) -> bool:
    return any(op.function in AVERAGES for op, _ in _linear(flow, value))


def _mean_squares(flow: Flow, value: Value) -> Iterator[Op]:
    """Return the variances that a value is a weighted sum of."""
    for op, divided in _linear(flow, value):
        if op.name != "array.reduce":
            continue
        whole = op.value("a")
        squared = None if whole is None else flow.maker(whole)
        deviations = squared is not None and squared.function in SQUARES and _is_difference(flow, squared)
        if (op.function in SPREADS and op.function.endswith("var")) or (
            deviations and (op.function in AVERAGES or divided)
        ):
            yield op


def _is_difference(flow: Flow, squared: Op) -> bool:
    made = flow.maker(squared.operands[0]) if squared.operands else None
    power = squared.arguments.get("y") if squared.function == "power" else 2
    return made is not None and made.function == "subtract" and power == 2 and len(set(squared.operands)) == 1


def _linear(flow: Flow, value: Value) -> Iterator[tuple[Op, bool]]:
    """Return what makes the terms of a weighted sum, each with whether it was divided by something."""
    for one, divided in walk([(value, False)], lambda pair: _terms(flow, *pair)):
        op = flow.maker(one)
        if op is not None:
            yield op, divided


def _terms(flow: Flow, value: Value, divided: bool) -> Iterator[tuple[Value, bool]]:
    op = flow.maker(value)
    if op is None or op.regions:
        yield from ((one, divided) for one in behind(flow, value, nothing))
    elif op.name in KEEPING or op.function in SUMS_OF_TWO | BOUNDS | {"multiply"}:
        yield from ((one, divided) for one in op.operands)
    elif op.function == "divide" and (above := op.value("x")) is not None:
        yield above, True
