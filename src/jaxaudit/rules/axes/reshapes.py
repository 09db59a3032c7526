"""Reshapes in every context, and the axis each of them moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.regroup import Dims, displaced, kept
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.axes.words import axis_of


@dataclass(frozen=True, slots=True)
class Reshape:
    """One reshape in one context."""

    op: Op
    old: Dims
    new: Dims
    moved: str
    """The axis that has the name of an old one and is another; empty where there is none."""

    @property
    def unflattens(self) -> bool:
        """Whether it takes apart an axis that an earlier reshape made of several."""
        return any(label.kind == "product" for dim in self.old for label in dim.labels)


def reshapes(program: Program, shapes: Shapes) -> Iterator[Reshape]:
    """Give every reshape between axes that can be compared."""
    # Exact types alone say nothing of which axis is which.
    for op in program.named("array.reshape") if shapes.look is None else ():
        # The pattern of `einops` moves axes as well.
        if not op.operands or op.text("function").startswith("einops."):
            continue
        for context in shapes.contexts(op):
            old, new = context.of(_base(op)).dims, context.of(op.result).dims
            if old is not None and new is not None and kept(old, new):
                found = displaced(old, new)
                yield Reshape(op, old, new, "" if found is None else axis_of(found[1]))


def _base(op: Op) -> Value:
    first = next(iter(op.arguments.values()), None)
    return first if isinstance(first, Value) else op.operands[0]
