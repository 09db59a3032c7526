"""Values that pass no gradient on: constants, indices, comparisons, rounded numbers, and what is made of these alone.

Only what surely has no gradient counts; a value nothing is known of does not.
"""

from __future__ import annotations

from collections.abc import Callable

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import Answers
from jaxaudit.ir import Value
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

    def _is_flat(self, value: Value, is_flat: Callable[[Value], bool]) -> bool:
        op = self._flow.own_maker(self._flow.stands_for(value))
        if op is None:
            return False
        if op.name in ("grad.stop", "py.const", "array.shape"):
            return True
        if op.name == "key.draw":
            return op.function in DISCRETE_DRAWS
        if op.name.startswith("array.") and op.function in FLAT:
            return True
        if op.name == "array.convert" and is_discrete(op.arguments.get("dtype")):
            return True
        if op.name in _SAME_ELEMENTS:
            return all(map(is_flat, op.operands))
        base = op.arguments.get("base") if op.name == "py.item" else None
        return isinstance(base, Value) and is_flat(base)
