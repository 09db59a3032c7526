"""Values that pass no gradient on: constants, indices, comparisons, rounded numbers, and what is made of these alone.

Only what surely has no gradient counts; a value nothing is known of does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxaudit.analyses.gradients.edges import to_integers
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import DISCRETE_DRAWS, FLAT
from jaxaudit.ir.ops import PASSED_ON, REARRANGED

_SAME_ELEMENTS = (REARRANGED | PASSED_ON).union(
    ("array.move", "array.join", "array.split", "array.select", "array.map", "array.create")
)


@dataclass(slots=True)
class FlatValues:
    """Answers whether a value of one program passes no gradient on."""

    made_by: Mapping[Value, Op]
    known: dict[Value, bool] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program) -> FlatValues:
        """Index what makes each value."""
        return cls(program.makers)

    def is_flat(self, value: Value) -> bool:
        """Whether no gradient surely flows through a value."""
        if value not in self.known:
            op = self.made_by.get(value)
            self.known[value] = op is not None and self._makes_flat(op)
        return self.known[value]

    def _makes_flat(self, op: Op) -> bool:
        if op.name in ("grad.stop", "py.const", "array.shape"):
            return True
        if op.name == "key.draw":
            return op.function in DISCRETE_DRAWS
        if op.name.startswith("array.") and op.function in FLAT:
            return True
        if op.name == "array.convert" and to_integers(op.arguments.get("dtype")):
            return True
        if op.name in _SAME_ELEMENTS:
            return all(map(self.is_flat, op.operands))
        base = op.arguments.get("base") if op.name == "py.item" else None
        return isinstance(base, Value) and self.is_flat(base)
