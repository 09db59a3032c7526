"""A part of a loop's state that never moves, though each turn computes its successor and nobody reads that."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import same
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.base import Obligation, Step, Verdict
from jaxaudit.rules.flow._shared.phrases import called


def left_behind(rule: str, note: Op, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    """Return the one part of the state that an unread result of a step could be the successor of."""
    value, region = _one_value(note), flow.places.region_of[note]
    loop = flow.places.holder.get(id(region))
    made = None if value is None else _step(value, flow)
    if value is None or made is None or loop is None or loop.name not in LOOPS or note.label.startswith("_"):
        return
    unmoved = [param for param in _unmoved(loop, region, flow) if _alike(shapes.of(param), shapes.of(value))]
    found = [param for param in unmoved if depends(flow, value, (param,))]
    if len(found) == 1 and found[0].name:
        yield _told(rule, note, made, found[0])


def _one_value(note: Op) -> Value | None:
    values = note.values
    only = values[0] if isinstance(values, tuple) and len(values) == 1 else None
    return only if isinstance(only, Value) else None


def _step(value: Value, flow: Flow) -> Op | None:
    """Return the op that made a value together with others which somebody reads."""
    made = flow.maker(value)
    others = (one for one in made.results if one is not value) if made is not None else iter(())
    return made if any(flow.is_read(one) for one in others) else None


def _unmoved(loop: Op, region: Region, flow: Flow) -> Iterator[Value]:
    for param, _, at in Loop(loop).carried_in(region):
        goes_on = region.results[at : at + 1] == (param,)
        if goes_on and any(op.name != "py.return" for op in flow.readers.get(param, ())):
            yield param


def _alike(first: ShapeFact, second: ShapeFact) -> bool:
    """Whether two arrays surely have the same shape and dtype."""
    if not first.dims or not second.dims or len(first.dims) != len(second.dims):
        return False
    return first.dtype == second.dtype is not None and all(map(same, first.dims, second.dims))


def _told(rule: str, note: Op, made: Op, param: Value) -> Obligation:
    name = note.label
    return Obligation(
        rule,
        note.span,
        Verdict.VIOLATED,
        message=f"`{name}` is never read, and the loop's own `{param.name}` goes into the next turn unchanged",
        current=f"`{called(made)}` gives `{name}` in each turn, and every turn starts from the first `{param.name}`",
        expected=f"`{name}` goes into the next turn in its place",
        steps=(Step(made.span, f"`{name}` depends on the loop's `{param.name}` and has its shape"),),
        suggestion=f"hand `{name}` on, or name it `_` if it is not wanted",
    )
