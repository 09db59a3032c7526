"""Attributes: reading and writing `object.name`."""

from __future__ import annotations

import math

from jaxaudit.frontends.source.classes.fields import role
from jaxaudit.frontends.source.classes.members import (
    ancestry,
    find_in_class,
    has_unknown_base,
    is_immutable,
    is_remade,
    library_bases,
    setter_of,
)
from jaxaudit.frontends.source.classes.round_trips import left_out
from jaxaudit.frontends.source.interpret import choices, settings
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.names.members import is_assigned, is_replaced
from jaxaudit.frontends.source.notes.axis_names import declare_field
from jaxaudit.frontends.source.values import trees
from jaxaudit.frontends.source.values.annotations import annotated_value, field_annotation
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    ModuleValue,
    PartialValue,
    Super,
    Transformed,
)
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Record, Ref, TupleValue, named
from jaxaudit.frontends.source.values.structure import argument, is_data, leaves, materialise
from jaxaudit.frontends.source.values.type_tests import has_attribute
from jaxaudit.ir import Value
from jaxaudit.ir.ops import ARRAYS
from jaxaudit.ir.record import replace
from jaxaudit.libraries.classes import bases
from jaxaudit.libraries.lookup import ROWS, lookup
from jaxaudit.libraries.methods import ATTRIBUTES
from jaxaudit.libraries.results import Made
from jaxaudit.spans import Span

NUMBERS = {
    f"{module}.{name}": Const(value)
    for module in ("jax.numpy", "numpy", "math")
    for name, value in {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}.items()
} | {"jax.numpy.newaxis": Const(None), "numpy.newaxis": Const(None)}
"""Constants of libraries."""

_NUMBERED = frozenset(("enum.IntEnum", "enum.IntFlag"))
"""Classes whose members are numbers."""
_AROUND = frozenset(row.cls for row in ROWS.values() if isinstance(row.result, Made) and row.result.inside is not None)
"""The classes of objects that are as good as the array they are around."""
_CLASSES = {"flax.training.train_state.TrainState.tx": "optax.GradientTransformationExtraArgs"}
"""The classes of what attributes of library objects hold."""


_OF_ARRAYS = ("shape", "ndim")
"""Attributes that nothing has but arrays, and what is described by their shape."""


def read(it: Interpreter, base: Abstract, name: str, span: Span) -> Abstract:
    """Return `base.name`."""
    match base:
        case Library():
            qualified = f"{base.name}.{name}"
            return NUMBERS.get(qualified) or settings.flag(it, qualified, span) or Library(qualified)
        case ModuleValue():
            return _module_attribute(it, base, name, span)
        case Ref() if isinstance(box := it.heap[base], ObjectBox):
            return _object_attribute(it, base, box, name, span)
        case Record():
            return _record_attribute(it, base, name, span)
        case ClassValue():
            return _class_attribute(it, base, name, span)
        case Attribute(receiver=ClassValue(kind="enum") as cls, name=member) if name in ("name", "value"):
            value = find_in_class(cls, member)
            return Const(member) if name == "name" else Attribute(base, name) if value is None else value
        case Attribute(receiver=ClassValue(kind="enum") as cls) if isinstance(
            method := find_in_class(cls, name), FunctionValue
        ):
            return _method(it, method, base, span)
        case Leaf(options=options) if options:
            return choices.each(it, base, lambda one: read(it, one, name, span), span)
        case Leaf():
            return _leaf_attribute(it, base, name, span)
        case Super():
            return _super_attribute(it, base, name, span)
        case Attribute(receiver=Leaf() | Attribute()) if name in _OF_ARRAYS:
            # What has a shape is data that was read, and no method.
            return _leaf_attribute(it, load(it, base, span), name, span)
        case _:
            # What is missing is asked for here, whoever gets it later.
            missing = has_attribute(it, base, name) is False
            return it.load_attribute(Attribute(base, name), span) if missing else Attribute(base, name)


def _module_attribute(it: Interpreter, base: ModuleValue, name: str, span: Span) -> Abstract:
    module = base.module
    found = module.member(name)
    if isinstance(found, Leaf):
        return _global_read(it, f"{module.name}.{name}", found, span)
    if found is not None:
        return found
    inner = it.project.find(f"{module.name}.{name}", module) if module.package else None
    if inner is not None:
        return it.module_value(inner)
    return it.unknown(f"{module.name} has no {name} in what was read", span, name)


def _global_read(it: Interpreter, qualified: str, found: Leaf, span: Span) -> Abstract:
    reads = it.frame.global_reads
    if qualified not in reads:
        value = it.emit("py.global", span, attrs={"name": qualified, "value": found.value}).result
        value.name = qualified.rpartition(".")[2]
        reads[qualified] = found.at(value)
    return reads[qualified]


def _object_attribute(it: Interpreter, base: Ref, box: ObjectBox, name: str, span: Span) -> Abstract:
    if name in box.attrs:
        note_captured(it, base, "attr", name, span, box.attrs[name])
        return box.attrs[name]
    if settings.is_namespace(box.cls) and box.value is None:
        return Attribute(base, name)
    trees.note_constant(it, box.cls, name, span)
    member = find_in_class(box.cls, name)
    hides = box.value is not None and (_is_hidden(box.cls, name) or (box.derived and _is_overridden(it, box.cls, name)))
    hides = hides or (name in box.cls.fields and box.cls.kind == "plain" and is_remade(box.cls))
    if isinstance(member, FunctionValue | Transformed) and hides:
        found = _read_through(it, base, box, name, span)
        if isinstance(found, Leaf):
            it.replaceable[found.value] = name
        return found
    # The default of a field is set on the instance, where Python binds nothing; a property is none.
    default = name in box.cls.fields and box.cls.kind != "plain" and "property" not in getattr(member, "kind", "")
    if default and box.value is not None and isinstance(member, FunctionValue | Library | ClassValue):
        # Whoever made it may have given it another function.
        return _read_through(it, base, box, name, span)
    if isinstance(member, FunctionValue):
        return member if default else _method(it, member, base, span)
    if isinstance(member, Transformed):
        return member if member.static else PartialValue(member, (base,), {})
    # A class-level value is the instance's only where nothing else could have set it.
    if member is not None and name not in box.cls.fields and box.value is None:
        if not isinstance(member, Leaf):
            return member
        if member.array and not is_replaced(box.cls, name):
            return _global_read(it, f"{box.cls.name}.{name}", member, span)
    if isinstance(member, ClassValue | Library):
        return member
    if member is None and any(lookup(f"{owner}.{name}") is not None for owner in library_bases(box.cls)):
        return Attribute(base, name)
    if member is None and name in ("replace", "_replace") and box.cls.kind == "dataclass":
        return Attribute(base, name)
    if member is None and box.value in it.outside and (left := it.stores.function(box.cls, name, base)) is not None:
        return left
    if member is None and (hook := _hook(box, name)) is not None:
        return it.call(BoundMethod(hook, base), Arguments((Const(name),)), span)
    if member is None and _set_up(it, base, box, span):
        return _object_attribute(it, base, it.heap[base], name, span)  # type: ignore[arg-type]
    return _read_through(it, base, box, name, span)


def _hook(box: ObjectBox, name: str) -> FunctionValue | None:
    """Return what Python calls for an attribute that an object surely lacks: a wrapper asks what it wraps."""
    hook = find_in_class(box.cls, "__getattr__")
    strange = has_unknown_base(box.cls) or not bases("neutral").issuperset(library_bases(box.cls))
    lacks = box.value is None and not strange and not name.startswith("__")
    return hook if lacks and isinstance(hook, FunctionValue) else None


def _is_hidden(cls: ClassValue, name: str) -> bool:
    """Whether objects may have something of their own in the place of a method.

    A method of theirs puts it there, a library's base makes fields of what is annotated, or they are classes.
    """
    libraries = {*library_bases(cls)}
    strange = has_unknown_base(cls) or not bases("neutral").issuperset(libraries)
    annotated = name in cls.fields and cls.kind == "plain" and strange
    return annotated or "builtins.type" in libraries or is_replaced(cls, name)


def _is_overridden(it: Interpreter, cls: ClassValue, name: str) -> bool:
    """Whether a class that is derived from this one has another member of that name."""
    return any(name in one.namespace and one is not cls for one in it.heirs.get(cls, ()))


def _set_up(it: Interpreter, base: Ref, box: ObjectBox, span: Span) -> bool:
    """Run the `setup` of a linen module before the first of its layers is read; False where that is done or none."""
    setup = find_in_class(box.cls, "setup")
    if not isinstance(setup, FunctionValue) or base.id in it.set_up or setup.node in it.active:
        return False
    it.set_up.add(base.id)
    if "flax.linen.Module" not in library_bases(box.cls):
        return False
    it.call(BoundMethod(setup, base), Arguments(), span)
    return True


def note_captured(it: Interpreter, ref: Ref, kind: str, name: object, span: Span, value: Abstract) -> None:
    """Write down that compiled code reads an object that is older than itself, unless it reads what it has stored."""
    if it.compiled and ref.id <= it.compiled[-1][1]:
        if not (isinstance(value, Leaf) and kind == "attr" and value.value.id > it.compiled[-1][0]):
            it.note_read(kind, ref.id, name, span, value)


def _read_through(it: Interpreter, base: Ref, box: ObjectBox, name: str, span: Span) -> Abstract:
    from_class = find_in_class(box.cls, name)
    if box.value is None and from_class is None and not box.cls.fields and not box.attrs:
        return Attribute(base, name)
    attrs = {"name": name, "role": role(box.cls, name)}
    # What a changed copy has not replaced is that of the object it is a copy of.
    whole = materialise(it, base, span) if box.value is None else box.value
    value = it.emit("py.attr", span, {"base": whole}, attrs).result
    value.name = name
    said = field_annotation(box.cls, name)
    found = Leaf(value) if said is None else annotated_value(it, said[0], value, said[1])
    if said is not None:
        declare_field(it, box.cls, said[0], value, said[1])
    if box.value in it.outside:
        it.outside.add(value)
        it.stores.reads(box.cls, name, value, it.builder.root)
        if from_class is not None and is_data(from_class) and not _is_set(it, box.cls, name):
            it.stores.shared[value] = argument(it, from_class, span)
    note_captured(it, base, "attr", name, span, found)
    if box.value is not None:
        # Two reads of one attribute are one value until somebody writes to the object.
        it.heap[base] = replace(box, attrs={**box.attrs, name: found})
    return found


def _is_set(it: Interpreter, cls: ClassValue, name: str) -> bool:
    """Whether objects may have an attribute of their own in the place of what their class has."""
    heirs = [one for one in it.heirs.get(cls, ()) if one is not cls]
    derived = any(name in one.namespace or is_replaced(one, name) for one in heirs)
    own = name in cls.fields or is_replaced(cls, name) or name in it.stores.stored
    return own or derived or is_assigned(name, (one.tree for one in it.project.modules.values()))


def _method(it: Interpreter, member: FunctionValue, receiver: Abstract, span: Span) -> Abstract:
    if member.kind == "static" or member.name == "__new__":
        return member
    if member.kind == "class":
        return BoundMethod(member, _class_of(it, receiver) or member.owner or receiver)
    if member.kind == "cached property" and it.compiled:
        # Whoever read it first computed it, most likely before anything was traced.
        return it.unknown("a cached property may have been computed before", span, member.name)
    if member.kind in ("property", "cached property"):
        return it.call(BoundMethod(member, receiver), Arguments(), span)
    return BoundMethod(member, receiver)


def _class_of(it: Interpreter, receiver: Abstract) -> ClassValue | None:
    """Return the class that a class method is given: that of the object it is read from."""
    box = it.heap[receiver] if isinstance(receiver, Ref) else receiver
    return box if isinstance(box, ClassValue) else box.cls if isinstance(box, ObjectBox | Record) else None


def _super_attribute(it: Interpreter, base: Super, name: str, span: Span) -> Abstract:
    for cls in ancestry(base.owner)[1:]:
        member = cls.namespace.get(name)
        if isinstance(member, FunctionValue):
            found = _method(it, member, base.receiver, span)
            return replace(found, behind=base.owner) if isinstance(found, BoundMethod) else found
        if isinstance(member, Transformed):
            return member if member.static else PartialValue(member, (base.receiver,), {})
        if member is not None:
            return member
    return Attribute(base, name)


def _record_attribute(it: Interpreter, base: Record, name: str, span: Span) -> Abstract:
    field = base.field(name)
    if field is not None:
        return field
    if name == "_fields":
        return TupleValue(tuple(Const(field_name) for field_name in base.cls.fields))
    trees.note_constant(it, base.cls, name, span)
    member = find_in_class(base.cls, name)
    if isinstance(member, FunctionValue):
        return _method(it, member, base, span)
    if isinstance(member, Transformed) and not member.static:
        return PartialValue(member, (base,), {})
    return Attribute(base, name) if member is None else member


def _class_attribute(it: Interpreter, base: ClassValue, name: str, span: Span) -> Abstract:
    member = find_in_class(base, name)
    if isinstance(member, FunctionValue):
        return BoundMethod(member, base) if member.kind == "class" else member
    if member is not None and (base.kind != "enum" or not _NUMBERED.isdisjoint(library_bases(base))):
        return member
    if name == "_fields":
        return TupleValue(tuple(Const(field_name) for field_name in base.fields))
    return Attribute(base, name)


def _leaf_attribute(it: Interpreter, base: Leaf, name: str, span: Span) -> Abstract:
    qualified = f"array.{name}"
    if qualified in ATTRIBUTES and (not base.cls or base.cls in _AROUND):
        row = lookup(qualified)
        if row is not None and row.op != "array.at":
            made = it.emit(row.op, span, {row.params[0]: base.value}, {"function": name}).result
            return Leaf(made, array=row.op in ARRAYS)
    cls = _CLASSES.get(f"{base.cls}.{name}", "")
    return Leaf(load(it, Attribute(base, name), span).value, cls) if cls else Attribute(base, name)


def load(it: Interpreter, value: Attribute, span: Span) -> Leaf:
    """Turn a method that is not called after all into an attribute that was read.

    Two reads of one attribute are one value until somebody may have written to the object.
    """
    base = materialise(it, value.receiver, span)
    key = (base, value.name)
    if key not in it.loaded:
        made = it.emit("py.attr", span, {"base": base}, {"name": value.name}).result
        made.name = value.name
        it.remember(key, Leaf(made))
        box = it.heap[value.receiver] if isinstance(value.receiver, Ref) else None
        if base in it.outside and isinstance(box, ObjectBox):
            it.stores.reads(box.cls, value.name, made, it.builder.root)
    if it.compiled and base.id <= it.compiled[-1][0]:
        it.note_read("attr", -base.id, value.name, span, it.loaded[key])
    return it.loaded[key]


def forget(it: Interpreter, value: Value) -> None:
    """Drop what was read from an object that may have changed."""
    if value in it.read_from:
        for key in [key for key in it.loaded if key[0] is value]:
            del it.loaded[key]


def write_any(it: Interpreter, base: Abstract, value: Abstract, span: Span) -> bool:
    """Interpret `setattr(base, name, value)` with a name that is computed: any attribute that holds data may be it."""
    if not isinstance(base, Ref) or not isinstance(box := it.heap[base], ObjectBox):
        return False
    reason = "an attribute is set by a name that is computed"
    attrs: dict[str, Abstract] = {}
    for name, old in box.attrs.items():
        data = isinstance(old, Leaf | Const | TupleValue | Record)
        attrs[name] = it.unknown(reason, span, name) if data else old
    it.heap[base] = replace(box, attrs=attrs)
    told = {"name": "", "augmented": False, "object": base.id, "bases": tuple(library_bases(box.cls))}
    it.emit("py.store_attr", span, {"value": argument(it, value, span)}, told, results=0)
    return True


def write(
    it: Interpreter,
    base: Abstract,
    name: str,
    value: Abstract,
    span: Span,
    *,
    augmented: bool = False,
    forced: bool = False,
) -> None:
    """Interpret `base.name = value`, or what does the same where the class refuses that."""
    attrs: dict[str, object] = {"name": name, "augmented": augmented}
    named(value, name)
    if isinstance(base, Ref) and isinstance(box := it.heap[base], ObjectBox):
        if isinstance(setter := find_in_class(box.cls, setter_of(name)), FunctionValue):
            it.call(BoundMethod(setter, base), Arguments((value,)), span)
            return
        if find_in_class(box.cls, "__setattr__") is not None:
            value = it.unknown("the class has its own way to set attributes", span, name)
        elif base not in it.unfinished and _is_held(box, base, name, value):
            return
        attrs |= {"object": base.id, "bases": tuple(library_bases(box.cls))}
        if not forced and box.value is None and base not in it.unfinished and is_immutable(box.cls):
            attrs |= {"record": box.cls.name, "direct": True, "kind": "frozen"}
        value = settings.stored(it, box.cls, value, span)
        if isinstance(value, Ref):
            attrs["stored_object"] = value.id
        it.heap[base] = replace(box, attrs={**box.attrs, name: value})
        it.stores.store(box.cls, {name: value})
        if base not in it.unfinished and (lost := left_out(box.cls, name)) is not None:
            attrs["lost"] = (box.cls.name, *lost)
            crossing = [one for key, one in box.attrs.items() if role(box.cls, key)]
            attrs["values"] = tuple(leaf for one in crossing for leaf in leaves(it, one))
        arguments = {"value": argument(it, value, span)}
    else:
        if isinstance(base, Record):
            attrs.update(record=base.cls.name, direct=not any(isinstance(one, ClassValue) for one in base.cls.bases))
        if isinstance(base, ClassValue) and name == "__init__":
            # Who makes an object before and who after is not told apart: what it takes is open.
            base.namespace[name] = it.unknown("the class gets it later", span, name)
        if isinstance(base, Attribute) and base.name == "__new__" and name == "__defaults__":
            set_defaults(it, base.receiver, value, span)
        whole = materialise(it, base, span)
        arguments = {"object": whole, "value": argument(it, value, span)}
        it.loaded.pop((whole, name), None)
    it.emit("py.store_attr", span, arguments, attrs, results=0)


def _is_held(box: ObjectBox, base: Ref, name: str, value: Abstract) -> bool:
    """Whether an object gets what it has already: `self.config = cast(Config, self.config)` changes nothing."""
    if isinstance(value, Attribute):
        return value.receiver == base and value.name == name
    return isinstance(value, Leaf | Ref) and box.attrs.get(name) == value


def set_defaults(it: Interpreter, cls: Abstract, value: Abstract, span: Span) -> None:
    """Let the last fields of a named tuple be left out, each for one of some defaults."""
    if not isinstance(cls, ClassValue) or cls.kind != "namedtuple":
        return
    items = known_items(it, value)
    if items is None:
        items = tuple(it.unknown("a default that is not known", span, field) for field in cls.fields)
    places = cls.fields[len(cls.fields) - len(items) :]
    cls.defaults.clear()
    cls.defaults.update(zip(places, items, strict=False))
