"""Rules for derivatives set against their functions on numbers, where every array has one element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients.numbers import Given, Numbers
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import CUSTOM_DERIVATIVES
from jaxaudit.ir.record import record

_POINTS = ((0.31, 0.23), (0.47, 0.19), (0.83, -0.11))
"""The number for the first argument, and what is added for each further one."""
_STEP = 1e-4
_TOLERANCE = 0.02
_SAME = 1e-9


@record
class Sample:
    """What a rule gives at one point, and what the function says."""

    found: float
    wanted: float
    passes: bool = False
    """Whether the function gives that argument back, or the rule the incoming derivative, as it was."""

    @property
    def agrees(self) -> bool:
        """Whether both are the same, up to what keeps a quotient finite."""
        return abs(self.found - self.wanted) <= _TOLERANCE * max(abs(self.wanted), 0.1)


class Measured:
    """A call of a rule, and the call of its function that it stands beside."""

    def __init__(self, op: Op, facts: Facts) -> None:
        self._op, self._numbers = op, Numbers(facts.flow)
        region = facts.places.region_of[op]
        before = region.ops[: region.ops.index(op)]
        beside = (one for one in reversed(before) if one.name in CUSTOM_DERIVATIVES and one.span == op.span)
        self._function = next(beside, None)
        self._outputs: tuple[Value, ...] = op.outputs if isinstance(op.outputs, tuple) else ()

    @property
    def _is_known(self) -> bool:
        function = self._function
        return function is not None and len(function.regions[0].results) == len(self._outputs) > 0

    def values(self) -> list[Sample]:
        """Return what the rule gives for the function's own value, with that value."""
        if not self._is_known:
            return []
        still = dict.fromkeys(self._op.cotangents or (), 0.0)
        found = (self._weighed(self._outputs, {**self._inside(point), **still}) for point in self._points())
        wanted = (self._own(point) for point in self._points())
        return [Sample(one, other) for one, other in zip(found, wanted, strict=True) if None not in (one, other)]  # type: ignore[arg-type]

    def derivatives(self, leaf: Value) -> list[Sample]:
        """Return what the rule gives for the derivative by one leaf of the arguments, with that derivative."""
        if not self._is_known or leaf not in self._op.regions[0].params:
            return []
        operand = self._op.operands[self._op.regions[0].params.index(leaf)]
        return [one for point in self._points() if (one := self._sample(point, operand, leaf)) is not None]

    def _sample(self, point: Given, operand: Value, leaf: Value) -> Sample | None:
        sides = [self._own({**point, operand: point[operand] + step}) for step in (_STEP, -_STEP)]
        found, value = self._found(point, leaf), self._own(point)
        if found is None or value is None or None in sides:
            return None
        weight = self._weights()[0]
        passes = abs(value - weight * point[operand]) < _SAME or abs(found - weight) < _SAME
        return Sample(found, (sides[0] - sides[1]) / (2 * _STEP), passes)  # type: ignore[operator]

    def _found(self, point: Given, leaf: Value) -> float | None:
        gradients, primals, incoming = self._op.gradients or (), self._op.primals or (), self._op.cotangents or ()
        leaves = [one for part in primals for one in part]
        if self._op.role == "tangent":
            if len(leaves) != len(incoming) or len(gradients) != 1 or len(gradients[0]) != len(self._outputs):
                return None
            tangents = {one: float(at is leaf) for one, at in zip(incoming, leaves, strict=True)}
            return self._weighed(gradients[0], {**self._inside(point), **tangents})
        pairs = [pair for part, made in zip(primals, gradients, strict=False) for pair in _aligned(part, made)]
        made = next((found for one, found in pairs if one is leaf), None)
        if made is None or len(incoming) != len(self._outputs):
            return None
        cotangents = dict(zip(incoming, self._weights(), strict=True))
        return self._numbers.of(made, {**self._inside(point), **cotangents})

    def _points(self) -> Iterator[Given]:
        for first, more in _POINTS:
            yield {one: first + more * at for at, one in enumerate(self._op.operands)}

    def _inside(self, point: Given) -> dict[Value, float]:
        pairs = zip(self._op.regions[0].params, self._op.operands, strict=False)
        return {param: point[operand] for param, operand in pairs}

    def _own(self, point: Given) -> float | None:
        """Return the weighed sum of what the function gives."""
        function = self._function
        if function is None or any(one not in point for one in function.operands):
            return None
        region = function.regions[0]
        given = {param: point[operand] for param, operand in zip(region.params, function.operands, strict=False)}
        return self._weighed(region.results, given)

    def _weighed(self, values: Sequence[Value], given: Given) -> float | None:
        total = 0.0
        for value, weight in zip(values, self._weights(), strict=False):
            found = self._numbers.of(value, given)
            if found is None:
                return None
            total += weight * found
        return total

    def _weights(self) -> list[float]:
        return [0.7 + 0.4 * at for at in range(len(self._outputs))]


def _aligned(part: Sequence[Value], made: Sequence[Value] | None) -> Iterator[tuple[Value, Value]]:
    if made is not None and len(part) == len(made):
        yield from zip(part, made, strict=True)
