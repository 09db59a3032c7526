"""Crossing a region's border: leaves become parameters on the way in and results on the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Sequence as Seq
from typing import Any

from jaxaudit.frontends.source.classes.fields import role
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import known_items
from jaxaudit.frontends.source.values.callables import Attribute, ClassValue
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, Record, Ref, TupleValue
from jaxaudit.frontends.source.values.structure import leaves, materialise, rebuild, same
from jaxaudit.ir import Value
from jaxaudit.ir.record import record, replace
from jaxaudit.spans import NOWHERE, Span

LeafMap = Callable[[Leaf], Leaf]

Entered = tuple[int, int]
"""The youngest value and the youngest object in the heap before a region: what is older was captured or mutated."""


@record
class Parametrised:
    """Values as a region sees them, with the operands that its parameters stand for."""

    values: tuple[Abstract, ...]
    operands: tuple[Value, ...]
    params: tuple[Value, ...]
    entered: Entered = (0, 0)
    held: tuple[bool, ...] = ()
    """Which operands are inside objects of classes, whose fields need not all be traced."""


Fields = Mapping[ClassValue, list[Mapping[str, Abstract]]]
"""The records among some values, by their class."""


def renewed(it: Interpreter, given: Parametrised, result: Abstract, out: Seq[Value]) -> tuple[tuple[Value, Value], ...]:
    """Return the parameters and results of a region that are one field of a record which a function takes and gives."""
    pairs = succeeded(records(it, given.values), records(it, (result,)))
    return tuple((old, new) for old, new in pairs if old in given.params and new in out)


def succeeded(before: Fields, after: Fields) -> tuple[tuple[Value, Value], ...]:
    """Return each field of a record that is given with what the record that is made has in its place.

    A class says what a record is for: where a function is given one of it and gives one, that is the next one.
    """
    return tuple(
        (old.value, new.value)
        for cls, (made, *others) in after.items()
        if not others and len(taken := before.get(cls, [])) == 1
        for name, old in taken[0].items()
        if isinstance(old, Leaf) and isinstance(new := made.get(name), Leaf) and old.value is not new.value
    )


def records(it: Interpreter, values: Seq[Abstract]) -> Fields:
    """Return the fields of every record among some values and inside of them, by class."""
    found: dict[ClassValue, list[Mapping[str, Abstract]]] = {}
    pending, seen = list(values), set[int]()
    while pending:
        match pending.pop():
            case TupleValue(items=items):
                pending.extend(items)
            case Record(cls=cls, items=items):
                found.setdefault(cls, []).append(dict(zip(cls.fields, items, strict=False)))
                pending.extend(items)
            case Ref(id=number) as ref if number not in seen:
                seen.add(number)
                match it.heap[ref]:
                    case ObjectBox(cls=cls, attrs=attrs):
                        found.setdefault(cls, []).append(attrs)
                        pending.extend(attrs.values())
                    case DictBox(entries=entries):
                        pending.extend(entries.values())
    return found


def parametrise(it: Interpreter, values: Seq[Abstract]) -> Parametrised:
    """Replace every leaf by a parameter as a Python call does: containers in the heap are passed by reference."""
    params: dict[Value, Value] = {}

    def param(leaf: Leaf) -> Leaf:
        if leaf.value not in params:
            params[leaf.value] = _handed_on(it, leaf.value)
        return leaf.at(params[leaf.value])

    inside = tuple([replace_leaves(it, value, param, copy=False) for value in values])
    return Parametrised(inside, tuple(params), tuple(params.values()))


def _handed_on(it: Interpreter, value: Value) -> Value:
    """Return the parameter that a value becomes."""
    param = it.builder.value(value.span, value.name)
    if value in it.outside:
        it.outside.add(param)
    return param


def flattened(it: Interpreter, values: Seq[Abstract], *, copy: bool = True) -> Parametrised:
    """Replace every leaf by a parameter as a transformation does: containers are copied, each leaf counts.

    What is part of an object's structure is no leaf: the region sees the very value that is outside.
    """
    entered = (it.builder.newest, it.heap.newest)
    # Whatever opens inside is younger than this, even where there are no parameters.
    it.builder.value(NOWHERE)
    operands: list[Value] = []
    params: list[Value] = []

    def param(leaf: Leaf) -> Leaf:
        operands.append(leaf.value)
        params.append(_handed_on(it, leaf.value))
        return leaf.at(params[-1])

    inside = tuple([replace_leaves(it, value, param, copy=copy, data=True) for value in values])
    inner = set(_in_objects(it, values))
    return Parametrised(inside, tuple(operands), tuple(params), entered, tuple(one in inner for one in operands))


def _in_objects(it: Interpreter, values: Seq[Abstract]) -> Iterator[Value]:
    """Return the leaves in fields of objects that may be data or structure."""
    for value in values:
        match value:
            case TupleValue(items=items) | Record(items=items):
                yield from _in_objects(it, items)
            case Ref():
                match it.heap[value]:
                    case ListBox(items=items):
                        yield from _in_objects(it, items)
                    case DictBox(entries=entries):
                        yield from _in_objects(it, tuple(entries.values()))
                    case ObjectBox(cls=cls, attrs=attrs, value=whole):
                        roles = {key: role(cls, key) for key in attrs}
                        yield from () if whole is None else (whole,)
                        yield from _in_objects(it, [attrs[key] for key in attrs if roles[key] == "data"])
                        yield from (leaf for key in attrs if not roles[key] for leaf in leaves(it, attrs[key]))
                    case _:
                        pass
            case _:
                pass


def replace_leaves(it: Interpreter, value: Abstract, leaf: LeafMap, *, copy: bool, data: bool = False) -> Abstract:
    """Return the same structure with other leaves; with `copy` also those in lists, dicts and dataclass instances.

    With `data`, what is part of an object's structure counts for no leaf.
    """
    if copy and not isinstance(value, Attribute):
        return rebuild(value, leaf, it, data=data)
    match value:
        case TupleValue(items=items):
            return TupleValue(tuple([replace_leaves(it, item, leaf, copy=copy) for item in items]), value.made)
        case Record(items=items):
            return replace(value, items=tuple([replace_leaves(it, item, leaf, copy=copy) for item in items]))
        case Attribute(receiver=Leaf() as receiver, name=name):
            return Attribute(leaf(receiver), name)
        case Ref():
            return value
        case _:
            return rebuild(value, leaf, it)


def leaves_in_order(it: Interpreter, value: Abstract, *, copy: bool, data: bool = False) -> tuple[Value, ...]:
    """Return the leaves of a value in the order in which `replace_leaves` visits them."""
    found: list[Value] = []

    def note(leaf: Leaf) -> Leaf:
        found.append(leaf.value)
        return leaf

    replace_leaves(it, value, note, copy=copy, data=data)
    return tuple(found)


def data_leaves(it: Interpreter, value: Abstract) -> tuple[Value, ...]:
    """Return the leaves that JAX takes a value apart into, in the order of `flattened`."""
    return leaves_in_order(it, value, copy=True, data=True)


def structure_leaves(it: Interpreter, value: Abstract) -> tuple[Value, ...]:
    """Return the values in fields that are part of the structure of objects."""
    data = set(data_leaves(it, value))
    return tuple(one for one in leaves_in_order(it, value, copy=True) if one not in data)


def with_leaves(it: Interpreter, value: Abstract, leaves: Seq[Value], *, copy: bool, data: bool = False) -> Abstract:
    """Return a value with its leaves replaced one by one; unknown ones where it was changed and has others by now."""
    if len(leaves_in_order(it, value, copy=copy, data=data)) != len(leaves):

        def lost(leaf: Leaf) -> Leaf:
            return it.unknown("it is changed while it is passed around", leaf.value.span, leaf.value.name)

        return replace_leaves(it, value, lost, copy=copy, data=data)
    outside = iter(leaves)
    return replace_leaves(it, value, lambda leaf: leaf.at(next(outside)), copy=copy, data=data)


def with_data(it: Interpreter, value: Abstract, leaves: Seq[Value]) -> Abstract:
    """Return a value with the leaves replaced that JAX takes it apart into."""
    return with_leaves(it, value, leaves, copy=True, data=True)


def lifted(it: Interpreter, value: Abstract, span: Span) -> Abstract:
    """Turn numbers in a structure into leaves, as a transformation does with the initial value of a loop."""
    match value:
        case Const(value=bool() | int() | float() | complex()):
            return Leaf(materialise(it, value, span), array=True)
        case TupleValue(items=items):
            return TupleValue(tuple([lifted(it, item, span) for item in items]), value.made)
        case Record(items=items):
            return replace(value, items=tuple([lifted(it, item, span) for item in items]))
        case Attribute():
            return Leaf(materialise(it, value, span))
        case Ref():
            match it.heap[value]:
                case ListBox(items=items, kind=kind):
                    return it.heap.new(ListBox(tuple([lifted(it, item, span) for item in items]), kind))
                case DictBox(entries=entries, rest=None, made=made):
                    inside = {key: lifted(it, item, span) for key, item in entries.items()}
                    return it.heap.new(DictBox(inside, made=made))
                case ObjectBox(cls=cls, attrs=attrs) as box:
                    raised = {
                        key: lifted(it, item, span) if role(cls, key) == "data" else item for key, item in attrs.items()
                    }
                    is_data = any(role(cls, key) for key in attrs)
                    return it.heap.new(replace(box, attrs=raised)) if is_data else value
                case _:
                    return value
        case _:
            return value


def aligned(it: Interpreter, pattern: Abstract, value: Abstract, span: Span) -> list[Value]:
    """Return one value for each leaf of `pattern`, from the same place in `value`; unknown where they do not fit."""
    match pattern:
        case Leaf():
            return [materialise(it, value, given_at(it, span) if isinstance(value, Const) else span)]
        case TupleValue(items=items) | Record(items=items):
            parts = _items(it, len(items), value, span)
            return _each(it, items, parts, span)
        case Ref():
            return _aligned_box(it, pattern, value, span)
        case _:
            return list(data_leaves(it, pattern)) if same(pattern, value) else unfit(it, pattern, span)


def given_at(it: Interpreter, otherwise: Span) -> Span:
    """Return where the function that was just interpreted gives its results."""
    last = next((op for op in reversed(it.builder.region.ops) if op.name != "py.const"), None)
    return last.span if last is not None and last.name == "py.return" else otherwise


def unfit(it: Interpreter, pattern: Abstract, span: Span) -> list[Value]:
    """Return an unknown value for each leaf of a structure that was not given back."""
    reason = "the body returns another structure than it was given"
    return [it.unknown(reason, span).value for _ in data_leaves(it, pattern)]


def _each(it: Interpreter, patterns: Seq[Abstract], parts: Seq[Abstract] | None, span: Span) -> list[Value]:
    if parts is None:
        return [value for pattern in patterns for value in unfit(it, pattern, span)]
    return [value for pattern, part in zip(patterns, parts, strict=True) for value in aligned(it, pattern, part, span)]


def _aligned_box(it: Interpreter, pattern: Ref, value: Abstract, span: Span) -> list[Value]:
    match it.heap[pattern]:
        case ListBox(items=items):
            return _each(it, items, _items(it, len(items), value, span), span)
        case DictBox(entries=entries, rest=None):
            return _each(it, list(entries.values()), _entries(it, entries, value, span), span)
        case ObjectBox() as box:
            return _aligned_object(it, box, value, span)
        case OpaqueBox():
            return [materialise(it, value, span)]
        case _:
            return unfit(it, pattern, span)


def _items(it: Interpreter, count: int, value: Abstract, span: Span) -> Seq[Abstract] | None:
    if isinstance(value, Leaf):
        op = it.emit("py.unpack", span, {"base": value.value}, {"count": count, "star": None}, results=count)
        return [Leaf(result) for result in op.results]
    parts = known_items(it, value)
    return parts if parts is not None and len(parts) == count else None


def _entries(it: Interpreter, wanted: Mapping[Any, Abstract], value: Abstract, span: Span) -> Seq[Abstract] | None:
    if isinstance(value, Leaf):
        return [Leaf(it.emit("py.item", span, {"base": value.value, "index": key}).result) for key in wanted]
    if isinstance(value, Ref) and isinstance(box := it.heap[value], DictBox) and box.entries.keys() == wanted.keys():
        return [box.entries[key] for key in wanted]
    return None


def _aligned_object(it: Interpreter, box: ObjectBox, value: Abstract, span: Span) -> list[Value]:
    other = it.heap[value] if isinstance(value, Ref) else None
    wanted = {name: item for name, item in box.attrs.items() if role(box.cls, name) != "structure"}
    attrs: Mapping[str, Abstract] = {}
    if isinstance(other, ObjectBox) and other.cls is box.cls:
        attrs = other.attrs
    elif not isinstance(value, Leaf):
        return _each(it, [*wanted.values(), *([] if box.value is None else [Leaf(box.value)])], None, span)
    whole = Leaf(materialise(it, value, span)) if box.value is not None or isinstance(value, Leaf) else None
    parts = [attrs.get(name, NONE if whole is None else Attribute(whole, name)) for name in wanted]
    found = _each(it, list(wanted.values()), parts, span)
    # The order of `rebuild`: attributes first, then the object as a whole.
    return [*found, *([] if box.value is None or whole is None else [whole.value])]
