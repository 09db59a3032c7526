"""Attributes of classes: which ones methods read from their own object, and what gives the object each of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from jaxaudit.frontends.source.classes.members import ancestry, has_unknown_base, library_bases
from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.interpret.syntax import children, landmarks, walk
from jaxaudit.frontends.source.names.bound import parameters
from jaxaudit.frontends.source.values.callables import ClassValue
from jaxaudit.ir.members import ClassMembers, Place, Rebuilt
from jaxaudit.libraries.classes import bases
from jaxaudit.spans import span_of

_Method = ast.FunctionDef | ast.AsyncFunctionDef
_PLAIN = bases("neutral")
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
    reads = [one for method in _methods(node) for one in _own_reads(method)]
    why = _why_open(family.values())
    known = {*dir(object), *given, *(name for one in family.values() for name in (*one.namespace, *one.fields))}
    missing = [Place(one.attr, span_of(one, path)) for one in reads if one.attr not in known]
    init = next((one for one in _methods(node) if one.name == "__init__"), None)
    kept = 0 if init is None else len(list(_kept(init)))
    unread = () if init is None else tuple(_unread(init, read, path))
    rebuilt = () if init is None else tuple(_rebuilt(node, init, path))
    return ClassMembers(cls.name, span_of(node, path), len(reads), kept, tuple(missing), unread, rebuilt, why)


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
            named = {ast.unparse(part) for part in one.decorator_list}
            if named.isdisjoint(("staticmethod", "classmethod")):
                yield one


def _own_reads(method: _Method) -> Iterator[ast.Attribute]:
    own = method.args.args[0].arg
    inside = list(_sees(own, method.body))
    if any(isinstance(one, ast.Name) and one.id == own and not isinstance(one.ctx, ast.Load) for one in inside):
        return
    for one in inside:
        match one:
            case ast.Attribute(value=ast.Name(id=base), ctx=ast.Load()) if base == own:
                yield one


def _sees(name: str, nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Return the nodes in which a name is that of the scope around: not functions that have such a parameter."""
    for one in nodes:
        if not (isinstance(one, _Method | ast.Lambda) and name in parameters(one)):
            yield one
            yield from _sees(name, children(one))


def _kept(init: _Method) -> Iterator[tuple[str, ast.Attribute]]:
    """Return the parameters that a constructor keeps as they are, with the attribute that holds each."""
    own = init.args.args[0].arg
    names = {one.arg for one in (*init.args.args[1:], *init.args.kwonlyargs)}
    for one in walk(*init.body):
        match one:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=base)) as target], value=ast.Name(id=name)):
                if base == own and name in names:
                    yield name, target


def _unread(init: _Method, read: set[str], path: str) -> Iterator[Place]:
    """Return the parameters that are kept under a private name that nothing reads, and not used otherwise."""
    mentions = [one.id for one in walk(*init.body) if isinstance(one, ast.Name)]
    for name, target in _kept(init):
        private = target.attr.startswith("_") and not target.attr.startswith("__")
        if private and target.attr not in read and mentions.count(name) == 1:
            yield Place(name, span_of(target, path))


def _rebuilt(node: ast.ClassDef, init: _Method, path: str) -> Iterator[Rebuilt]:
    """Return the arguments that methods leave out where they make another object from the parts of their own."""
    kept = dict(_kept(init))
    places = [one.arg for one in init.args.args[1:]]
    optional = {*places[len(places) - len(init.args.defaults) :], *(one.arg for one in init.args.kwonlyargs)}
    for method in _methods(node):
        own = method.args.args[0].arg
        for call in walk(*method.body) if method is not init else ():
            if not isinstance(call, ast.Call) or not _makes(call, node.name, own) or _spreads(call):
                continue
            given = {*places[: len(call.args)], *(word.arg for word in call.keywords)}
            values = (*call.args, *(word.value for word in call.keywords))
            parts = {one.attr for one in values if isinstance(one, ast.Attribute) and _is_own(one.value, own)}
            copied = [name for name in given if name in kept and kept[name].attr in parts]
            left = [name for name in kept if name in optional and name not in given]
            if len(copied) >= 2:
                yield from (Rebuilt(method.name, name, kept[name].attr, span_of(call, path)) for name in left)


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
