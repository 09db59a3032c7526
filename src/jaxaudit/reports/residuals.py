"""Residuals: what a forward pass keeps for the backward pass alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from jaxaudit.ir import Op, Root, Value
from jaxaudit.ir.ops import BODIES, BRANCHES

_STRAIGHT = BODIES | BRANCHES | {"vmap", "scan"}
"""Ops whose results are those of their region, one by one."""


class Residuals:
    """Knows of each value of a root who reads it in the forward pass."""

    def __init__(self, root: Root) -> None:
        """Index a root; one in which nothing is differentiated has no residuals."""
        ops = list(root.region.walk())
        self.any = any(op.backward for op in ops)
        self._readers: dict[Value, set[Op | None]] = defaultdict(set)
        self._late: set[Value] = set()
        if not self.any:
            return
        for value in root.region.results:
            self._readers[value].add(None)
        for op in ops:
            if op.backward:
                self._late.update(op.operands)
            else:
                for value in op.operands:
                    self._readers[value].add(op)
        for op in ops:
            self._leave(op)

    def _leave(self, op: Op) -> None:
        """What a body leaves behind is read when the result is; ops come before their bodies, so one pass is enough."""
        for region in op.regions:
            straight = len(region.results) == len(op.results) and op.name in _STRAIGHT
            carried = op.carry or 0
            for place, inner in enumerate(region.results):
                # What is carried is read by the next turn.
                if not straight or place < carried or self._readers.get(op.results[place]):
                    self._readers[inner].add(None)
                elif op.results[place] in self._late:
                    self._late.add(inner)

    def unread(self, value: Value, ops: Collection[Op]) -> bool:
        """Whether nothing reads a value but some ops, though a body may leave it behind."""
        return self.any and value not in self._late and self._readers.get(value, set()) <= set(ops)

    def has(self, value: Value, ops: Collection[Op]) -> bool:
        """Whether the backward pass reads a value, and nothing in the forward pass does but some ops."""
        return value in self._late and self._readers.get(value, set()) <= set(ops)
