"""Compares how a class is taken apart with how it is put together again: each field must come back where it was."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from jaxaudit.frontends.source.classes.constructors import asked_values, changed_fields
from jaxaudit.frontends.source.classes.fields import (
    annotated,
    flattening_of,
    own_flattening,
    rebuild_function,
    registrations,
    role,
)
from jaxaudit.frontends.source.classes.flattening import Flattening
from jaxaudit.frontends.source.classes.registration import last_name
from jaxaudit.frontends.source.classes.unflattening import CHILDREN, Rebuilt, read_unflatten
from jaxaudit.frontends.source.interpret.syntax import landmarks, walk
from jaxaudit.frontends.source.values.callables import ClassValue
from jaxaudit.ir.record import record
from jaxaudit.spans import Span, span_of

_LABELS = frozenset(("__init__", "__repr__", "__str__"))
_PLAIN_BASES = frozenset("object ABC Generic Protocol".split())


@record
class RoundTrip:
    """The fields that parameters of the constructor get, and the attributes that these become."""

    where: ast.expr
    """What the flatten function returns, or what puts the fields together."""
    handed: tuple[str | None, ...]
    """For each parameter the field that it gets, empty where that is open, None where it gets nothing."""
    params: tuple[str, ...]
    stored: tuple[str, ...]
    """For each parameter the attribute that keeps it, empty where it is not kept as it is."""
    given: frozenset[str]
    """Parameters that some call of the constructor in this file gives a value."""
    read: frozenset[str]
    """Attributes that this file reads for more than a label."""
    problem: str = ""
    """What cannot work at all."""
    asked: tuple[tuple[str, str, ast.expr], ...] = ()
    """Parameters that get children and whose values the constructor needs, with what needs them and where."""
    other: ast.expr | None = None
    """The other half of the way: what puts the fields together, or what is returned of them."""


def round_trip(cls: ClassValue) -> RoundTrip | None:
    """Read the round trip of a class; None when it has none or is written in another way."""
    node, tree = cls.node, cls.frame.module.tree
    if node is None:
        return None
    unlisted = _unlisted(cls, node, tree)
    if unlisted is not None:
        return unlisted
    flattening, function = own_flattening(cls, cls), rebuild_function(node, tree)
    if flattening is not None and function is None and (post := _method(node, "__post_init__")) is not None:
        # What puts a dataclass together calls its constructor.
        return _changed(
            cls, ast.copy_location(ast.Name(post.name), post), {one: one for one in flattening.children.exact}
        )
    if flattening is None or function is None:
        return None
    if isinstance(function, ast.FunctionDef) and (broken := _never_rebuilds(cls, function)) is not None:
        return broken
    rebuilt = read_unflatten(function, node.name, flattening.children.form, flattening.structure.form)
    where = flattening.where
    if rebuilt is None or where is None:
        return None
    if rebuilt.misfit is not None:
        return _problem(rebuilt.misfit.node, f"`{cls.name}` {rebuilt.misfit.text}")
    if rebuilt.call is None:
        return _bare(node, rebuilt, flattening, where)
    owner = _with_constructor(cls.bases) if rebuilt.inherited else cls
    return None if owner is None else _constructed(owner, rebuilt, rebuilt.call, flattening, where)


def _with_constructor(bases: Iterable[object]) -> ClassValue | None:
    """Return the first of some classes that has a constructor of its own, or inherits one in sight."""
    first = next(iter(bases), None)
    if not isinstance(first, ClassValue) or first.node is None or _method(first.node, "__init__") is not None:
        return first if isinstance(first, ClassValue) and first.node is not None else None
    return _with_constructor(first.bases)


@lru_cache(maxsize=1024)
def left_out(cls: ClassValue, name: str) -> tuple[Span, ...] | None:
    """Return what says how a class is taken apart, where that leaves a field out which is read, and its declaration."""
    found = flattening_of(cls)
    if found is None or role(cls, name) or name not in _read(cls.frame.module.tree):
        return None
    owner, flattening = found
    where, parts = flattening.where, (flattening.children, flattening.structure)
    if where is None or not all(part.known for part in parts):
        return None
    declared = [one for node in (cls.node, owner.node) if node is not None for one in annotated(node) if one[0] == name]
    path = owner.frame.module.path
    return (span_of(where, path), *(span_of(node, path) for _, node in declared[:1]))


def _never_rebuilds(cls: ClassValue, function: ast.FunctionDef) -> RoundTrip | None:
    """Find an unflatten function that cannot be called as JAX does, or that gives nothing back."""
    required = len(function.args.args) - len(function.args.defaults)
    called = any(name.endswith("_class") for name in cls.decorators) and function.name == "tree_unflatten"
    where = ast.copy_location(ast.Name(function.name, ast.Load()), function)
    if called and required > 2 and not function.decorator_list and cls.node is not None and function in cls.node.body:
        return _problem(where, f"`tree_unflatten` of `{cls.name}` is no classmethod, but JAX calls it on the class")
    leaving = [one for one in walk(function) if isinstance(one, ast.Return | ast.Raise | ast.Yield | ast.YieldFrom)]
    if not any(not isinstance(one, ast.Return) or one.value is not None for one in leaving) and not _is_stub(function):
        last = function.body[-1]
        where = last.value if isinstance(last, ast.Expr) else where
        return _problem(where, f"`{function.name}` gives nothing back, so `{cls.name}` is None after every rebuild")
    return None


def _is_stub(function: ast.FunctionDef) -> bool:
    """Whether a function only stands for another one: it has no statements of its own."""
    return all(
        isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in function.body
    )


def _problem(where: ast.expr, message: str) -> RoundTrip:
    return RoundTrip(where, (), (), (), frozenset(), frozenset(), message)


def _constructed(
    cls: ClassValue, rebuilt: Rebuilt, call: ast.Call, flattening: Flattening, where: ast.expr
) -> RoundTrip | None:
    signature = _signature(cls)
    if signature is None:
        return None
    params, stores = signature
    handed = dict(zip(params, rebuilt.positional, strict=False)) | rebuilt.keywords
    if len(rebuilt.positional) > len(params) or not handed.keys() <= set(params):
        return None
    kept = {stores.get(name, ""): origin for name, origin in handed.items()} | rebuilt.attributes
    for name, origin in kept.items():
        if origin == CHILDREN and name in flattening.structure.exact:
            text = f"`{name}` of `{cls.name}` gets all children: JAX hands over the structure first, then the children"
            return _problem(call, text)
    if (changed := _changed(cls, call, handed)) is not None:
        return changed
    stored = tuple(stores.get(name, "") for name in params)
    form = flattening.children.form
    fits = form is not None and form.items is not None and form.items == stored[: len(form.items)]
    late = {name for name in params if stores.get(name) in rebuilt.attributes}
    tree = cls.frame.module.tree
    mixed = fits and _names_each(call)
    return RoundTrip(
        call if mixed else where,
        tuple(handed.get(name, "" if name in late else None) for name in params),
        params,
        stored,
        frozenset(_given(tree, cls.name, params)),
        _read(tree),
        asked=_asked(cls, frozenset(name for name, origin in handed.items() if origin in flattening.children.exact)),
        other=where if mixed else call,
    )


def _changed(cls: ClassValue, where: ast.expr, handed: Mapping[str, str]) -> RoundTrip | None:
    """Find a field that the constructor computes of the parameter which gets that very field back."""
    init = None if cls.node is None else _method(cls.node, "__init__") or _method(cls.node, "__post_init__")
    for name, attr, value in () if init is None else changed_fields(init):
        if handed.get(name) == attr:
            text = f"`{attr}` is computed again each time `{cls.name}` is rebuilt: `{attr} = {ast.unparse(value)}`"
            return _problem(where, text)
    return None


def _asked(cls: ClassValue, params: frozenset[str]) -> tuple[tuple[str, str, ast.expr], ...]:
    init = None if cls.node is None else _method(cls.node, "__init__")
    return () if init is None else tuple(asked_values(init, params, cls.frame.module.tree))


def _names_each(call: ast.Call) -> bool:
    """Whether a call names each field by itself: then it is the call that mixes them up."""
    return not any(isinstance(one, ast.Starred) for one in call.args) and all(one.arg for one in call.keywords)


def _bare(node: ast.ClassDef, rebuilt: Rebuilt, flattening: Flattening, where: ast.expr) -> RoundTrip | None:
    """Judge a bare object whose attributes are set one by one: methods may read none that nobody sets."""
    for attr, origin in rebuilt.attributes.items():
        if origin != attr and origin in rebuilt.attributes and flattening.role(origin):
            return _problem(where, f"`{origin}` comes back as `{attr}` when `{node.name}` is rebuilt")
    init = _method(node, "__init__")
    bases = {last_name(one.value if isinstance(one, ast.Subscript) else one) for one in node.bases}
    if init is None or not bases <= _PLAIN_BASES or _method(node, "__getattr__") is not None:
        return None
    kept = [one for one in _attributes(init, ast.Store) if one not in rebuilt.attributes and one not in _members(node)]
    users = [one for one in node.body if isinstance(one, ast.FunctionDef) and not _is_trip(one)]
    later = {name for one in users for name in _attributes(one, ast.Store)}
    lost = [name for name in kept if name not in later and any(_needs(one, name) for one in users)]
    if lost:
        return _problem(where, f"`{lost[0]}` is lost when `{node.name}` is rebuilt: nobody sets it")
    return RoundTrip(where, (), (), (), frozenset(), frozenset())


def _members(node: ast.ClassDef) -> set[str]:
    """Return what the class itself has by name: methods, properties and values."""
    found: set[str] = set()
    for one in node.body:
        match one:
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                found.add(name)
            case ast.Assign(targets=targets):
                found.update(target.id for target in targets if isinstance(target, ast.Name))
    return found


def _is_trip(function: ast.FunctionDef) -> bool:
    return function.name in _LABELS or "flatten" in function.name


def _needs(function: ast.FunctionDef, name: str) -> bool:
    """Whether a method reads an attribute without asking first whether there is one."""
    asked = any(isinstance(one, ast.Constant) and one.value == name for one in walk(function))
    return not asked and name in _attributes(function, ast.Load)


def _attributes(function: ast.FunctionDef, context: type[ast.expr_context]) -> list[str]:
    receiver = function.args.args[0].arg if function.args.args else ""
    found = [one for one in walk(function) if isinstance(one, ast.Attribute) and isinstance(one.ctx, context)]
    return [one.attr for one in found if isinstance(one.value, ast.Name) and one.value.id == receiver]


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name), None)


def _signature(cls: ClassValue) -> tuple[tuple[str, ...], Mapping[str, str]] | None:
    """Return the parameters of the constructor, and for each the attribute that keeps it."""
    node = cls.node
    if node is None:
        return None
    init = _method(node, "__init__")
    if init is None:
        plain = cls.kind == "dataclass" and not node.bases and not _method(node, "__post_init__")
        made = any(_is_made_inside(node, name) for name in cls.fields)
        return (cls.fields, {name: name for name in cls.fields}) if plain and not made else None
    if init.args.vararg is not None or init.args.kwarg is not None:
        return None
    return tuple(one.arg for one in (*init.args.args[1:], *init.args.kwonlyargs)), _stores(init)


def _unlisted(cls: ClassValue, node: ast.ClassDef, tree: ast.Module) -> RoundTrip | None:
    """Find a field of a dataclass that the lists of data and meta fields leave out: JAX refuses such lists."""
    found = own_flattening(cls, cls)
    if cls.kind != "dataclass" or node.bases or found is None:
        return None
    listed = (*found.children.exact, *found.structure.exact)
    for call in registrations(node, tree):
        words = {word.arg: word.value for word in call.keywords}
        both = len(call.args) > 2 or words.keys() >= {"data_fields", "meta_fields"}
        if "register_dataclass" in last_name(call) and both and "drop_fields" not in words:
            missing = [name for name in cls.fields if name not in listed and not _is_made_inside(node, name)]
            if missing and found.children.others is None:
                text = f"`{missing[0]}` of `{cls.name}` is neither data nor meta field, which JAX refuses"
                return _problem(words.get("data_fields", call), text)
    return None


def _is_made_inside(node: ast.ClassDef, name: str) -> bool:
    """Whether a field says `init=False`."""
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.Call(keywords=words)) if target == name:
                return any(word.arg == "init" for word in words)
    return False


def _stores(init: ast.FunctionDef) -> dict[str, str]:
    """Return the attribute that keeps each parameter as it is."""
    stores: dict[str, str] = {}
    for one in init.body:
        if isinstance(one, ast.Assign) and len(one.targets) == 1:
            for target, value in _pairs(one.targets[0], one.value):
                if isinstance(target, ast.Attribute) and isinstance(value, ast.Name):
                    stores[value.id] = target.attr
    return stores


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


@lru_cache(maxsize=256)
def _read(tree: ast.Module) -> frozenset[str]:
    found: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef) and node.name in _LABELS:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.add(node.attr)
        pending.extend(ast.iter_child_nodes(node))
    return frozenset(found)


def _given(tree: ast.Module, name: str, params: tuple[str, ...]) -> Iterator[str]:
    for call in landmarks(tree).calls:
        if isinstance(call.func, ast.Name) and call.func.id == name:
            if not any(isinstance(one, ast.Starred) for one in call.args):
                yield from params[: len(call.args)]
            yield from (word.arg for word in call.keywords if word.arg is not None)
