"""Crossing a region's border: leaves become parameters on the way in and results on the way out."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.structure import materialise, rebuild
from jaxaudit.frontends.source.values import Abstract, Attribute, Const, DictBox, Leaf, ListBox, Record, Ref, TupleValue
from jaxaudit.ir import Region, Value
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpreter import Interpreter

LeafMap = Callable[[Leaf], Leaf]


@dataclass(frozen=True, slots=True)
class Parametrised:
    """Values as a region sees them, with the operands that its parameters stand for."""

    values: tuple[Abstract, ...]
    operands: tuple[Value, ...]
    params: tuple[Value, ...]


def parametrise(it: Interpreter, values: Seq[Abstract]) -> Parametrised:
    """Replace every leaf by a parameter as a Python call does: containers in the heap are passed by reference."""
    params: dict[Value, Value] = {}

    def param(leaf: Leaf) -> Leaf:
        if leaf.value not in params:
            params[leaf.value] = it.builder.value(leaf.value.span, leaf.value.name)
        return Leaf(params[leaf.value], leaf.cls)

    inside = tuple([replace_leaves(it, value, param, copy=False) for value in values])
    return Parametrised(inside, tuple(params), tuple(params.values()))


def flattened(it: Interpreter, values: Seq[Abstract]) -> Parametrised:
    """Replace every leaf by a parameter as a transformation does: containers are copied, each leaf counts."""
    operands: list[Value] = []
    params: list[Value] = []

    def param(leaf: Leaf) -> Leaf:
        operands.append(leaf.value)
        params.append(it.builder.value(leaf.value.span, leaf.value.name))
        return Leaf(params[-1], leaf.cls)

    inside = tuple([replace_leaves(it, value, param, copy=True) for value in values])
    return Parametrised(inside, tuple(operands), tuple(params))


def replace_leaves(it: Interpreter, value: Abstract, leaf: LeafMap, *, copy: bool) -> Abstract:
    """Give the same structure with other leaves; with `copy` also those in lists, dicts and dataclass instances."""
    if copy and not isinstance(value, Attribute):
        return rebuild(value, leaf, it)
    match value:
        case TupleValue(items=items):
            return TupleValue(tuple([replace_leaves(it, item, leaf, copy=copy) for item in items]))
        case Record(cls=cls, items=items):
            return Record(cls, tuple([replace_leaves(it, item, leaf, copy=copy) for item in items]))
        case Attribute(receiver=Leaf() as receiver, name=name):
            return Attribute(leaf(receiver), name)
        case Ref():
            return value
        case _:
            return rebuild(value, leaf, it)


def leaves_in_order(it: Interpreter, value: Abstract, *, copy: bool) -> tuple[Value, ...]:
    """Give the leaves of a value in the order in which `replace_leaves` visits them."""
    found: list[Value] = []

    def note(leaf: Leaf) -> Leaf:
        found.append(leaf.value)
        return leaf

    replace_leaves(it, value, note, copy=copy)
    return tuple(found)


def with_leaves(it: Interpreter, value: Abstract, leaves: Seq[Value], *, copy: bool) -> Abstract:
    """Give a value with its leaves replaced one by one."""
    outside = iter(leaves)
    return replace_leaves(it, value, lambda leaf: Leaf(next(outside), leaf.cls), copy=copy)


def lifted(it: Interpreter, value: Abstract, span: Span) -> Abstract:
    """Turn numbers in a structure into leaves, as a transformation does with the initial value of a loop."""
    match value:
        case Const(value=bool() | int() | float() | complex()):
            return Leaf(materialise(it, value, span))
        case TupleValue(items=items):
            return TupleValue(tuple([lifted(it, item, span) for item in items]))
        case Record(cls=cls, items=items):
            return Record(cls, tuple([lifted(it, item, span) for item in items]))
        case Attribute():
            return Leaf(materialise(it, value, span))
        case Ref():
            match it.heap[value]:
                case ListBox(items=items, kind=kind):
                    return it.heap.new(ListBox(tuple([lifted(it, item, span) for item in items]), kind))
                case DictBox(entries=entries, rest=None):
                    return it.heap.new(DictBox({key: lifted(it, item, span) for key, item in entries.items()}))
                case _:
                    return value
        case _:
            return value


def aligned(it: Interpreter, pattern: Abstract, value: Abstract, span: Span) -> list[Value] | None:
    """Give one value for each leaf of `pattern`, taken from the same place in `value`; None when they do not fit."""
    match pattern:
        case Leaf():
            return [materialise(it, value, span)]
        case TupleValue(items=items) | Record(items=items):
            return _aligned_items(it, items, value, span)
        case Ref():
            match it.heap[pattern]:
                case ListBox(items=items):
                    return _aligned_items(it, items, value, span)
                case DictBox(entries=entries, rest=None):
                    return _aligned_entries(it, entries, value, span)
        case _:
            pass
    return list(leaves_in_order(it, pattern, copy=True))


def _aligned_items(it: Interpreter, items: Seq[Abstract], value: Abstract, span: Span) -> list[Value] | None:
    if isinstance(value, Leaf):
        op = it.emit("py.unpack", span, {"base": value.value}, {"count": len(items), "star": None}, results=len(items))
        parts: Seq[Abstract] = [Leaf(result) for result in op.results]
    elif isinstance(value, TupleValue | Record):
        parts = value.items
    elif isinstance(value, Ref) and isinstance(box := it.heap[value], ListBox):
        parts = box.items
    else:
        return None
    return (
        _concatenated([aligned(it, a, b, span) for a, b in zip(items, parts, strict=True)])
        if len(items) == len(parts)
        else None
    )


def _aligned_entries(it: Interpreter, entries: object, value: Abstract, span: Span) -> list[Value] | None:
    wanted: dict[object, Abstract] = dict(entries)  # type: ignore[call-overload]
    if isinstance(value, Leaf):
        parts: dict[object, Abstract] = {
            key: Leaf(it.emit("py.item", span, {"base": value.value, "index": key}).result)  # type: ignore[dict-item]
            for key in wanted
        }
    elif isinstance(value, Ref) and isinstance(box := it.heap[value], DictBox) and box.entries.keys() == wanted.keys():
        parts = dict(box.entries)
    else:
        return None
    return _concatenated([aligned(it, part, parts[key], span) for key, part in wanted.items()])


def _concatenated(parts: list[list[Value] | None]) -> list[Value] | None:
    found: list[Value] = []
    for part in parts:
        if part is None:
            return None
        found.extend(part)
    return found


def is_closed(region: Region) -> bool:
    """Tell whether a region sees nothing but its own parameters (shared regions inside it are closed already)."""
    made = set(region.params)
    return _sees_only(region, made)


def _sees_only(region: Region, made: set[Value]) -> bool:
    for op in region.ops:
        if not made.issuperset(op.operands):
            return False
        for inner in op.regions:
            if inner.shared:
                continue
            made.update(inner.params)
            if not (_sees_only(inner, made) and made.issuperset(inner.results)):
                return False
        made.update(op.results)
    return True
