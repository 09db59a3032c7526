"""Describes abstract values as trees: what JAX would see of them at the border of a transformation."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxaudit.frontends.source.classes.fields import role, static_fields
from jaxaudit.frontends.source.classes.registration import registration
from jaxaudit.frontends.source.classes.round_trips import round_trip
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
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Record, Ref, Sequence, TupleValue
from jaxaudit.frontends.source.values.structure import leaves
from jaxaudit.ir.trees import Tree
from jaxaudit.spans import NOWHERE, Span, span_of

_DEEPEST = 5
_OTHER = Tree("other")


def trees_of(it: Interpreter, values: Iterable[Abstract]) -> tuple[Tree, ...]:
    """Describe several values."""
    return tuple([tree_of(it, value) for value in values])


def tree_of(it: Interpreter, value: Abstract, depth: int = 0) -> Tree:
    """Describe one value; what lies too deep is left open."""
    if depth > _DEEPEST:
        return _OTHER
    match value:
        case Leaf(value=leaf, cls="builtins.tuple"):
            return Tree("sequence", "tuple", children=(Tree("value"),))
        case Leaf(value=leaf, cls=cls):
            return Tree("value", cls, value=leaf, made=leaf.span)
        case Const(value=str() | bytes(), put=span):
            return Tree("text", made=span)
        case Const(value=constant):
            return _constant(constant)
        case TupleValue(items=items, made=made):
            return Tree("tuple", children=_inner(it, items, depth), made=made)
        case Record(cls=cls, items=items, made=made):
            return Tree("namedtuple", cls.name, cls.fields, _inner(it, items, depth), where=place_of(cls), made=made)
        case Sequence(item=item, lazy=lazy, kind=kind):
            return Tree("sequence", "" if lazy else kind, children=_inner(it, (item,), depth))
        case Ref():
            return _box(it, value, depth)
        case FunctionValue(name=name) | Library(name=name):
            return Tree("callable", name)
        case Transformed() | BoundMethod() | PartialValue():
            return Tree("callable")
        case Attribute():
            return Tree("value")
        case _:
            return _OTHER


def _constant(constant: object) -> Tree:
    if constant is None:
        return Tree("none")
    return Tree("number") if isinstance(constant, bool | int | float | complex) else _OTHER


def _inner(it: Interpreter, items: Iterable[Abstract], depth: int) -> tuple[Tree, ...]:
    return tuple([tree_of(it, item, depth + 1) for item in items])


def _box(it: Interpreter, ref: Ref, depth: int) -> Tree:
    match it.heap[ref]:
        case ListBox(items=items, kind="list", made=made):
            return Tree("list", children=_inner(it, items, depth), made=made)
        case DictBox(entries=entries, rest=None, made=made):
            return Tree("dict", keys=tuple(map(str, entries)), children=_inner(it, entries.values(), depth), made=made)
        case ObjectBox() as box:
            return _object(it, box, depth)
        case OpaqueBox(value=value):
            return Tree("value", value=value)
        case _:
            return _OTHER


def _object(it: Interpreter, box: ObjectBox, depth: int) -> Tree:
    cls, parts, answer = box.cls, box.attrs, registration(it, box.cls)
    # Of an object that JAX cannot take apart all is told.
    wanted = ("data",) if answer == "yes" else ("data", "")
    dynamic = {name: part for name, part in parts.items() if role(cls, name) in wanted}
    kind = "object" if box.value is None else "outside"
    static = static_fields(cls) if answer == "yes" else {}
    fixed = tuple((name, part.value) for name, part in parts.items() if name in static and isinstance(part, Const))
    inside, where = _inner(it, dynamic.values(), depth), place_of(cls)
    return Tree(kind, cls.name, tuple(dynamic), inside, None, answer, where, fixed, box.made)


def place_of(cls: ClassValue) -> Span:
    """Return where a class is defined."""
    return NOWHERE if cls.node is None else span_of(cls.node, cls.frame.module.path)


def note_constant(it: Interpreter, cls: ClassValue, name: str, span: Span) -> None:
    """Note that a number is read of a record whose class only binds it: without an annotation it is no field."""
    member = cls.namespace.get(name)
    real = isinstance(member, Const) and isinstance(member.value, float)
    if not (real or isinstance(member, Leaf)) or name in cls.fields or cls.kind not in ("dataclass", "namedtuple"):
        return
    for one in cls.node.body if cls.node is not None else ():
        if isinstance(one, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in one.targets):
            attrs = {"class": cls.name, "field": name, "where": span_of(one, cls.frame.module.path)}
            it.emit("tree.constant", span, attrs=attrs, results=0)


def note_static(it: Interpreter, cls: ClassValue, made: Abstract, span: Span) -> None:
    """Note the values that a new object keeps in fields which become structure."""
    static = static_fields(cls)
    box = it.heap[made] if static and isinstance(made, Ref) else None
    if not isinstance(box, ObjectBox):
        return
    for name, where in static.items():
        # What an object wraps may well be hashable there.
        held = box.attrs.get(name)
        values = tuple(dict.fromkeys(leaves(it, held))) if isinstance(held, Leaf | TupleValue) else ()
        if values:
            attrs = {"class": cls.name, "field": name, "values": values, "where": where}
            it.emit("tree.static", span, attrs=attrs, results=0)


def note_class(it: Interpreter, cls: ClassValue) -> None:
    """Note how a class is taken apart and put together again, where it says so in a plain way."""
    found = round_trip(cls)
    if found is not None:
        read = {param for param, kept in zip(found.params, found.stored, strict=True) if kept in found.read}
        attrs = {
            "class": cls.name,
            "handed": found.handed,
            "params": found.params,
            "stored": found.stored,
            "given": found.given & read,
            "problem": found.problem,
            "asked": tuple((name, what, it.span(where)) for name, what, where in found.asked),
            "where": place_of(cls),
            "other": None if found.other is None else it.span(found.other),
        }
        it.emit("tree.class", it.span(found.where), attrs=attrs, results=0)


def note_given_back(it: Interpreter, spelling: str, result: Abstract, span: Span) -> None:
    """Note an object that a compiled function gives back, or that is in a tuple it gives back."""
    for item in result.items if isinstance(result, TupleValue) else (result,):
        if isinstance(item, Ref) and isinstance(it.heap[item], ObjectBox):
            attrs = {"spelling": spelling, "tree": tree_of(it, item)}
            it.emit("py.given_back", span, attrs=attrs, results=0)
