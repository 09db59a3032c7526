"""A `cond` whose predicate differs from row to row under `vmap`: JAX runs all branches and selects.

The equations of the branches then stand side by side. What each row sees is still one branch, so they are put back
into regions: all that only one side of the selections needs belongs to that side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.control import asked
from jaxaudit.frontends.jaxpr.frames import NOWHERE
from jaxaudit.frontends.jaxpr.records import Record
from jaxaudit.frontends.jaxpr.segments import Segment
from jaxaudit.frontends.jaxpr.sites import Site
from jaxaudit.ir import Region, Value

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body

Item = int | Segment


def lower_branches(body: Body, segment: Segment, record: Record) -> None:
    """Lower the equations of a `cond` or `switch`, as branches again where JAX has turned it into selections."""
    selections = [] if _has_equation(body, segment) else list(_selections(body, segment))
    sides = _sides(body, segment, selections) if selections else None
    if sides is None:
        body.lower(segment.items)
        return
    before, branches = sides
    body.lower(before)
    _choose(body, segment, record, selections, branches)


def _has_equation(body: Body, segment: Segment) -> bool:
    return any(equation.primitive.name == "cond" for item in segment.items for equation in _equations(body, item))


def _equations(body: Body, item: Item) -> Sequence[Any]:
    if isinstance(item, Segment):
        return body.equations[body.runs[item.first].start : body.runs[item.last].stop]
    return body.equations[body.runs[item].start : body.runs[item].stop]


def _selections(body: Body, segment: Segment) -> Iterator[Any]:
    """Return the selections whose results are those of the whole."""
    left = set(_left(body, segment))
    for item in segment.items:
        for equation in () if isinstance(item, Segment) else _equations(body, item):
            if equation.primitive.name == "select_n" and equation.outvars[0] in left:
                yield equation


def _left(body: Body, segment: Segment) -> list[Any]:
    """Return the variables made in a segment that are read after it."""
    start, stop = body.runs[segment.first].start, body.runs[segment.last].stop
    made = (out for equation in body.equations[start:stop] for out in equation.outvars)
    return [out for out in made if body.last_use.get(out, -1) >= stop]


def _sides(body: Body, segment: Segment, selections: Sequence[Any]) -> tuple[list[Item], list[list[Item]]] | None:
    """Divide the items into those before the choice and those of each branch; None when they cannot be told apart."""
    count = len(selections[0].invars) - 1
    if any(len(one.invars) - 1 != count for one in selections):
        return None
    wanted = [_variables(one.invars[1 + side] for one in selections) for side in range(count)]
    asked = _variables(one.invars[0] for one in selections)
    before: list[Item] = []
    branches: list[list[Item]] = [[] for _ in range(count)]
    chosen = {id(one) for one in selections}
    for item in reversed(segment.items):
        equations = _equations(body, item)
        if any(id(one) in chosen for one in equations):
            continue
        made = {out for one in equations for out in one.outvars}
        needs = _variables(atom for one in equations for atom in one.invars)
        needed_by = [side for side in range(count) if made & wanted[side]]
        if len(needed_by) == 1 and not made & asked:
            wanted[needed_by[0]] |= needs
            branches[needed_by[0]].append(item)
        else:
            asked |= needs
            before.append(item)
    return before[::-1], [branch[::-1] for branch in branches]


def _variables(atoms: Iterable[Any]) -> set[Any]:
    return {atom for atom in atoms if not compat.is_literal(atom)}


def _choose(
    body: Body, segment: Segment, record: Record, selections: Sequence[Any], branches: Sequence[list[Item]]
) -> None:
    writer = body.writer
    site = Site(record.span, True, NOWHERE, body.sites[body.runs[segment.first].start].around)
    predicate = body.value(asked(body, selections[0].invars[0]), record.span)
    names = record.options.get("functions", ())
    order = range(len(branches) - 1, -1, -1) if record.kind == "cond" else range(len(branches))
    regions: list[Region] = []
    for place, side in enumerate(order):
        label = names[place] if place < len(names) else ""
        with writer.builder.nested("function", label, record.span) as region:
            body.lower(branches[side])
            results = tuple(body.value(one.invars[1 + side], record.span) for one in selections)
        writer.builder.close(region, results)
        regions.append(region)
    outs = [one.outvars[0] for one in selections]
    made: list[Value] = [writer.value(record.span, compat.type_of(out)) for out in outs]
    attrs: dict[str, object] = {"function": ", ".join(names)}
    writer.hold("cond", site, [predicate], attrs, made, regions)
    body.bind(outs, made)
