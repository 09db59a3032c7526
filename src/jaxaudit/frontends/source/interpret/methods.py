"""Methods of objects that are not instances of the audited classes: arrays, lists, dicts, records, library objects."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.frontends.source.classes import definitions as classes
from jaxaudit.frontends.source.classes.members import library_bases
from jaxaudit.frontends.source.interpret import (
    applied,
    asked,
    attributes,
    calls,
    derivatives,
    expressions,
    library,
    likeness,
    settings,
    subscripts,
)
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.notes import bindings
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import Attribute, ClassValue, FunctionValue, Super, Transformed
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, Record, Ref, Sequence, TupleValue
from jaxaudit.frontends.source.values.structure import argument, kind_of, leaves, materialise, options
from jaxaudit.ir.ops import REARRANGED
from jaxaudit.ir.record import replace
from jaxaudit.libraries.lookup import ROWS, lookup
from jaxaudit.libraries.rows import Row
from jaxaudit.spans import Span

_CHANGES_LIST = frozenset(
    "append extend insert add update remove discard pop popleft appendleft extendleft rotate clear sort reverse".split()
)
CHANGES = _CHANGES_LIST | {"setdefault", "popitem"}
"""Methods that change the container they belong to."""
_READS_DICT = frozenset("get items keys values copy".split())
_GROWS_LIST = frozenset(("append", "appendleft", "extend"))
_TAKES_KEY = frozenset(("get", "pop", "setdefault"))
_TAKES_ONE = frozenset(("append", "add", "extend", "appendleft"))
"""Methods of lists that take one argument: those that take more are of another class."""
# Methods of Python's containers and of text: whatever the object is, nothing draws random numbers under these names.
_KEYWORDS = frozenset(one.lstrip("*") for name, row in ROWS.items() if name.startswith("array.") for one in row.params)
_KEYWORDS |= frozenset("out shape newshape where method mode fill_value axes precision args ord".split())
"""The keywords of all methods of arrays, of JAX and of NumPy."""
_CONTAINER_METHODS = frozenset(
    """append clear copy count decode difference discard encode endswith extend find format get index insert
    intersection isdigit items join keys lower lstrip partition pop popitem remove replace rpartition rsplit rstrip
    setdefault split splitlines startswith strip title union update upper values""".split()
)
_COPIES = frozenset(("replace", "_replace", "apply_gradients"))
"""Methods by which records and training states of any library give a copy of themselves."""
_DERIVATIVE_RULES = frozenset("defvjp defjvp defjvps def_vmap def_partition defbwd deffwd".split())


def call(it: Interpreter, receiver: Abstract, name: str, given: Arguments, span: Span) -> Abstract:
    """Call `receiver.name(...)`."""
    match receiver:
        case Leaf():
            return _leaf_method(it, receiver, name, given, span)
        case Ref():
            return _box_method(it, receiver, name, given, span)
        case Record():
            return _record_method(it, receiver, name, given, span)
        case ClassValue():
            return _class_method(it, receiver, name, given, span)
        case FunctionValue() | Transformed() if name in _DERIVATIVE_RULES:
            if name in ("defvjp", "defjvp"):
                derivatives.define(it, receiver, given, pushes=name == "defjvp")
            return given.positional[0] if name in ("defjvp", "def_vmap") and given.positional else NONE
        case Attribute() if _is_copy(name, given):
            return _leaf_method(it, it.load_attribute(receiver, span), name, given, span)
        case Attribute() if name == "update" and len(given.positional) > 1:
            # An optimizer's `update` is given more than a dict's. Which fields of a state it reads matters.
            given = replace(given, positional=tuple([_read(it, value, span) for value in given.positional]))
            return _leaf_method(it, it.load_attribute(receiver, span), name, given, span)
        case Attribute() if _is_of_array(name, given):
            return _leaf_method(it, it.load_attribute(receiver, span), name, given, span)
        case Super():
            return _super_method(it, receiver, name, given, span)
        case Sequence() | TupleValue() | Const():
            return _plain_method(it, receiver, name, given, span)
        case _:
            return _unknown(it, receiver, name, given, span)


def _is_of_array(name: str, given: Arguments) -> bool:
    """Whether an object that has this method is an array: it is rearranged, converted, or reduced along an axis.

    Modules are objects as well, whose functions are given the array first: `xp.reshape(x, 3)`.
    """
    row = lookup(f"array.{name}")
    if row is None or name in _CONTAINER_METHODS or not _KEYWORDS.issuperset(given.keywords):
        return False
    place = row.position("axis") - 1
    axis = given.positional[place] if 0 <= place < len(given.positional) else None
    along = "axis" in given.keywords or (isinstance(axis, Const) and isinstance(axis.value, int))
    if row.op == "array.convert":
        return len(given.positional) == 1
    written = all(isinstance(one, Const | TupleValue) for one in given.positional)
    return written and (row.op in REARRANGED or along)


def _is_copy(name: str, given: Arguments) -> bool:
    return name in _COPIES and bool(given.keywords) and not given.positional


def _read(it: Interpreter, value: Abstract, span: Span) -> Abstract:
    return it.load_attribute(value, span) if isinstance(value, Attribute) else value


def _unknown(it: Interpreter, receiver: Abstract, name: str, given: Arguments, span: Span) -> Leaf:
    reason = f"what .{name}() does is not known"
    return calls.unknown_call(it, receiver, given, reason, span, f".{name}")


def _leaf_method(it: Interpreter, receiver: Leaf, name: str, given: Arguments, span: Span) -> Abstract:
    copies = name in _COPIES and not given.positional and bool(given.keywords or given.stars is not None)
    if receiver.cls and receiver.cls != "builtins.str":
        if copies and lookup(f"{receiver.cls}.{name}") is None:
            return replace(_copy(it, receiver, name, given, span), cls=receiver.cls)
        return library.call_method(it, receiver, receiver.cls, name, given, span)
    row = lookup(f"array.{name}")
    if copies:
        return _copy(it, receiver, name, given, span)
    if row is None and name in _GROWS_LIST and _gives_one(given):
        return _grow(it, receiver, name, given.positional[0], span)
    if row is None and name in _CONTAINER_METHODS:
        attributes.forget(it, receiver.value)
        operands = (receiver.value, *(leaf for value in given.all() for leaf in leaves(it, value)))
        attrs = {"function": f".{name}", **calls.by_position(it, receiver, given)}
        made = it.emit("py.call_library", span, attrs=attrs, operands=tuple(dict.fromkeys(operands))).result
        if name in CHANGES and len(given.positional) < 2:
            # An optimizer's `update` is given more than a dict's, and changes nothing. What has it need not be a dict.
            changed = it.emit("py.container", span, attrs={"kind": "object"}, operands=(receiver.value, made)).result
            subscripts.renew(it, receiver, changed)
        return Leaf(made)
    if row is None or not _KEYWORDS.issuperset(given.keywords):
        # No method of arrays has such a keyword: the receiver is something else.
        return _unknown(it, receiver, name, given, span)
    return library.emit_row(it, row, name, given.prepended(receiver), span)


def _grow(it: Interpreter, receiver: Leaf, name: str, value: Abstract, span: Span) -> Leaf:
    """Note that a list of which nothing but its being there is known gets longer."""
    attributes.forget(it, receiver.value)
    parts = {"list": receiver.value, "value": argument(it, value, span)}
    return Leaf(it.emit("py.append", span, parts, {"method": name}).result)


def _copy(it: Interpreter, receiver: Leaf, name: str, given: Arguments, span: Span) -> Leaf:
    """Interpret a copy of a record of which nothing is known, with some fields replaced."""
    fields = {key: Leaf(materialise(it, value, span)) for key, value in given.keywords.items()}
    rest = leaves(it, given.stars) if given.stars is not None else ()
    operands = (receiver.value, *(one.value for one in fields.values()), *rest)
    attrs: dict[str, object] = {"function": f".{name}"}
    if given.stars is None:
        attrs["named"] = {key: one.value for key, one in fields.items()}
    return Leaf(it.emit("py.call_library", span, attrs=attrs, operands=tuple(dict.fromkeys(operands))).result)


def _box_method(it: Interpreter, receiver: Ref, name: str, given: Arguments, span: Span) -> Abstract:
    box = it.heap[receiver]
    match box:
        case ListBox():
            return _list_method(it, receiver, box, name, given, span)
        case DictBox():
            return _dict_method(it, receiver, box, name, given, span)
        case OpaqueBox():
            return _opaque_method(it, receiver, box, name, given, span)
        case ObjectBox():
            return _object_method(it, receiver, box, name, given, span)


def _list_method(it: Interpreter, ref: Ref, box: ListBox, name: str, given: Arguments, span: Span) -> Abstract:
    if name not in _CHANGES_LIST:
        if name == "copy":
            return it.heap.new(box)
        if name in ("index", "count") and given.positional:
            asked.member(it, given.positional[0], ref, name, span)
        return _unknown(it, ref, name, given, span)
    value = given.positional[0] if given.positional else NONE
    _note_change(it, ref, name, value, span)
    if name in ("append", "add") and len(box.items) < 256:
        it.heap[ref] = ListBox((*box.items, value), box.kind)
        return NONE
    if name == "appendleft" and len(box.items) < 256:
        it.heap[ref] = ListBox((value, *box.items), box.kind)
        return NONE
    if name == "extend" and (items := known_items(it, value)) is not None and len(box.items) + len(items) < 256:
        it.heap[ref] = ListBox((*box.items, *items), box.kind)
        return NONE
    if name == "pop" and box.items and (not given.positional or given.positional[0] == Const(-1)):
        it.heap[ref] = ListBox(box.items[:-1], box.kind)
        return box.items[-1]
    if name == "popleft" and box.items:
        it.heap[ref] = ListBox(box.items[1:], box.kind)
        return box.items[0]
    return _spoil(it, ref, name, given, span)


def _note_change(it: Interpreter, ref: Ref, name: str, value: Abstract, span: Span) -> None:
    attrs = {"method": name, "object": ref.id}
    it.emit("py.append", span, {"value": argument(it, value, span)}, attrs, results=0)


def _gives_one(given: Arguments) -> bool:
    return len(given.positional) == 1 and given.star is None and given.stars is None and not given.keywords


def _spoil(it: Interpreter, ref: Ref, name: str, given: Arguments, span: Span) -> Abstract:
    """Leave a container known as one value only, and give what the method gives."""
    kind = kind_of(it, ref)
    made = _unknown(it, ref, name, given, span)
    operands = (materialise(it, ref, span), made.value)
    it.heap[ref] = OpaqueBox(it.emit("py.container", span, attrs={"kind": kind}, operands=operands).result, kind)
    return made


def _opaque_method(it: Interpreter, ref: Ref, box: OpaqueBox, name: str, given: Arguments, span: Span) -> Abstract:
    if (name not in _CHANGES_LIST and name != "setdefault") or (name in _TAKES_ONE and not _gives_one(given)):
        return _leaf_method(it, Leaf(box.value), name, given, span)
    value = given.positional[0] if given.positional else NONE
    part = argument(it, value, span)
    changed = it.emit("py.append", span, {"list": box.value, "value": part}, {"method": name, "object": ref.id}).result
    it.heap[ref] = OpaqueBox(changed, box.kind)
    if name in ("pop", "popleft", "setdefault"):
        return Leaf(it.emit("py.item", span, {"base": box.value, "index": None}).result)
    return NONE


def _dict_method(it: Interpreter, ref: Ref, box: DictBox, name: str, given: Arguments, span: Span) -> Abstract:
    if name in _TAKES_KEY and given.positional:
        asked.hashed(it, given.positional[0], "dict", span)
    if name == "get" and given.positional and isinstance(key := given.positional[0], Const):
        if key.value in box.entries:
            return box.entries[key.value]
        if box.rest is None:
            return given.positional[1] if len(given.positional) > 1 else NONE
    elif name == "get" and box.rest is None and given.positional:
        missing = given.positional[1] if len(given.positional) > 1 else NONE
        if parts := options(it, (*box.entries.values(), missing)):
            return Leaf(subscripts.item(it, ref, given.positional[0], span).value, options=parts)
    if box.rest is None and name in ("items", "values", "keys"):
        return _view(box, name, span)
    if name == "copy":
        return it.heap.new(box)
    if name == "pop" and given.positional and isinstance(key := given.positional[0], Const):
        if key.value in box.entries:
            it.heap[ref] = DictBox({k: v for k, v in box.entries.items() if k != key.value}, box.rest)
            return box.entries[key.value]
    if name == "update" and box.rest is None and given.star is None and given.stars is None:
        return _dict_update(it, ref, box, given, span)
    if name == "setdefault" and box.rest is None and given.positional and isinstance(key := given.positional[0], Const):
        value = box.entries.get(key.value, given.positional[1] if len(given.positional) > 1 else NONE)
        it.heap[ref] = DictBox({**box.entries, key.value: value})
        _note_entries(it, ref, {key.value: value}, span)
        return value
    return _unknown(it, ref, name, given, span) if name in _READS_DICT else _spoil(it, ref, name, given, span)


def _view(box: DictBox, name: str, span: Span) -> Abstract:
    keys = tuple(box.entries)
    if name == "values":
        return TupleValue(tuple(box.entries.values()), span, keys)
    if name == "keys":
        return TupleValue(tuple(Const(key) for key in box.entries), span, keys)
    return TupleValue(tuple(TupleValue((Const(key), value)) for key, value in box.entries.items()), span, keys)


def _dict_update(it: Interpreter, ref: Ref, box: DictBox, given: Arguments, span: Span) -> Abstract:
    new: dict[object, Abstract] = {}
    for value in given.positional:
        other = it.heap[value] if isinstance(value, Ref) else None
        if not isinstance(other, DictBox) or other.rest is not None:
            return _spoil(it, ref, "update", given, span)
        new.update(other.entries)
    new.update(given.keywords)
    it.heap[ref] = DictBox({**box.entries, **new}, box.rest)
    _note_entries(it, ref, new, span)
    return NONE


def _note_entries(it: Interpreter, ref: Ref, new: Mapping[object, Abstract], span: Span) -> None:
    """Tell of what a method puts into a dict what an assignment to its items tells."""
    for key, value in new.items():
        attrs = {"augmented": False, "kind": "dict", "object": ref.id}
        parts = {"index": argument(it, Const(key), span), "value": argument(it, value, span)}
        it.emit("py.set_item", span, parts, attrs, results=0)


def _record_method(it: Interpreter, receiver: Record, name: str, given: Arguments, span: Span) -> Abstract:
    if name == "_replace" and given.stars is None:
        bindings.note_replaced(it, receiver, receiver.cls, name, given, span)
        held = zip(receiver.cls.fields, receiver.items, strict=True)
        return Record(receiver.cls, tuple(given.keywords.get(field, item) for field, item in held), span)
    if name == "_asdict":
        return it.heap.new(DictBox(dict(zip(receiver.cls.fields, receiver.items, strict=True))))
    return _unknown(it, receiver, name, given, span)


def _object_method(it: Interpreter, ref: Ref, box: ObjectBox, name: str, given: Arguments, span: Span) -> Abstract:
    if name in ("replace", "_replace") and box.cls.kind == "dataclass" and not given.positional and given.stars is None:
        bindings.note_replaced(it, ref, box.cls, name, given, span)
        return classes.updated(it, box, dict(given.keywords), span)
    for base in library_bases(box.cls):
        row = lookup(f"{base}.{name}")
        if row is not None and f"{base}.{name}" in applied.RUNS:
            return applied.run(it, ref, box, f"{base}.{name}", row, given, span)
        if row is not None and f"{base}.{name}" in applied.STARTS:
            return applied.start(it, ref, f"{base}.{name}", row, given, span)
        if row is not None:
            made = library.emit_row(it, row, f"{base}.{name}", given, span, ref)
            return _newer(it, box, row, given, made, span)
    value = box.attrs.get(name)
    if value is not None and not isinstance(value, Attribute):
        return it.call(value, given, span)
    made = settings.method(it, ref, box, name, given, span) if settings.is_namespace(box.cls) else None
    return _unknown(it, ref, name, given, span) if made is None else made


def _newer(it: Interpreter, box: ObjectBox, row: Row, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Return what a method gives: a new version of its object has all fields but those that it renews."""
    like = row.like()
    if like is None or like.param != "self" or not isinstance(made, Leaf) or given.stars is not None:
        return made
    known = {*box.attrs, *box.cls.fields}
    attrs = {**box.attrs, **{key: value for key, value in given.keywords.items() if key in known}}
    if "train_state.step" in row.roles and "params" in attrs:
        attrs["params"] = likeness.leaf_by_leaf(it, attrs["params"], made.value, span)
    return it.heap.new(ObjectBox(box.cls, attrs, made.value))


def _class_method(it: Interpreter, cls: ClassValue, name: str, given: Arguments, span: Span) -> Abstract:
    if cls.kind == "namedtuple" and name == "_make" and given.positional:
        items = known_items(it, given.positional[0])
        if items is not None and len(items) == len(cls.fields):
            return Record(cls, items)
    for base in library_bases(cls):
        row = lookup(f"{base}.{name}")
        if row is not None:
            made = library.emit_row(it, row, f"{base}.{name}", given, span)
            return it.heap.new(ObjectBox(cls, dict(given.keywords), materialise(it, made, span)))
    return _unknown(it, cls, name, given, span)


def _super_method(it: Interpreter, receiver: Super, name: str, given: Arguments, span: Span) -> Abstract:
    if name in ("__init__", "__post_init__", "__init_subclass__", "setup"):
        return NONE
    return _unknown(it, receiver.receiver, name, given, span)


def _plain_method(it: Interpreter, receiver: Abstract, name: str, given: Arguments, span: Span) -> Abstract:
    if isinstance(receiver, Const) and isinstance(receiver.value, str):
        constants = [value.value for value in given.positional if isinstance(value, Const)]
        if name in ("lower", "upper", "strip", "startswith", "endswith", "replace") and len(constants) == len(
            given.all()
        ):
            try:
                return Const(getattr(receiver.value, name)(*constants))
            except (TypeError, ValueError):
                pass
        if name == "format":
            return expressions.note_format(it, receiver.value, given.all(), span)
        attrs = {"operator": f"str.{name}"}
        operands = tuple(materialise(it, value, span) for value in given.all())
        return Leaf(it.emit("py.operator", span, attrs=attrs, operands=operands).result, "builtins.str")
    return _unknown(it, receiver, name, given, span)
