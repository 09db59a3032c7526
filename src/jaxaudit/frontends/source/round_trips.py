"""Reads how a class is taken apart and put together again: which fields, in which order, and what the constructor does.

Only the plain forms are read: a flatten function that returns a tuple of fields, and an unflatten function that hands
children and auxiliary data to the constructor with stars. Anything else is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from jaxaudit.frontends.source.registration import registered_names
from jaxaudit.frontends.source.syntax import landmarks

_LABELS = frozenset(("__init__", "__repr__", "__str__"))


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The fields that are handed to the constructor, in order, and the attributes its parameters become."""

    where: ast.expr
    """What the flatten function returns, or the call that puts the fields together."""
    handed: tuple[str, ...]
    params: tuple[str, ...]
    stored: tuple[str, ...]
    """For each parameter the attribute that keeps it, empty where it is not kept as it is."""
    given: frozenset[str]
    """Parameters that some call of the constructor in this file gives a value."""
    read: frozenset[str]
    """Attributes that this file reads for more than a label."""


@lru_cache(maxsize=4096)
def round_trip(node: ast.ClassDef, tree: ast.Module) -> RoundTrip | None:
    """Read the round trip of a class; None when it has none or is written in another way."""
    pair = _functions(node, tree)
    init = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if pair is None or init is None or init.args.vararg is not None or init.args.kwarg is not None:
        return None
    flatten, unflatten = pair
    parts = _returned(flatten)
    handed = None if parts is None else _handed(parts, flatten, unflatten)
    if parts is None or handed is None:
        return None
    params = tuple(one.arg for one in (*init.args.args[1:], *init.args.kwonlyargs))
    stores = _stores(init)
    stored = tuple(stores.get(name, "") for name in params)
    return RoundTrip(
        _blamed(parts[0], flatten, unflatten, stored),
        handed,
        params,
        stored,
        frozenset(_given(tree, node.name, params)),
        frozenset(_read(tree)),
    )


def _functions(node: ast.ClassDef, tree: ast.Module) -> tuple[ast.FunctionDef, ast.FunctionDef] | None:
    own = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    if "tree_flatten" in own and "tree_unflatten" in own:
        return own["tree_flatten"], own["tree_unflatten"]
    if node.name not in registered_names(tree):
        return None
    outer = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    for call in landmarks(tree).calls:
        match call:
            case ast.Call(func=ast.Attribute(attr="register_pytree_node"), args=[ast.Name(id=name), first, second]):
                if name == node.name and isinstance(first, ast.Name) and isinstance(second, ast.Name):
                    if first.id in outer and second.id in outer:
                        return outer[first.id], outer[second.id]
    return None


def _returned(function: ast.FunctionDef) -> tuple[ast.expr, ast.expr] | None:
    last = function.body[-1] if function.body else None
    if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Tuple) or len(last.value.elts) != 2:
        return None
    assigned: dict[str, ast.expr] = {
        one.targets[0].id: one.value
        for one in function.body
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
    }
    children, aux = (assigned.get(one.id, one) if isinstance(one, ast.Name) else one for one in last.value.elts)
    return children, aux


def _blamed(
    children: ast.expr, flatten: ast.FunctionDef, unflatten: ast.FunctionDef, stored: tuple[str, ...]
) -> ast.expr:
    """Give what to look at when fields are mixed up: the constructor's call, where flattening has them in order."""
    fields = _fields(children, flatten.args.args[0].arg) or ()
    last = unflatten.body[-1]
    call = last.value if isinstance(last, ast.Return) and _order(unflatten) is None else None
    return children if call is None or fields != stored[: len(fields)] else call


def _handed(
    parts: tuple[ast.expr, ast.expr], flatten: ast.FunctionDef, unflatten: ast.FunctionDef
) -> tuple[str, ...] | None:
    """Give the fields that go to the constructor, in the order of its parameters."""
    receiver = flatten.args.args[0].arg if flatten.args.args else ""
    order = _order(unflatten)
    if order is None:
        return _unpacked(parts, receiver, unflatten)
    handed = [_fields(parts[at], receiver) for at in order]
    return None if any(one is None for one in handed) else tuple(name for one in handed for name in one or ())


def _unpacked(parts: tuple[ast.expr, ast.expr], receiver: str, function: ast.FunctionDef) -> tuple[str, ...] | None:
    """Read `a, b = children` and `return cls(a, b)`: each name is a field, and the call hands the fields on."""
    names = [one.arg for one in function.args.args][-2:]
    body = [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if len(names) != 2 or not body:
        return None
    fields = {names[0]: _fields(parts[1], receiver) or (), names[1]: _fields(parts[0], receiver) or ()}
    known: dict[str, str] = {}
    for one in body[:-1]:
        match one:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id=source)) if source in fields:
                if len(targets) != len(fields[source]):
                    return None
                pairs = zip(targets, fields[source], strict=True)
                known.update((target.id, field) for target, field in pairs if isinstance(target, ast.Name))
            case _:
                return None
    return _constructed(body[-1], known, fields)


def _constructed(node: ast.stmt, known: dict[str, str], fields: dict[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    handed: list[str] = []
    args = node.value.args if isinstance(node, ast.Return) and isinstance(node.value, ast.Call) else []
    if not args or not isinstance(node, ast.Return) or not isinstance(node.value, ast.Call) or node.value.keywords:
        return None
    for one in args:
        match one:
            case ast.Name(id=name) if name in known:
                handed.append(known[name])
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int() as at)) if name in fields:
                handed.extend(fields[name][at : at + 1] if at >= 0 else ())
            case _:
                return None
    return tuple(handed) if len(handed) == len(args) else None


def _order(function: ast.FunctionDef) -> tuple[int, ...] | None:
    """Give the order in which children (0) and auxiliary data (1) are handed on: `cls(*children, *aux)` is (0, 1)."""
    names = [one.arg for one in function.args.args][-2:]
    body = [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    match body:
        case [ast.Return(value=ast.Call(args=args, keywords=[]))] if len(names) == 2 and args:
            starred = [one.value.id for one in args if isinstance(one, ast.Starred) and isinstance(one.value, ast.Name)]
            roles = {names[0]: 1, names[1]: 0}
            if len(starred) == len(args) and all(name in roles for name in starred):
                return tuple(roles[name] for name in starred)
    return None


def _fields(node: ast.expr, receiver: str) -> tuple[str, ...] | None:
    items = node.elts if isinstance(node, ast.Tuple | ast.List) else None
    if items is None:
        return None
    fields = [
        one.attr
        for one in items
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == receiver
    ]
    return tuple(fields) if len(fields) == len(items) else None


def _stores(init: ast.FunctionDef) -> dict[str, str]:
    """Give the attribute that keeps each parameter as it is."""
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


def _read(tree: ast.Module) -> Iterator[str]:
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef) and node.name in _LABELS:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr
        pending.extend(ast.iter_child_nodes(node))


def _given(tree: ast.Module, name: str, params: tuple[str, ...]) -> Iterator[str]:
    for call in landmarks(tree).calls:
        if isinstance(call.func, ast.Name) and call.func.id == name:
            if not any(isinstance(one, ast.Starred) for one in call.args):
                yield from params[: len(call.args)]
            yield from (word.arg for word in call.keywords if word.arg is not None)
