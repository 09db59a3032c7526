"""Values that pass no gradient on: constants, indices, comparisons, rounded numbers, and what is made of these alone.

Only what surely has no gradient counts; a value nothing is known of does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxaudit.analyses.gradients.edges import DISCRETE, INDICES, STEPS, short, to_integers
from jaxaudit.ir import Op, Program, Value

_SAME_ELEMENTS = frozenset(
    """array.convert array.expand array.reshape array.permute array.squeeze array.move array.join array.split
    device.place array.select""".split()
)
_DEEPEST = 40


@dataclass(slots=True)
class FlatValues:
    """Answers whether a value of one program passes no gradient on."""

    made_by: dict[Value, Op] = field(default_factory=dict)
    known: dict[Value, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program) -> FlatValues:
        """Index what makes each value."""
        return cls({value: op for op in program.walk() if not op.regions for value in op.results})

    def is_flat(self, value: Value, depth: int = 0) -> bool:
        """Whether no gradient surely flows through a value."""
        if value not in self.known:
            op = self.made_by.get(value)
            self.known[value] = op is not None and depth < _DEEPEST and self._makes_flat(op, depth)
        return self.known[value]

    def _makes_flat(self, op: Op, depth: int) -> bool:
        function = short(op)
        if op.name in ("grad.stop", "py.const", "array.shape") or function in INDICES:
            return True
        if op.name == "key.draw":
            return function in DISCRETE
        if op.name == "array.map" and function in STEPS:
            return True
        if op.name == "array.convert" and to_integers(op.arguments.get("dtype")):
            return True
        if op.name in _SAME_ELEMENTS or op.name in ("array.map", "array.create"):
            return all(self.is_flat(value, depth + 1) for value in op.operands)
        if op.name == "py.item":
            base = op.arguments.get("base")
            return isinstance(base, Value) and self.is_flat(base, depth + 1)
        return False
