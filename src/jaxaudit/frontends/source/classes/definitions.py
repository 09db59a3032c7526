"""Classes of the audited code: defining them and making instances."""

from __future__ import annotations

import ast

from jaxaudit.frontends.source.classes.members import (
    ancestry,
    constructor,
    find_in_class,
    is_remade,
    library_bases,
    makes_constructor,
    parameter_of,
    renames_fields,
)
from jaxaudit.frontends.source.interpret import protocols
from jaxaudit.frontends.source.interpret.decorators import decorator_name
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.notes.bindings import note_record
from jaxaudit.frontends.source.values import trees
from jaxaudit.frontends.source.values.annotations import unquoted
from jaxaudit.frontends.source.values.arguments import OPEN, Arguments, is_command_line, is_numeric
from jaxaudit.frontends.source.values.callables import BoundMethod, ClassValue, FunctionValue, Library, Transformed
from jaxaudit.frontends.source.values.frames import Frame
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Record, Ref, named
from jaxaudit.frontends.source.values.structure import leaves
from jaxaudit.ir import Exit
from jaxaudit.ir.record import replace
from jaxaudit.libraries import classes
from jaxaudit.libraries.lookup import canonical, lookup
from jaxaudit.spans import Span

_FROZEN = classes.decorators("frozen")
_REFUSING = classes.decorators("refuses") | classes.bases("refuses")
_ASSIGNED = classes.decorators("assigned")
_DATACLASS_BASES = classes.bases("init")
_NAMED_TUPLES = classes.bases("namedtuple")
_ENUMS = classes.bases("enum")
_NEUTRAL = classes.bases("neutral")
_STATELESS = classes.bases("stateless")
_FROM_HERE_ON = "KW_ONLY"
"""The annotation behind which all fields of a dataclass are given by name: `_: KW_ONLY`."""


def define(it: Interpreter, node: ast.ClassDef) -> Exit:
    """Interpret a class statement."""
    bases = tuple(_canonical(it.evaluate(base)) for base in node.bases if not isinstance(base, ast.Starred))
    frame = Frame(it.frame.module, it.frame, "class", node.name)
    outer, it.frame = it.frame, frame
    it.execute(node.body)
    made = _made_fields(it, node)
    it.frame = outer
    decorators = tuple(decorator_name(it, it.evaluate(one), one) for one in node.decorator_list)
    kind, frozen = _kind(node, bases, decorators)
    fields = _fields(bases, kind, _own_fields(node, decorators, made))
    defaults = _defaults(frame, bases, fields)
    words = _keyword_only(node, bases)
    cls = ClassValue(node, node.name, frame, bases, frame.env, kind, fields, defaults, frozen, decorators, words)
    for name, member in list(frame.env.items()):
        frame.env[name] = _owned(it, member, cls)
    refuses = next((one for one in (*decorators, *library_bases(cls)) if one in _REFUSING), "")
    anew = _given_word(node, "default_factory", "factory")
    for name in frame.env if kind == "dataclass" else ():
        default = defaults.get(name)
        if isinstance(default, Leaf):
            attrs = {"class": node.name, "field": name, "refuses": refuses, "anew": name in anew}
            it.emit("tree.default", it.span(node), {"value": default.value}, attrs, results=0)
    it.classes.append(cls)
    for base in ancestry(cls):
        it.heirs.setdefault(base, []).append(cls)
    trees.note_class(it, cls)
    it.frame.env[node.name] = cls
    return Exit.FALL


def _owned(it: Interpreter, member: Abstract, cls: ClassValue) -> Abstract:
    """Return a method with the class that it belongs to, under its transformations too."""
    # What a class only assigns is a function of somebody else: the default of a field, mostly.
    if isinstance(member, FunctionValue) and member.owner is None and member.frame is cls.frame:
        owned = replace(member, owner=cls)
        it.defined[member.node] = owned
        return owned
    if isinstance(member, Transformed) and isinstance(member.function, FunctionValue | Transformed):
        return replace(member, function=_owned(it, member.function, cls))
    return member


def _canonical(base: Abstract) -> Abstract:
    return Library(canonical(base.name)) if isinstance(base, Library) else base


def _kind(node: ast.ClassDef, bases: tuple[Abstract, ...], decorators: tuple[str, ...]) -> tuple[str, bool]:
    names = {base.name for base in bases if isinstance(base, Library)}
    inherited = next((base for base in bases if isinstance(base, ClassValue) and base.kind != "plain"), None)
    for name, decorator in zip(decorators, node.decorator_list, strict=True):
        if makes_constructor(name):
            return "dataclass", name in _FROZEN or _says([decorator], "frozen")
    if names & _NAMED_TUPLES:
        return "namedtuple", True
    if names & _DATACLASS_BASES:
        return "dataclass", True
    if names & _ENUMS:
        return "enum", True
    return (inherited.kind, inherited.frozen) if inherited is not None else ("plain", False)


def _says(decorators: list[ast.expr], option: str) -> bool:
    """Whether some decorator is given an option as true."""
    words = [word for one in decorators if isinstance(one, ast.Call) for word in one.keywords if word.arg == option]
    return any(isinstance(word.value, ast.Constant) and word.value.value is True for word in words)


def _fields(bases: tuple[Abstract, ...], kind: str, own: list[str]) -> tuple[str, ...]:
    # A dataclass takes over the fields of dataclasses alone, whatever else its bases declare.
    known = [one for one in bases if isinstance(one, ClassValue) and (kind != "dataclass" or one.kind == kind)]
    return tuple(dict.fromkeys((*(name for base in known for name in base.fields), *own)))


def _own_fields(node: ast.ClassDef, decorators: tuple[str, ...], made: frozenset[str]) -> list[str]:
    """Return the fields that a class itself declares: those with annotations, or those that a call makes."""
    annotated = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    names = {name for one in annotated if _is_of_instances(one.annotation) for name in _targets(one)}
    if not made <= names or (not _ASSIGNED.isdisjoint(decorators) and not _says(node.decorator_list, "auto_attribs")):
        names = set(made)
    return [name for one in node.body for name in _targets(one) if name in names]


def _is_of_instances(annotation: ast.expr) -> bool:
    """Whether an annotation declares a field: not one of the class, nor what heirs have to give in any way."""
    return _outermost(annotation) not in ("ClassVar", "AbstractVar", "AbstractClassVar", _FROM_HERE_ON)


def _outermost(annotation: ast.expr) -> str:
    match unquoted(annotation):
        case ast.Subscript(value=outer):
            return _outermost(outer)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _keyword_only(node: ast.ClassDef, bases: tuple[Abstract, ...]) -> frozenset[str]:
    """Return the fields that a generated constructor takes by name alone, those of its bases among them."""
    found = {name for base in bases if isinstance(base, ClassValue) for name in base.keyword_only}
    by_name = _says(node.decorator_list, "kw_only")
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and _outermost(one.annotation) == _FROM_HERE_ON:
            by_name = True
        found.difference_update(_targets(one))
        if by_name or (isinstance(one, ast.AnnAssign | ast.Assign) and one.value and _says([one.value], "kw_only")):
            found.update(_targets(one))
    return frozenset(found)


def _made_fields(it: Interpreter, node: ast.ClassDef) -> frozenset[str]:
    """Return the fields of a class body that are made by calls: `x = attr.ib()`."""
    made: set[str] = set()
    for one in node.body:
        if isinstance(one, ast.Assign | ast.AnnAssign) and isinstance(one.value, ast.Call):
            maker = it.evaluate(one.value.func) if isinstance(one.value.func, ast.Name | ast.Attribute) else None
            if isinstance(maker, Library) and maker.name in classes.FIELD_MAKERS:
                made.update(_targets(one))
    return frozenset(made)


def _targets(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [one.id for one in targets if isinstance(one, ast.Name)]


def _defaults(frame: Frame, bases: tuple[Abstract, ...], fields: tuple[str, ...]) -> dict[str, Abstract]:
    defaults: dict[str, Abstract] = {}
    for base in bases:
        if isinstance(base, ClassValue):
            defaults.update(base.defaults)
    defaults.update((name, frame.env[name]) for name in fields if name in frame.env)
    return defaults


def construct(it: Interpreter, cls: ClassValue, given: Arguments, span: Span) -> Abstract:
    """Interpret `cls(...)`."""
    made = _constructed(it, cls, given, span)
    if isinstance(made, Ref):
        it.makers[made.id] = it.frame.function
    return made


def _constructed(it: Interpreter, cls: ClassValue, given: Arguments, span: Span) -> Abstract:
    if cls.kind == "namedtuple":
        protocols.note(it, lookup(f"{cls.frame.module.name}.{cls.name}"), given)
        fields = _field_values(it, cls, given, span)
        it.stores.store(cls, fields)
        note_record(it, cls, fields, span)
        return Record(cls, tuple(fields.values()), span)
    init = constructor(cls)
    if isinstance(init, FunctionValue):
        made = it.heap.new(ObjectBox(cls, {}, made=span))
        _set_up(it, init, made, given, span)
        trees.note_static(it, cls, made, span)
        return made
    unknown_rest = given.star is not None or given.stars is not None
    if init is None and cls.kind == "plain" and not unknown_rest and _is_bare(cls):
        count = len(given.positional) + len(given.keywords)
        attrs = {"class": cls.name, "arguments": count, "where": trees.place_of(cls)}
        it.emit("tree.made", span, attrs=attrs, results=0)
    if init is None and cls.kind == "dataclass":
        return _construct_dataclass(it, cls, given, span)
    if cls.kind == "plain" and not given.all() and not _strange_bases(cls):
        return it.heap.new(ObjectBox(cls, {}))
    operands = tuple(dict.fromkeys(leaf for value in given.all() for leaf in leaves(it, value)))
    attrs = {"callee": cls.name, "reason": f"how {cls.name} is constructed is not known"}
    value = it.emit("py.call_unknown", span, attrs=attrs, operands=operands).result
    return Leaf(value) if cls.kind == "enum" else it.heap.new(ObjectBox(cls, {}, value))


def _set_up(it: Interpreter, function: FunctionValue, made: Ref, given: Arguments, span: Span) -> None:
    """Run a function that gives a new object its fields."""
    it.unfinished.append(made)
    it.call(BoundMethod(function, made), given, span)
    it.unfinished.pop()


def _is_bare(cls: ClassValue) -> bool:
    """Whether nothing in sight gives a class a constructor: it is the one of `object`, which takes no arguments."""
    changed = (one.node is None or one.decorators or "__new__" in one.namespace for one in ancestry(cls))
    return (
        not any(changed)
        and not is_remade(cls)
        and not _strange_bases(cls)
        and all(name in _NEUTRAL for name in library_bases(cls))
    )


def _strange_bases(cls: ClassValue) -> bool:
    return any(name not in _STATELESS for name in library_bases(cls)) or any(
        not isinstance(base, ClassValue | Library) for current in ancestry(cls) for base in current.bases
    )


def _construct_dataclass(it: Interpreter, cls: ClassValue, given: Arguments, span: Span) -> Abstract:
    attrs = _field_values(it, cls, given, span)
    it.stores.store(cls, attrs)
    note_record(it, cls, attrs, span)
    made = it.heap.new(ObjectBox(cls, attrs, made=span))
    post = find_in_class(cls, "__attrs_post_init__" if renames_fields(cls) else "__post_init__")
    if isinstance(post, FunctionValue):
        _set_up(it, post, made, Arguments(), span)
    trees.note_static(it, cls, made, span)
    return made


def _field_values(it: Interpreter, cls: ClassValue, given: Arguments, span: Span) -> dict[str, Abstract]:
    values: dict[str, Abstract] = dict(zip(cls.placed, given.positional, strict=False))
    open_ended = given.star is not None or given.stars is not None
    converted = _converted(cls) if renames_fields(cls) else ()
    for name in cls.fields:
        word = parameter_of(cls, name)
        if word in given.keywords:
            values[name] = given.keywords[word]
        elif name not in values and open_ended:
            values[name] = _spread(it, cls.defaults.get(name), given, span, name)
        elif name not in values:
            default = cls.defaults.get(name)
            values[name] = it.unknown("no argument is given", span, name) if default is None else _own(it, default)
        if name in converted:
            values[name] = it.unknown("a converter makes it of what is given", span, name)
    # Keep the order of the fields: a NamedTuple is unpacked by position.
    return {name: named(values[name], name) for name in cls.fields}


def _spread(it: Interpreter, default: Abstract | None, given: Arguments, span: Span, name: str) -> Abstract:
    """Return a field that `*x` or `**x` may give: of a command line's options a number counts as its default says."""
    if given.star is not None or not is_command_line(given.stars):
        return it.unknown("given by * or **", span, name)
    return _own(it, default) if default is not None and is_numeric(it, default) else it.unknown(OPEN, span, name)


def _converted(cls: ClassValue) -> set[str]:
    """Return the fields whose values a converter makes: `x = attr.ib(converter=float)`."""
    return {name for owner in ancestry(cls) if owner.node is not None for name in _given_word(owner.node, "converter")}


def _given_word(node: ast.ClassDef, *words: str) -> set[str]:
    """Return the fields of a class body that are made by a call with an argument of some name."""
    calls = [(one, getattr(one, "value", None)) for one in node.body]
    given = ((one, word.arg) for one, call in calls if isinstance(call, ast.Call) for word in call.keywords)
    return {name for one, word in given if word in words for name in _targets(one)}


def _own(it: Interpreter, default: Abstract) -> Abstract:
    """Return each instance a list or dict of its own: Python allows no other default that can be changed."""
    made_anew = isinstance(default, Ref) and isinstance(it.heap[default], ListBox | DictBox)
    return it.heap.new(it.heap[default]) if isinstance(default, Ref) and made_anew else default


def updated(it: Interpreter, box: ObjectBox, changes: dict[str, Abstract], span: Span) -> Abstract:
    """Return a copy of a dataclass instance with some fields replaced."""
    # What is given for no field raises, and leaves nothing.
    taken = {name: value for name, value in changes.items() if name in box.cls.fields or _strange_bases(box.cls)}
    attrs, changed = {**box.attrs, **taken}, box.value is not None
    return it.heap.new(ObjectBox(box.cls, attrs, box.value, changed, span))


def typed_dict(it: Interpreter, given: Arguments, span: Span) -> Abstract:
    """Return the dict that `dict(a=1)` or a TypedDict makes."""
    return it.heap.new(DictBox(dict(given.keywords), made=span))


HANDLERS = {ast.ClassDef: define}
