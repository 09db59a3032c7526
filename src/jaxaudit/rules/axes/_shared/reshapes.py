"""Reshapes in every context, and the axis each of them moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.regroup import Dims, displaced, groups, kept
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import SELECTED
from jaxaudit.ir.record import record
from jaxaudit.rules.axes._shared.phrases import axis_of


@record
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

    @property
    def fits(self) -> bool:
        """Whether both shapes may have as many elements; else the old one is not what the code is given."""
        old, new = (Counter(dim.plain() for dim in dims if dim.constant != 1) for dims in (self.old, self.new))
        empty = any(dim.constant == 0 for dim in (*old, *new))
        return not empty and bool(old - new) == bool(new - old)


def reshapes(flow: Flow, shapes: Shapes) -> Iterator[Reshape]:
    """Return every reshape between axes that can be compared."""
    # Exact types alone say nothing of which axis is which.
    for op in flow.program.named("array.reshape") if shapes.look is None else ():
        # The pattern of `einops` moves axes as well.
        base = op.base
        if base is None or op.qualified.startswith("einops."):
            continue
        for context in shapes.contexts(op):
            old, new = context.of(base).dims, context.of(op.result).dims
            if old is not None and new is not None and kept(old, new):
                found = displaced(old, new)
                if found is not None and _shifts(flow, op, base):
                    continue
                yield Reshape(op, old, new, "" if found is None else axis_of(found[1]))


def exchanges_own_sizes(flow: Flow, op: Op) -> bool:
    """Whether a reshape takes the very sizes of its array in another order: `x.reshape(x.shape[::-1])`."""
    base = op.base
    turned = any(one.name == "array.permute" for one in flow.readers.get(op.result, ()))
    if base is None or turned or op.has("order") or op.qualified.startswith("einops."):
        return False
    taken = [_own_size(flow, value, base) for value in values_in(op.arguments.get("shape"))]
    places = [one for one in taken if isinstance(one, int)]
    # Axes that are counted from the end stand behind those that are counted from the start.
    order = sorted(set(places), key=lambda place: (place < 0, place))
    return "reversed" in taken or (len(places) == len(taken) > 1 and len(order) == len(places) and order != places)


def permutes(facts: Facts, op: Op) -> bool:
    """Whether a reshape gives an array its own sizes in another order, and no transpose turns them back."""
    base, flow = op.base, facts.flow
    made = None if base is None else flow.maker(base)
    turned = any(one.name == "array.permute" for one in flow.readers.get(op.result, ()))
    # Numbers that were drawn, and those that are only counted, may stand in any order.
    if base is None or turned or op.has("order") or (made is not None and made.name in _ANY_ORDER):
        return False
    pairs = [(context.of(base).dims, context.of(op.result).dims) for context in facts.get(Shapes).contexts(op)]
    return bool(pairs) and all(_are_permuted(old, new) for old, new in pairs)


_ANY_ORDER = frozenset(("array.create", "array.reshape", "key.draw"))


def _are_permuted(old: Dims | None, new: Dims | None) -> bool:
    """Whether plain sizes change places, and no axis may be cut into groups: 512 rows of 4 into 4 of 512."""
    before, after = ([one.constant or 0 for one in dims or () if one != ONE] for dims in (old, new))
    if 0 in before or before == after or Counter(before) != Counter(after):
        return False
    here, there = next((one, other) for one, other in zip(before, after, strict=True) if one != other)
    return max(here, there) % min(here, there) != 0


def undoes_cut(facts: Facts, op: Op) -> bool | None:
    """Whether a reshape puts an axis together that the reshape before it has cut for it alone."""
    flow, base, where = facts.flow, op.base, facts.places.region_of
    cut = None if base is None or flow.program.front_end == "jaxpr" else flow.maker(base)
    if base is None or cut is None or cut.name != "array.reshape" or cut.base is None:
        return False
    if flow.readers.get(base) != [op] or where[cut] is not where[op]:
        return False
    # Taken apart by rows and put together by columns, the elements have moved.
    if any(one.arguments.get("order", "C") != "C" for one in (cut, op)):
        return None
    shapes = facts.get(Shapes)
    old, between, new = (shapes.of(one).dims for one in (cut.base, base, op.result))
    if old is None or between is None or new is None:
        return None
    known = all(dim.constant is not None for dim in (*old, *between, *new))
    return _is_whole_again(old, between, new) or (False if known else None)


def _is_whole_again(old: Dims, between: Dims, new: Dims) -> bool:
    cuts = [places for parts, places in groups(old, between) if len(parts) == 1 < len(places)]
    left, joined = [at for at, dim in enumerate(between) if dim != ONE], list[set[int]]()
    for parts, places in groups(between, new):
        own, left = left[: len(parts)], left[len(parts) :]
        joined += [set(own)] if len(places) == 1 else []
    return any(one.issuperset(places) for one in joined for places in cuts)


def _own_size(flow: Flow, value: Value, base: Value) -> int | str | None:
    """Return which size of an array a value is; `reversed` where it is all of them from the last to the first."""
    made = flow.maker(value)
    whole = flow.maker(made.operands[0]) if made is not None and made.name == "py.item" and made.operands else None
    if made is None or whole is None or whole.name != "array.shape" or whole.operands[:1] != (base,):
        return None
    match made.arguments.get("index"):
        case int(place):
            return place
        case {"start": None, "stop": None, "step": -1}:
            return "reversed"
    return None


def _shifts(flow: Flow, op: Op, base: Value) -> bool:
    """Whether a slice stands between two reshapes: rows that are one longer and one shorter shift each row."""
    cut = flow.maker(base)
    before = flow.maker(cut.operands[0]) if cut is not None and cut.name in SELECTED and cut.operands else None
    if before is not None and before.name == "array.reshape":
        return True
    cuts = (one for one in flow.readers.get(op.result, ()) if one.name in SELECTED and one.results)
    return any(after.name == "array.reshape" for one in cuts for after in flow.readers.get(one.result, ()))
