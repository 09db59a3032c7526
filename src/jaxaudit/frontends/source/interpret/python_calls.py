"""Functions of Python itself that build or take apart structure the interpreter keeps."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce

from jaxaudit.frontends.source.classes import definitions as classes
from jaxaudit.frontends.source.classes.members import find_in_class
from jaxaudit.frontends.source.interpret import asked, attributes, expressions, unrolled
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.notes import bindings
from jaxaudit.frontends.source.notes.orders import keys_of, note_paired
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
)
from jaxaudit.frontends.source.values.elements import element
from jaxaudit.frontends.source.values.folding import truth
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import (
    NONE,
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
    Zip,
)
from jaxaudit.frontends.source.values.structure import materialise, rebuild
from jaxaudit.frontends.source.values.type_tests import (
    has_attribute,
    is_callable,
    is_dataclass,
    is_instance,
    is_scalar,
    type_of,
)
from jaxaudit.ir import Value
from jaxaudit.ir.record import replace
from jaxaudit.libraries.classes import FIELD_MAKERS
from jaxaudit.spans import Span

Handler = Callable[["Interpreter", Arguments, Span], Abstract | None]
"""Gives the result of a call, or None where the call is left to the tables."""


def _len(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if len(given.positional) != 1:
        return None
    value = given.positional[0]
    items = known_items(it, value)
    if items is not None:
        return Const(len(items))
    if isinstance(value, Const) and isinstance(value.value, str | bytes):
        return Const(len(value.value))
    attrs = {"function": "len"}
    return Leaf(it.emit("array.shape", span, {"a": materialise(it, value, span)}, attrs).result)


def _range(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    parts = given.positional
    if len(parts) == 1:
        return Range(Const(0), parts[0], Const(1))
    if len(parts) in (2, 3):
        return Range(parts[0], parts[1], parts[2] if len(parts) == 3 else Const(1))
    return None


def _zip(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if given.star is not None:
        return None
    note_paired(it, given.positional, span)
    columns = [known_items(it, part) for part in given.positional]
    if columns and all(column is not None and len(column) <= 16 for column in columns):
        known = [column for column in columns if column is not None]
        return TupleValue(tuple(TupleValue(row) for row in zip(*known, strict=False)))
    return Zip(given.positional)


def _enumerate(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    return Zip(given.positional[:1], counted=True) if given.positional else None


def _tuple(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if not given.positional:
        return TupleValue(())
    value = given.positional[0]
    items = known_items(it, value)
    if items is not None:
        return TupleValue(items, span, keys_of(it, value))
    if isinstance(value, Sequence):
        return Sequence(value.item, kind="tuple", keys=value.keys)
    return Leaf(_rows(it, value, "tuple", span), TUPLE) if _is_one_value(it, value) else None


def _rows(it: Interpreter, value: Abstract, kind: str, span: Span) -> Value:
    """Return the list or tuple of the rows of an array, or of the items of whatever it is, as one value."""
    whole = materialise(it, value, span)
    made = it.emit("py.container", span, {"rows": whole}, {"kind": kind}).result
    made.name = whole.name
    return made


def _is_one_value(it: Interpreter, value: Abstract) -> bool:
    """Whether nothing is known of the items of a value, which then stands for them all."""
    opaque = isinstance(value, Ref) and isinstance(it.heap[value], OpaqueBox)
    return opaque or isinstance(value, Leaf) or (isinstance(value, Attribute) and isinstance(value.receiver, Leaf))


def _list(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if not given.positional:
        return it.heap.new(ListBox(()))
    value = given.positional[0]
    items = known_items(it, value)
    if items is not None:
        return it.heap.new(ListBox(items, made=span, keys=keys_of(it, value)))
    if isinstance(value, Zip):
        return replace(value, listed=True)
    if isinstance(value, Sequence):
        return Sequence(value.item, keys=value.keys)
    if isinstance(value, Range):
        return value
    return it.heap.new(OpaqueBox(_rows(it, value, "list", span))) if _is_one_value(it, value) else None


def _deque(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if given.positional or given.keywords.keys() - {"maxlen"}:
        return None
    if not given.keywords:
        return it.heap.new(ListBox((), "deque"))
    # Of a list that forgets, only that it is one is known.
    return it.heap.new(OpaqueBox(it.emit("py.container", span, attrs={"kind": "deque"}).result, "deque"))


def _set(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    return None if given.all() else it.heap.new(ListBox((), "set"))


def _dict(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if not given.positional and given.stars is None:
        return classes.typed_dict(it, given, span)
    if len(given.positional) == 1 and isinstance(given.positional[0], Ref):
        box = it.heap[given.positional[0]]
        if isinstance(box, DictBox):
            return it.heap.new(DictBox({**box.entries, **given.keywords}, box.rest))
    return _of_pairs(it, given, span)


def _of_pairs(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return the dict of a few pairs with constant keys: `dict(zip(names, keys))`."""
    pairs = [known_items(it, row) for row in unrolled.rows(it, given.positional[0], span)] if given.positional else []
    entries: dict[object, Abstract] = {}
    for pair in pairs:
        if pair is None or len(pair) != 2 or not isinstance(pair[0], Const) or not isinstance(pair[0].value, str | int):
            return None
        entries[pair[0].value] = pair[1]
    return it.heap.new(DictBox({**entries, **given.keywords})) if entries and given.stars is None else None


def _defaultdict(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return a dict that makes what is asked for and not there."""
    made = _dict(it, Arguments(given.positional[1:], given.keywords, given.star, given.stars), span)
    box = it.heap[made] if isinstance(made, Ref) else None
    if not isinstance(box, DictBox):
        return None
    rest = box.rest or it.emit("py.container", span, attrs={"kind": "dict"}, operands=()).result
    return it.heap.new(DictBox(box.entries, rest))


def _reversed(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    value = given.positional[0] if given.positional else NONE
    if isinstance(value, Range) and value.step in (Const(1), Const(-1)):
        return _backwards(it, value, span)
    items = known_items(it, value)
    return None if items is None else TupleValue(items[::-1])


def _backwards(it: Interpreter, count: Range, span: Span) -> Range:
    """Return the same numbers in the other order: `range(stop - 1, start - 1, -1)`."""
    forward = count.step == Const(1)

    def moved(bound: Abstract) -> Abstract:
        if isinstance(bound, Const) and isinstance(bound.value, int):
            return Const(bound.value - 1 if forward else bound.value + 1)
        parts = {"x": materialise(it, bound, span), "y": 1}
        attrs = {"function": "subtract" if forward else "add", "operator": True}
        return Leaf(it.emit("array.map", span, parts, attrs).result)

    return Range(moved(count.stop), moved(count.start), Const(-1 if forward else 1))


def _iter(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return an iterator: an object makes it here, once, however often `next` asks it."""
    value = given.positional[0] if len(given.positional) == 1 else None
    if isinstance(value, Ref) and isinstance(box := it.heap[value], ObjectBox):
        method = find_in_class(box.cls, "__iter__")
        if isinstance(method, FunctionValue):
            return it.call(BoundMethod(method, value), Arguments(), span)
    return value.at(_rows(it, value, "iterator", span)) if isinstance(value, Leaf) else value


def _next(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return an element of an iterator: which one depends on how far it has come."""
    value = given.positional[0] if len(given.positional) == 1 else NONE
    if isinstance(value, Leaf):
        return Leaf(it.emit("py.call_library", span, {"iterator": value.value}, {"function": "builtins.next"}).result)
    if not isinstance(value, Sequence | Zip | Range | TupleValue | Ref):
        return None
    # How far an iterator has come is the state that `next` reads and moves on.
    come = it.emit("py.call_library", span, attrs={"function": "builtins.next"})
    return element(it, value, Leaf(come.result), span)


def _islice(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return some of the items of an iterator, which look like all of them."""
    value = given.positional[0] if given.positional else NONE
    return value if isinstance(value, Sequence | Zip) else None


def _partial(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if not given.positional or given.star is not None or given.stars is not None:
        return None
    return PartialValue(given.positional[0], given.positional[1:], dict(given.keywords), it.builder.newest, span)


def _wraps(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    return Library("functools.wraps.applied")


def _first(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    return given.positional[0] if given.positional else None


def _counted(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return a function whose traces are counted; without one it is a decorator still to come."""
    function = given.get(0, "fn")
    return Library("functools.cache") if function is None or isinstance(function, Const) else function


def _getattr(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if len(given.positional) >= 2 and isinstance(name := given.positional[1], Const) and isinstance(name.value, str):
        has = has_attribute(it, given.positional[0], name.value)
        if len(given.positional) == 2 or has:
            return attributes.read(it, given.positional[0], name.value, span)
        return given.positional[2] if has is False else None
    return None


def _hasattr(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if len(given.positional) == 2 and isinstance(name := given.positional[1], Const) and isinstance(name.value, str):
        has = has_attribute(it, given.positional[0], name.value)
        return None if has is None else Const(has)
    return None


def _setattr(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if len(given.positional) == 3 and isinstance(name := given.positional[1], Const) and isinstance(name.value, str):
        attributes.write(it, given.positional[0], name.value, given.positional[2], span, forced=True)
        return NONE
    if len(given.positional) == 4:
        return _setattr(it, Arguments(given.positional[1:]), span)
    if len(given.positional) == 3 and attributes.write_any(it, given.positional[0], given.positional[2], span):
        return NONE
    return None


def _object_setattr(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    return _setattr(it, Arguments(given.positional), span)


def _convert(name: str, function: Callable[..., object]) -> Handler:
    def convert(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
        if len(given.positional) != 1 or given.keywords:
            return None
        value = given.positional[0]
        if isinstance(value, Const):
            try:
                return Const(function(value.value))
            except (TypeError, ValueError, OverflowError):
                return None
        known = truth(it, value) if name == "bool" else None
        if known is not None:
            return Const(known)
        whole = materialise(it, value, span)
        return Leaf(it.emit("py.to_python", span, {"a": whole}, {"function": name}).result, f"builtins.{name}")

    return convert


def _absolute(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return `abs(x)`, an operator like `-x`."""
    value = given.positional[0] if len(given.positional) == 1 else NONE
    if isinstance(value, Const) and isinstance(value.value, int | float):
        return Const(abs(value.value))
    if not isinstance(value, Leaf):
        return None
    made = it.emit("array.map", span, {"x": value.value}, {"function": "abs", "operator": True}).result
    return Leaf(made, array=value.array)


def _asking(name: str) -> Handler:
    """Note what a function of Python itself asks its arguments for; the tables say what it gives."""

    def ask(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
        asked.ASKING[name](it, given, name, span)

    return ask


def _format(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return `format(x, ".2f")`, which is the text `f"{x:.2f}"`."""
    spec = given.positional[1].value if len(given.positional) == 2 and isinstance(given.positional[1], Const) else ""
    return expressions.note_format(it, f"{{:{spec}}}", given.positional[:1], span)


def _reduce(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return `reduce(f, (a, b, c))`, which is `f(f(a, b), c)`."""
    items = known_items(it, given.positional[1]) if len(given.positional) in (2, 3) else None
    items = items if items is None else (*given.positional[2:], *items)
    if not items or len(items) > 16:
        return None
    return reduce(lambda made, item: it.call(given.positional[0], Arguments((made, item)), span), items)


def _slice(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    parts = given.positional
    if len(parts) == 1:
        return Slice(NONE, parts[0], NONE)
    return Slice(parts[0], parts[1], parts[2] if len(parts) == 3 else NONE) if len(parts) in (2, 3) else None


def _map(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if len(given.positional) != 2:
        return None
    items = known_items(it, given.positional[1])
    if items is None or len(items) > 16:
        return None
    return TupleValue(tuple(it.call(given.positional[0], Arguments((item,)), span) for item in items))


def _namedtuple(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if len(given.positional) != 2 or not isinstance(name := given.positional[0], Const):
        return None
    fields = given.positional[1]
    if isinstance(fields, Const) and isinstance(fields.value, str):
        names = tuple(fields.value.replace(",", " ").split())
    else:
        names = tuple(_field_name(it, item) for item in known_items(it, fields) or ())
    if not names or "" in names:
        return None
    made = ClassValue(None, str(name.value), it.frame, (), {}, "namedtuple", names, {}, frozen=True)
    if "defaults" in given.keywords or given.stars is not None:
        attributes.set_defaults(it, made, given.keywords.get("defaults", NONE), span)
    return made


def _field_name(it: Interpreter, item: Abstract) -> str:
    if isinstance(item, TupleValue) and item.items:
        item = item.items[0]
    return item.value if isinstance(item, Const) and isinstance(item.value, str) else ""


def _replace(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if len(given.positional) != 1 or given.stars is not None:
        return None
    value = given.positional[0]
    if isinstance(value, Ref) and isinstance(box := it.heap[value], ObjectBox) and box.cls.kind == "dataclass":
        bindings.note_replaced(it, value, box.cls, "replace", given, span)
        return classes.updated(it, box, dict(given.keywords), span)
    return None


def _asdict(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    value = given.positional[0] if given.positional else NONE
    if isinstance(value, Ref) and isinstance(box := it.heap[value], ObjectBox) and box.value is None:
        return it.heap.new(DictBox(dict(box.attrs)))
    return None


def _default_of_field(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    if "default" in given.keywords:
        return given.keywords["default"]
    factory = given.keywords.get("default_factory") or given.keywords.get("factory")
    return None if factory is None else it.call(factory, Arguments(), span)


def _property(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Return `property(lambda self: ...)`, as the decorator would."""
    getter = given.get(0, "fget")
    return replace(getter, kind="property") if isinstance(getter, FunctionValue) else None


HANDLERS: dict[str, Handler] = {
    "builtins.len": _len,
    "builtins.range": _range,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.tuple": _tuple,
    "builtins.list": _list,
    "builtins.set": _set,
    "builtins.dict": _dict,
    "collections.deque": _deque,
    "builtins.reversed": _reversed,
    "builtins.iter": _iter,
    "builtins.next": _next,
    "itertools.islice": _islice,
    "itertools.cycle": _islice,
    "builtins.isinstance": is_instance,
    "builtins.callable": is_callable,
    "builtins.type": type_of,
    **dict.fromkeys(("jax.numpy.isscalar", "numpy.isscalar"), is_scalar),
    "builtins.getattr": _getattr,
    "builtins.hasattr": _hasattr,
    "builtins.setattr": _setattr,
    "builtins.object.__setattr__": _object_setattr,
    "builtins.float": _convert("float", float),
    "builtins.int": _convert("int", int),
    "operator.index": _convert("int", operator.index),
    "builtins.bool": _convert("bool", bool),
    "builtins.complex": _convert("complex", complex),
    "builtins.abs": _absolute,
    **{f"builtins.{name}": _asking(name) for name in asked.ASKING if name not in ("max", "min")},
    "builtins.format": _format,
    "functools.reduce": _reduce,
    "builtins.slice": _slice,
    "builtins.property": _property,
    "builtins.map": _map,
    "functools.partial": _partial,
    "jax.tree_util.Partial": _partial,
    "equinox.Partial": _partial,
    "functools.wraps": _wraps,
    "functools.wraps.applied": _first,
    "functools.lru_cache": lambda it, given, span: (
        given.positional[0]
        if given.positional and isinstance(given.positional[0], FunctionValue)
        else Library("functools.cache")
    ),
    "functools.cache": _first,
    **dict.fromkeys(("chex.assert_max_traces", "equinox.debug.assert_max_traces"), _counted),
    "collections.namedtuple": _namedtuple,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _defaultdict,
    "typing.cast": lambda it, given, span: given.positional[1] if len(given.positional) > 1 else None,
    "dataclasses.replace": _replace,
    "dataclasses.is_dataclass": is_dataclass,
    "dataclasses.asdict": _asdict,
    "dataclasses.field": _default_of_field,
    "flax.struct.field": _default_of_field,
    "equinox.field": _default_of_field,
    **dict.fromkeys(FIELD_MAKERS, _default_of_field),
    "copy.copy": lambda it, given, span: _copied(it, given),
    "copy.deepcopy": lambda it, given, span: _copied(it, given, deep=True),
}


def _copied(it: Interpreter, given: Arguments, *, deep: bool = False) -> Abstract | None:
    value = given.positional[0] if given.positional else NONE
    if deep and isinstance(value, Ref | TupleValue | Record):
        return rebuild(value, lambda leaf: leaf, it)
    if isinstance(value, Ref):
        return it.heap.new(it.heap[value])
    return value if isinstance(value, Const | TupleValue | Record | Leaf) else None
