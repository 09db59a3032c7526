"""Values that pass no gradient on: constants, indices, comparisons, rounded numbers, and what is made of these alone.

Only what surely has no gradient counts; a value nothing is known of does not.
"""

from __future__ import annotations

from collections.abc import Callable

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import Answers
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import DISCRETE_DRAWS, FLAT, is_discrete
from jaxaudit.ir.ops import PASSED_ON, REARRANGED

_SAME_ELEMENTS = (REARRANGED | PASSED_ON).union(
    ("array.move", "array.join", "array.split", "array.select", "array.map", "array.create")
)


class FlatValues:
    """Answers whether a value of one program passes no gradient on."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self.is_flat = Answers(self._is_flat, otherwise=False)
        """Whether no gradient surely flows through a value."""

        self.is_choice = Answers(self._is_choice, otherwise=False)
        """Whether it is made of a choice: an index, a comparison, a rounded number, and not of constants alone."""

    def _is_choice(self, value: Value, is_choice: Callable[[Value], bool]) -> bool:
        op = self._flow.own_maker(self._flow.stands_for(value))
        if op is None or not self.is_flat(value):
            return False
        return (_chooses(op) and bool(op.operands)) or any(map(is_choice, op.operands))

    def _is_flat(self, value: Value, is_flat: Callable[[Value], bool]) -> bool:
        op = self._flow.own_maker(self._flow.stands_for(value))
        if op is None:
            return False
        if op.name in ("grad.stop", "py.const", "array.shape") or _chooses(op):
            return True
        if op.name in _SAME_ELEMENTS:
            return all(map(is_flat, op.operands))
        base = op.arguments.get("base") if op.name == "py.item" else None
        return isinstance(base, Value) and is_flat(base)


def _chooses(op: Op) -> bool:
    """Whether an op gives one of some values, so that it has no slope, whatever it is given."""
    if op.name == "key.draw":
        return op.function in DISCRETE_DRAWS
    return (op.name.startswith("array.") and op.function in FLAT) or (
        op.name == "array.convert" and is_discrete(op.arguments.get("dtype"))
    )
