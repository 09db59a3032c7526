"""Structure: taking abstract values apart into leaves, putting them together again, and merging several into one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Seq

from jaxaudit.frontends.source.classes.fields import role
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
)
from jaxaudit.frontends.source.values.heap import Box, DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import (
    TUPLE,
    Abstract,
    Const,
    Leaf,
    Range,
    Record,
    Ref,
    Sequence,
    Slice,
    TupleValue,
)
from jaxaudit.ir import Argument, Size, Symbol, Value
from jaxaudit.ir.record import replace
from jaxaudit.libraries.lookup import lookup
from jaxaudit.spans import NOWHERE, Span

_DEEPEST_ROW = 6

LeafMap = Callable[[Leaf], Abstract]
NumberMap = Callable[[Const], Abstract]


def leaves(it: Interpreter, value: Abstract) -> list[Value]:
    """Return every IR value inside an abstract value, through containers and objects, each object once."""
    found: list[Value] = []
    _gather(it, value, set(), found)
    return found


def _gather(it: Interpreter, value: Abstract, seen: set[int], found: list[Value]) -> None:
    parts: Iterable[Abstract] = ()
    match value:
        case Leaf():
            found.append(value.value)
        case Const():
            pass
        case TupleValue() | Record():
            parts = value.items
        case Sequence():
            parts = (value.item,)
        case Ref():
            if value.id not in seen:
                seen.add(value.id)
                _gather_box(it, value, seen, found)
        case BoundMethod() | Attribute():
            parts = (value.receiver,)
        case PartialValue():
            parts = (*value.args, *value.kwargs.values())
        case Transformed():
            parts = (value.function,)
        case Range():
            parts = (value.start, value.stop, value.step)
    for part in parts:
        _gather(it, part, seen, found)


def _gather_box(it: Interpreter, ref: Ref, seen: set[int], found: list[Value]) -> None:
    match it.heap[ref]:
        case ListBox(items=items):
            for item in items:
                _gather(it, item, seen, found)
        case DictBox(entries=entries, rest=rest):
            for item in entries.values():
                _gather(it, item, seen, found)
            if rest is not None:
                found.append(rest)
        case ObjectBox(attrs=attrs, value=value):
            if value is not None:
                found.append(value)
            for item in attrs.values():
                _gather(it, item, seen, found)
        case OpaqueBox(value=value):
            found.append(value)


def rebuild(
    value: Abstract, leaf: LeafMap, it: Interpreter, *, number: NumberMap | None = None, data: bool = False
) -> Abstract:
    """Return the same structure with every leaf replaced, by `number` also constants that JAX takes for leaves.

    Containers in the heap are copied. With `data`, fields that a class makes part of its structure are left alone.
    """
    match value:
        case Leaf():
            return leaf(value)
        case Const(value=int() | float() | complex()) if number is not None:
            return number(value)
        case Attribute() if number is not None:
            # What JAX is given as a leaf is data, and no method.
            return leaf(it.load_attribute(value, NOWHERE))
        case TupleValue():
            parts = tuple([rebuild(item, leaf, it, number=number, data=data) for item in value.items])
            return TupleValue(parts, value.made, value.keys)
        case Record():
            parts = tuple([rebuild(item, leaf, it, number=number, data=data) for item in value.items])
            return replace(value, items=parts)
        case Sequence():
            return replace(value, item=rebuild(value.item, leaf, it, number=number, data=data))
        case Ref():
            return _rebuild_box(value, leaf, it, number=number, data=data)
        case _:
            return value


def _rebuild_box(ref: Ref, leaf: LeafMap, it: Interpreter, *, number: NumberMap | None, data: bool) -> Abstract:
    # An object may hold itself; inside itself it stays the one it was.
    if ref.id in it.rebuilding:
        return ref
    it.rebuilding.add(ref.id)
    try:
        return it.heap.new(_rebuilt(it.heap[ref], leaf, it, number=number, data=data))
    finally:
        it.rebuilding.discard(ref.id)


def _rebuilt(box: Box, leaf: LeafMap, it: Interpreter, *, number: NumberMap | None, data: bool) -> Box:
    def whole(value: Value) -> Value:
        return materialise(it, leaf(Leaf(value)), value.span)

    match box:
        case ListBox(items=items, kind=kind):
            parts = tuple([rebuild(item, leaf, it, number=number, data=data) for item in items])
            return ListBox(parts, kind, made=box.made, keys=box.keys)
        case DictBox(entries=entries, rest=rest):
            inside = {key: rebuild(item, leaf, it, number=number, data=data) for key, item in entries.items()}
            return DictBox(inside, None if rest is None else whole(rest), box.made)
        case ObjectBox(cls=cls, attrs=attrs, value=value):
            roles = {key: role(cls, key) for key in attrs} if number is not None or data else dict.fromkeys(attrs, "")
            inside = {
                key: item
                if data and roles[key] == "structure"
                else rebuild(item, leaf, it, number=number if roles[key] == "data" else None, data=data)
                for key, item in attrs.items()
            }
            return ObjectBox(cls, inside, None if value is None else whole(value), box.changed, box.made)
        case OpaqueBox(value=value, kind=kind):
            return OpaqueBox(whole(value), kind)


def materialise(it: Interpreter, value: Abstract, span: Span) -> Value:
    """Return an abstract value as one IR value, emitting a constant or a container where needed."""
    match value:
        case Leaf():
            return value.value
        case Const():
            return it.emit("py.const", span, attrs={"value": value.value}).result
        case Attribute():
            return it.load_attribute(value, span).value
        case Ref() if isinstance(box := it.heap[value], OpaqueBox):
            return box.value
        case Ref() if isinstance(box := it.heap[value], ObjectBox) and box.value is not None and not box.changed:
            return box.value
        case _ if _is_row(it, value) and leaves(it, value):
            items = {"items": argument(it, value, span)}
            return it.emit("py.container", span, items, {"kind": kind_of(it, value)}).result
        case _:
            operands = tuple(dict.fromkeys(leaves(it, value)))
            return it.emit("py.container", span, attrs={"kind": kind_of(it, value)}, operands=operands).result


def _is_row(it: Interpreter, value: Abstract, depth: int = 0) -> bool:
    """Whether something is a list or tuple of arrays and numbers, or of such rows: what JAX makes an array of."""
    box = it.heap[value] if isinstance(value, Ref) else value
    if depth < _DEEPEST_ROW and ((isinstance(box, ListBox) and box.kind == "list") or isinstance(box, TupleValue)):
        return all(_is_row(it, item, depth + 1) for item in box.items)
    number = isinstance(value, Const) and isinstance(value.value, int | float)
    return depth > 0 and (number or isinstance(value, Leaf))


def kind_of(it: Interpreter, value: Abstract) -> str:
    """Name the kind of a structured value for people."""
    match value:
        case Ref():
            box = it.heap[value]
            match box:
                case ListBox(kind=kind) | OpaqueBox(kind=kind):
                    return kind
                case DictBox():
                    return "dict"
                case ObjectBox(cls=cls):
                    return cls.name
        case FunctionValue(name=name):
            return f"function {name}"
        case Library(name=name):
            return name
        case Record(cls=cls):
            return cls.name
        case TupleValue(keys=keys) if keys:
            return "view"
    return type(value).__name__.removesuffix("Value").lower()


def argument(it: Interpreter, value: Abstract, span: Span, depth: int = 0) -> Argument:
    """Return an abstract value as an argument of an op: a value, a constant or a structure of these."""
    match value:
        case Leaf():
            return value.value
        case Const(value=constant) if constant is not Ellipsis:
            return constant  # type: ignore[return-value]
        case Const():
            return Symbol("...")
        case Library(name=name):
            return Symbol(name)
        case Slice():
            parts = {"start": value.start, "stop": value.stop, "step": value.step}
            return {name: argument(it, part, span, depth + 1) for name, part in parts.items()}
        case TupleValue() | Record() if depth < 6:
            return tuple([argument(it, item, span, depth + 1) for item in value.items])
        case Ref() if depth < 6:
            return _box_argument(it, value, span, depth)
        case FunctionValue(name=name):
            return Symbol(name)
        case _:
            return materialise(it, value, span)


def is_data(value: Abstract) -> bool:
    """Whether something is an array or a number, or a tuple of these; switches are set from anywhere."""
    if isinstance(value, TupleValue):
        return all(map(is_data, value.items))
    number = isinstance(value, Const) and isinstance(value.value, int | float) and not isinstance(value.value, bool)
    return number or isinstance(value, Leaf)


def in_a_row(it: Interpreter, runs: Iterable[Argument], span: Span, kind: str = "tuple") -> Leaf:
    """Return `(a, *some, b)`, which is `(a,)`, what some hold and `(b,)` one behind the other, as one value."""
    first, *rest = runs
    made: Argument = first
    for run in rest or ((),):
        made = it.emit("py.container", span, {"x": made, "y": run}, {"kind": kind}).result
    assert isinstance(made, Value)
    return Leaf(made, TUPLE if kind == "tuple" else "")


def _box_argument(it: Interpreter, ref: Ref, span: Span, depth: int) -> Argument:
    match it.heap[ref]:
        case ListBox(items=items, kind=kind) if kind != "set":
            return tuple([argument(it, item, span, depth + 1) for item in items])
        case DictBox(entries=entries, rest=None):
            return {str(key): argument(it, item, span, depth + 1) for key, item in entries.items()}
        case _:
            return materialise(it, ref, span)


def merge(values: Seq[Abstract], column: Callable[[Seq[Abstract]], Leaf], it: Interpreter) -> Abstract:
    """Merge what several paths left in one variable: equal parts stay, the others become one new leaf each.

    `column` is given one value for each path and makes the leaf that stands for whichever path was taken.
    """
    first = values[0]
    if all(same(first, value) for value in values[1:]):
        return first
    if isinstance(first, TupleValue) and all(
        isinstance(value, TupleValue) and len(value.items) == len(first.items) for value in values
    ):
        items = zip(*(value.items for value in values if isinstance(value, TupleValue)), strict=True)
        return TupleValue(tuple([merge(parts, column, it) for parts in items]))
    if isinstance(first, Record) and all(isinstance(value, Record) and value.cls is first.cls for value in values):
        items = zip(*(value.items for value in values if isinstance(value, Record)), strict=True)
        return Record(first.cls, tuple([merge(parts, column, it) for parts in items]))
    if isinstance(first, Ref) and all(isinstance(value, Ref) for value in values):
        boxes = [it.heap[value] for value in values if isinstance(value, Ref)]
        merged = merge_boxes(boxes, column, it)
        kinds = {box.kind if isinstance(box, ListBox | OpaqueBox) else "" for box in boxes}
        if merged is None and kinds in ({"list"}, {"deque"}):
            merged = OpaqueBox(column(values).value, *kinds)
        either = tuple([value for value in values if isinstance(value, Ref)])
        return column(values) if merged is None else it.heap.new(merged, either)
    return column(values)


def common_class(values: Seq[Abstract]) -> str:
    """Name what all of some values are, where that is known: a class of a library, text, or functions."""
    classes = set(map(_class_of, values))
    return classes.pop() if len(classes) == 1 else ""


def _class_of(value: Abstract) -> str:
    if isinstance(value, Const) and isinstance(value.value, str):
        return "builtins.str"
    if is_function(value):
        return "builtins.function"
    return value.cls if isinstance(value, Leaf) else ""


def is_function(item: Abstract) -> bool:
    """Whether a value is surely a function, which is no leaf for JAX."""
    if isinstance(item, FunctionValue | BoundMethod | Transformed):
        return True
    row = lookup(item.name) if isinstance(item, Library) else None
    return row is not None and row.op.startswith("array.")


def options(it: Interpreter, values: Seq[Abstract]) -> tuple[Abstract, ...]:
    """Return the functions, objects or None that one of several values is; nothing where it may be anything else."""
    found: list[Abstract] = []
    for value in values:
        parts = value.options if isinstance(value, Leaf) else (value,)
        if not parts or not all(_is_option(it, part) for part in parts):
            return ()
        found += [part for part in parts if not any(same(part, one) for one in found)]
    return tuple(found) if len(found) > 1 else ()


def _is_option(it: Interpreter, value: Abstract) -> bool:
    match value:
        case Ref():
            return isinstance(it.heap[value], ObjectBox)
        case BoundMethod(receiver=Ref()) | FunctionValue() | ClassValue():
            return True
        case BoundMethod() | PartialValue() | Transformed():
            # What it holds would have to follow it across the borders of regions.
            return not any(leaves(it, value))
        case Const(value=constant):
            return constant is None
        case Library(name=name):
            return lookup(name) is not None
        case _:
            return False


def merge_boxes(boxes: Seq[Box], column: Callable[[Seq[Abstract]], Leaf], it: Interpreter) -> Box | None:
    """Merge boxes of one shape; None when their shapes differ."""
    first = boxes[0]
    if all(box is first for box in boxes):
        return first
    if isinstance(first, ListBox) and all(isinstance(b, ListBox) and len(b.items) == len(first.items) for b in boxes):
        items = zip(*(box.items for box in boxes if isinstance(box, ListBox)), strict=True)
        return ListBox(tuple([merge(parts, column, it) for parts in items]), first.kind)
    if isinstance(first, DictBox) and all(
        isinstance(box, DictBox) and box.entries.keys() == first.entries.keys() and box.rest is first.rest
        for box in boxes
    ):
        dicts = [box.entries for box in boxes if isinstance(box, DictBox)]
        return DictBox({key: merge([d[key] for d in dicts], column, it) for key in first.entries}, first.rest)
    if isinstance(first, ObjectBox) and all(isinstance(box, ObjectBox) and box.cls is first.cls for box in boxes):
        return _merged_objects([box for box in boxes if isinstance(box, ObjectBox)], column, it)
    return None


def _merged_objects(boxes: Seq[ObjectBox], column: Callable[[Seq[Abstract]], Leaf], it: Interpreter) -> ObjectBox:
    """Merge instances of one class; what one of them has not shown yet is read from it."""
    first = boxes[0]
    keys = dict.fromkeys(key for box in boxes for key in box.attrs)
    known = [key for key in keys if all(key in box.attrs or box.value is not None for box in boxes)]
    attrs = {key: merge([_attribute(it, box, key) for box in boxes], column, it) for key in known}
    values = [box.value for box in boxes if box.value is not None]
    value: Value | None = None
    if len(values) == len(boxes):
        value = values[0] if len(set(values)) == 1 else column([Leaf(one) for one in values]).value
    return ObjectBox(first.cls, attrs, value, changed=any(box.changed for box in boxes))


def _attribute(it: Interpreter, box: ObjectBox, key: str) -> Abstract:
    """Return an attribute of an object, or the reading of it from the object that it is a copy of."""
    return box.attrs[key] if key in box.attrs else Attribute(it.heap.new(ObjectBox(box.cls, {}, box.value)), key)


def same(left: Abstract, right: Abstract) -> bool:
    """Whether two abstract values are surely the same object or constant."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, Const) and isinstance(right, Const):
        return _kind(left.value) is _kind(right.value) and left.value == right.value
    if isinstance(left, Leaf) and isinstance(right, Leaf):
        return left.value is right.value
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return len(left.items) == len(right.items) and all(map(same, left.items, right.items))
    if isinstance(left, Record) and isinstance(right, Record):
        return left.cls is right.cls and all(map(same, left.items, right.items))
    if isinstance(left, FunctionValue) and isinstance(right, FunctionValue):
        return left.node is right.node and left.frame is right.frame
    return left == right


def _kind(constant: object) -> type:
    return int if isinstance(constant, Size) else type(constant)
