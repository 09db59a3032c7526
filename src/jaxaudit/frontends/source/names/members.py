"""Attributes of classes: which ones methods read from their own object, and what gives the object each of them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from jaxaudit.frontends.source.classes.members import (
    ancestry,
    find_in_class,
    has_unknown_base,
    is_abstract,
    library_bases,
)
from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.interpret.syntax import FUNCTIONS, children, landmarks, walk
from jaxaudit.frontends.source.names.bound import parameters
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue
from jaxaudit.ir.members import ClassMembers, Place, Rebuilt
from jaxaudit.ir.record import replace
from jaxaudit.libraries.classes import bases
from jaxaudit.spans import span_of

_Method = ast.FunctionDef | ast.AsyncFunctionDef
_PLAIN = bases("neutral")
_CONSTRUCTORS = frozenset(("__init__", "__post_init__", "__new__"))
_REFLECTION = frozenset(("setattr", "vars", "getattr", "hasattr"))
_OPAQUE = frozenset(("__getattr__", "__getattribute__", "__dict__", "__slots__"))


def members_of(classes: Iterable[ClassValue], modules: list[Module]) -> Iterator[ClassMembers]:
    """Return what is known of the attributes of every class of the audited code."""
    every = {one.node: one for one in classes if one.node is not None}
    heirs: dict[ast.ClassDef, list[ClassValue]] = {}
    for one in every.values():
        for base in ancestry(one):
            if base.node is not None:
                heirs.setdefault(base.node, []).append(one)
    marks = [landmarks(module.tree) for module in modules]
    loaded = {one.attr for mark in marks for one in mark.attributes if isinstance(one.ctx, ast.Load)}
    stored = {one.attr for mark in marks for one in mark.attributes if not isinstance(one.ctx, ast.Load)}
    words = {text for mark in marks for text in mark.texts if text.isidentifier()}
    for node, cls in every.items():
        if cls.frame.module.audited:
            yield _members(cls, node, heirs.get(node, [cls]), stored | words, loaded | words)


def _members(
    cls: ClassValue, node: ast.ClassDef, heirs: list[ClassValue], given: set[str], read: set[str]
) -> ClassMembers:
    path = cls.frame.module.path
    family = {one.node: one for heir in heirs for one in ancestry(heir)}
    own = [one for base in family if base is not None for one in _own_parts(base)]
    loaded = {one.attr for one in own if isinstance(one.ctx, ast.Load)}
    members = {name for one in family.values() for name in (*one.namespace, *one.fields)}
    known = {*dir(object), *members, *(one.attr for one in own if not isinstance(one.ctx, ast.Load))}
    reads = [one for one in _own_parts(node) if isinstance(one.ctx, ast.Load)]
    unset = [Place(one.attr, span_of(one, path)) for one in reads if one.attr not in known]
    found = ClassMembers(
        cls.name,
        span_of(node, path),
        len(reads),
        missing=tuple(one for one in unset if one.name not in given),
        foreign=tuple(one for one in unset if one.name in given),
        open=_why_open(family.values()) or _left_to_heirs(cls, heirs),
    )
    init = next((one for one in _methods(node) if one.name == "__init__"), None)
    if init is None:
        return found
    # What the constructor itself goes on with has an effect, whoever reads what is kept.
    mentions = Counter(one.id for one in walk(*init.body) if isinstance(one, ast.Name))
    kept = list(_kept(init))
    idle = [(name, part) for name, part in kept if part.attr not in loaded and mentions[name] == 1]
    unread = tuple(
        Place(name, span_of(part, path)) for name, part in idle if _is_private(part) and part.attr not in read
    )
    unsure = tuple(one for name, part in idle if (one := Place(name, span_of(part, path))) not in unread)
    copies = list(_copies(node, init, dict(kept), path))
    return replace(
        found,
        kept=len(kept),
        unread=unread,
        unsure=(*unsure, *(Place(one.name, one.span) for one, sure in copies if not sure)),
        rebuilt=tuple(one for one, sure in copies if sure),
    )


def _is_private(node: ast.Attribute) -> bool:
    return node.attr.startswith("_") and not node.attr.startswith("__")


def _why_open(family: Iterable[ClassValue]) -> str:
    """Return why attributes of a class may come from elsewhere; empty where all are in sight."""
    for one in family:
        if has_unknown_base(one) or not _PLAIN.issuperset(library_bases(one)):
            return f"`{one.name}` inherits from what is not in sight"
        if one.decorators or (one.node is not None and one.node.keywords) or one.kind != "plain":
            return f"`{one.name}` may be given attributes by a decorator or a metaclass"
        if one.node is not None and _is_opaque(one.node):
            return f"`{one.name}` reads or sets attributes by name"
    return ""


def _left_to_heirs(cls: ClassValue, heirs: list[ClassValue]) -> str:
    """Return the method that only heirs out of sight can have; empty where some class in sight has all methods."""
    for heir in (cls, *heirs):
        names = {name for one in ancestry(heir) for name in one.namespace}
        found = ((name, find_in_class(heir, name)) for name in sorted(names))
        lacking = next((name for name, one in found if isinstance(one, FunctionValue) and is_abstract(one)), "")
        if not lacking:
            return ""
    return f"`{cls.name}` leaves `{lacking}` to classes that are not in sight"


@lru_cache(maxsize=4096)
def _is_opaque(node: ast.ClassDef) -> bool:
    """Whether a class sets or reads attributes by their names."""
    for one in walk(*node.body):
        match one:
            case ast.Name(id=name) if name in _REFLECTION:
                return True
            case ast.Attribute(attr=name) | ast.FunctionDef(name=name) if name in _OPAQUE:
                return True
            case ast.ExceptHandler(type=ast.Name(id="AttributeError")):
                return True
    return False


def _methods(node: ast.ClassDef) -> Iterator[_Method]:
    """Return the methods that are given an object of the class."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.args.args:
            named = {part.id for part in one.decorator_list if isinstance(part, ast.Name)}
            if named.isdisjoint(("staticmethod", "classmethod")):
                yield one


@lru_cache(maxsize=4096)
def _own_parts(node: ast.ClassDef) -> tuple[ast.Attribute, ...]:
    """Return the attributes that methods of a class read and set of their own object."""
    return tuple(one for method in _methods(node) for one in _parts_of_self(method))


def _parts_of_self(method: _Method) -> Iterator[ast.Attribute]:
    own = method.args.args[0].arg
    inside = list(_sees(own, method.body))
    if any(isinstance(one, ast.Name) and one.id == own and not isinstance(one.ctx, ast.Load) for one in inside):
        return
    for one in inside:
        match one:
            case ast.Attribute(value=ast.Name(id=base)) if base == own:
                yield one


def is_replaced(cls: ClassValue, name: str) -> bool:
    """Whether a method of a class puts something else in the place of a member; `self.f = jit(self.f)` does not."""
    nodes = (one.node for one in ancestry(cls))
    return any(name in _replaced(node) for node in nodes if isinstance(node, ast.ClassDef))


@lru_cache(maxsize=4096)
def _replaced(node: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that methods of a class set to what is made of other things than they themselves."""
    stored = {id(one): one.attr for one in _own_parts(node) if isinstance(one.ctx, ast.Store)}
    found = set[str]()
    for statement in walk(node) if stored else ():
        if isinstance(statement, ast.Assign):
            names = {stored[id(one)] for one in statement.targets if id(one) in stored}
            found |= names - {one.attr for one in walk(statement.value) if isinstance(one, ast.Attribute)}
    return frozenset(found)


def is_assigned(name: str, trees: Iterable[ast.Module]) -> bool:
    """Whether a function of some files, other than a constructor, assigns an attribute of this name."""
    return any(name in assigned_in(tree) for tree in trees)


@lru_cache(maxsize=4096)
def assigned_in(tree: ast.Module) -> frozenset[str]:
    """Return the attributes that functions of a file assign, constructors aside."""
    functions = (one for one in landmarks(tree).functions if getattr(one, "name", "") not in _CONSTRUCTORS)
    nodes = (node for function in functions for node in walk(function))
    return frozenset(one.attr for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))


def _sees(name: str, nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Return the nodes in which a name is that of the scope around: not functions that have such a parameter."""
    found = [*reversed([*nodes])]
    while found:
        one = found.pop()
        if not (isinstance(one, FUNCTIONS) and name in parameters(one)):
            yield one
            found += reversed(children(one))


def _kept(init: _Method) -> Iterator[tuple[str, ast.Attribute]]:
    """Return the parameters that a constructor keeps as they are, with the attribute that holds each."""
    own = init.args.args[0].arg
    names = {one.arg for one in (*init.args.args[1:], *init.args.kwonlyargs)}
    for one in walk(*init.body):
        match one:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=base)) as target], value=ast.Name(id=name)):
                if base == own and name in names:
                    yield name, target


def _copies(
    node: ast.ClassDef, init: _Method, kept: dict[str, ast.Attribute], path: str
) -> Iterator[tuple[Rebuilt, bool]]:
    """Return the arguments that methods leave out where they make another object, and whether it is a copy for sure."""
    places = [one.arg for one in init.args.args[1:]]
    optional = {*places[len(places) - len(init.args.defaults) :], *(one.arg for one in init.args.kwonlyargs)}
    for method in _methods(node):
        own = method.args.args[0].arg
        for call in walk(*method.body) if method is not init else ():
            if not isinstance(call, ast.Call) or not _makes(call, node.name, own):
                continue
            given = {*places[: len(call.args)], *(word.arg for word in call.keywords)}
            values = (*call.args, *(word.value for word in call.keywords))
            parts = {one.attr for one in values if isinstance(one, ast.Attribute) and _is_own(one.value, own)}
            copied = [name for name in given if name in kept and kept[name].attr in parts]
            sure = len(copied) >= 2 and not _spreads(call)
            for name in kept:
                if name in optional and name not in given:
                    yield Rebuilt(method.name, name, kept[name].attr, span_of(call, path)), sure


def _makes(call: ast.Call, cls: str, own: str) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name == cls
        case ast.Attribute(value=ast.Name(id=base), attr="__class__"):
            return base == own
        case ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=base)]):
            return base == own
    return False


def _spreads(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(word.arg is None for word in call.keywords)


def _is_own(node: ast.expr, own: str) -> bool:
    return isinstance(node, ast.Name) and node.id == own
