"""Positions along one axis that are looked up along another."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.roots import is_known, roots
from jaxaudit.analyses.axes.slots import Slot, slot
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import PICKED_POSITIONS
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Severity, Step, named, proved, unknown

_UNCHANGED = through_ops("array.convert", "py.to_python")


def looked_up(flow: Flow, positions: Value) -> Iterator[tuple[Op, Value]]:
    """Return where positions are used to index an array along its first axis, with the array."""
    for value in walk((positions,), lambda one: ahead(flow, one, _UNCHANGED)):
        for op in flow.readers.get(value, ()):
            base = op.arguments.get("base") if op.name == "py.item" else None
            if isinstance(base, Value) and index_parts(op.arguments.get("index"))[:1] == (value,):
                yield op, base


def before_reduced(value: Value, flow: Flow) -> list[Value]:
    """Return what a value was before some of its axes were reduced."""
    through = through_ops("array.reduce", "array.map", *KEEPING)
    ways = walk((value,), lambda one: behind(flow, one, through))
    return [made.operands[0] for one in ways if (made := flow.maker(one)) is not None and made.name == "array.reduce"]


def judged_positions(facts: Facts) -> Iterator[Obligation]:
    """Say of every position along an axis whether the array that it is looked up in has this axis, or another one."""
    shapes, ask = facts.get(Shapes), roots(facts)
    for op in facts.program.named("array.order"):
        along = _along(op, shapes) if op.function in PICKED_POSITIONS and op.operands else None
        if along is None:
            continue
        own = ask(along)
        kept, reduced = (
            frozenset().union(*(ask(Slot(one, at)) for one in arrays for at in range(shapes.of(one).rank or 0))) - own
            for arrays in ((along.value,), before_reduced(along.value, facts.flow))
        )
        for use, array in looked_up(facts.flow, op.result):
            met = ask(Slot(array, 0))
            if met & own:
                yield proved(use.span, f"the positions are looked up along the axis that `{op.function}` goes over")
            elif met & (kept | reduced) and not is_known(facts, own):
                yield unknown(use.span, f"where the axis comes from that `{op.function}` goes over is not known")
            elif met & (kept | reduced):
                # Where the axis stays, the two arrays may be pairs: the picture of the text that was found.
                yield _elsewhere(op, use, array, Severity.WARNING if met & kept else Severity.ERROR)


def _along(op: Op, shapes: Shapes) -> Slot | None:
    """Return the axis that an op finds positions along."""
    axis, rank = op.argument("axis"), shapes.of(op.operands[0]).rank
    found = 0 if axis is None and rank == 1 else axis
    return slot(op.operands[0], found, shapes) if rank is not None and isinstance(found, int) else None


def _elsewhere(op: Op, use: Op, array: Value, severity: Severity) -> Obligation:
    name = named(array, "an array")
    return Obligation(
        op.span,
        severity=severity,
        message=f"`{op.function}` finds positions along one axis, and they are looked up in {name}, which is the other",
        current=f"it goes over the axis that {name} has nothing to do with; that of {name} is reduced, or stays",
        expected=f"positions that are looked up in {name} are found along its axis",
        steps=(Step(use.span, f"they are looked up in {name} here"),) if use.span != op.span else (),
        suggestion="reduce over the other axis",
    )
