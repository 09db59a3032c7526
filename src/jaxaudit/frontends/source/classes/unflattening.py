"""Reads the functions that put objects together again: which field of the old object each part of the new one gets.

A field is followed from the children and the structure that JAX hands over, by name, position or key, to an argument of
the constructor or to an attribute of a bare new object. A function that does anything else is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import field

from jaxaudit.frontends.source.classes.flattening import Form
from jaxaudit.ir.record import mutable, record

CHILDREN, STRUCTURE = "all children", "the whole structure"
_UNKNOWN = ""


@record
class Misfit:
    """Something that cannot be taken out of what the flatten function gave."""

    node: ast.expr
    text: str
    """What is wrong, as it is said of the class."""


@mutable
class Rebuilt:
    """What an unflatten function makes. An origin is a field, `CHILDREN`, `STRUCTURE` or, where it is open, empty."""

    call: ast.Call | None = None
    """The call of the constructor; None where attributes of a bare object are set."""
    positional: list[str] = field(default_factory=list)
    keywords: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    inherited: bool = False
    """Whether it is the constructor of the base class that is called, on a bare object."""
    misfit: Misfit | None = None


class _UnreadableError(Exception):
    """Raised where a function does more than hand fields on."""


def read_unflatten(
    function: ast.FunctionDef | ast.Lambda, owner: str, children: Form | None, structure: Form | None
) -> Rebuilt | None:
    """Read an unflatten function of a class; None where it is written in another way."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if len(names) not in (2, 3) or function.args.vararg is not None or function.args.kwarg is not None:
        return None
    makers = {owner, *names[:-2]}
    reader = _Reader(makers, {names[-2]: STRUCTURE, names[-1]: CHILDREN}, {CHILDREN: children, STRUCTURE: structure})
    try:
        if isinstance(function, ast.Lambda):
            reader.give(function.body)
        else:
            reader.run(function.body)
    except _UnreadableError:
        return None
    return reader.made if reader.given or reader.made.misfit is not None else None


class _Reader:
    def __init__(self, makers: set[str], names: dict[str, str], forms: Mapping[str, Form | None]) -> None:
        self.makers = makers
        self.names = names
        self.forms = forms
        self.made = Rebuilt()
        self.fresh: set[str] = set()
        self.results: set[str] = set()
        self.given = False

    def run(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            if self.given or self.made.misfit is not None:
                return
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Delete() | ast.Assert():
                return
            case ast.Return(value=ast.expr() as value):
                self.give(value)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.Expr(value=ast.Call() as call):
                self._set(call)
            case _:
                raise _UnreadableError

    def give(self, value: ast.expr) -> None:
        self.given = True
        if isinstance(value, ast.Name) and value.id in self.fresh | self.results:
            return
        self._construct(value)

    def _construct(self, value: ast.expr) -> None:
        if not isinstance(value, ast.Call) or not self._is_class(value.func) or self.made.call is not None:
            raise _UnreadableError
        self._hand_over(value)

    def _hand_over(self, value: ast.Call) -> None:
        self.made.call = value
        for one in value.args:
            self.made.positional += self._spread(one.value) if isinstance(one, ast.Starred) else [self._origin(one)]
        for word in value.keywords:
            if word.arg is None:
                self.made.keywords.update(self._entries(word.value))
            else:
                self.made.keywords[word.arg] = self._origin(word.value)

    def _is_class(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.makers

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name) if self._is_bare(value):
                self.fresh.add(name)
            case ast.Name(id=name) if isinstance(value, ast.Call) and self._is_class(value.func):
                self._construct(value)
                self.results.add(name)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value)
            case _:
                self._bind(target, self._origin(value))

    def _is_bare(self, node: ast.expr) -> bool:
        """Whether an expression makes an object without its constructor: `object.__new__(cls)`."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__new__"

    def _bind(self, target: ast.expr, origin: str) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = origin
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self.fresh | self.results:
                self.made.attributes[attr] = origin
            case _:
                raise _UnreadableError

    def _unpack(self, targets: list[ast.expr], value: ast.expr) -> None:
        if isinstance(value, ast.Tuple) and len(value.elts) == len(targets):
            for one, other in zip(targets, value.elts, strict=True):
                self._bind(one, self._origin(other))
            return
        if any(isinstance(one, ast.Starred) for one in targets):
            raise _UnreadableError
        whole = self._origin(value)
        items = self._items(whole)
        if self._is_none(value):
            return
        if items is not None and len(items) != len(targets):
            text = f"gives {len(items)} {_what(whole)} when it is flattened, but {len(targets)} are unpacked here"
            self.made.misfit = Misfit(value, text)
            return
        for one, origin in zip(targets, items or [_UNKNOWN] * len(targets), strict=True):
            self._bind(one, origin)

    def _is_none(self, node: ast.expr) -> bool:
        """Whether parts are taken out of a structure that is None; the children come after it."""
        form = self.forms.get(self._origin(node))
        if form is None or not form.none:
            return False
        text = "takes its fields out of the structure, which is None: the children are handed over after it"
        self.made.misfit = Misfit(node, text)
        return True

    def _items(self, whole: str) -> tuple[str, ...] | None:
        form = self.forms.get(whole)
        return None if form is None else form.items

    def _spread(self, node: ast.expr) -> list[str]:
        items = self._items(self._origin(node))
        if items is None and self._is_none(node):
            return []
        if items is None:
            raise _UnreadableError
        return list(items)

    def _entries(self, node: ast.expr) -> Mapping[str, str]:
        form = self.forms.get(self._origin(node))
        if form is None or form.keys is None:
            raise _UnreadableError
        return form.keys

    def _origin(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                origin = self.names.get(name, _UNKNOWN)
                form = self.forms.get(origin)
                return form.alone if form is not None and form.alone else origin
            case ast.Subscript(value=base, slice=ast.Constant(value=int() | str() as key)):
                return self._part(node, self._origin(base), key)
            case ast.Call(func=ast.Name(id="tuple" | "list"), args=[inner]):
                return self._origin(inner)
        return _UNKNOWN

    def _part(self, node: ast.Subscript, whole: str, key: int | str) -> str:
        form = self.forms.get(whole)
        if form is None or self._is_none(node.value):
            return _UNKNOWN
        if isinstance(key, int) and form.items is not None:
            if not -len(form.items) <= key < len(form.items):
                text = f"gives {len(form.items)} {_what(whole)} when it is flattened, so there is no [{key}]"
                self.made.misfit = Misfit(node, text)
                return _UNKNOWN
            return form.items[key]
        return form.keys.get(key, _UNKNOWN) if isinstance(key, str) and form.keys is not None else _UNKNOWN

    def _set(self, call: ast.Call) -> None:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="__init__")) if name in self.fresh:
                self._hand_over(call)
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Call(func=ast.Name(id="super"), args=[_, ast.Name(id=name)]), attr="__init__"
                )
            ) if name in self.fresh:
                self._hand_over(call)
                self.made.inherited = True
            case ast.Call(
                func=ast.Name(id="setattr") | ast.Attribute(attr="__setattr__"),
                args=[ast.Name(id=name), ast.Constant(value=str() as attr), value],
            ) if name in self.fresh:
                self.made.attributes[attr] = self._origin(value)
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="__dict__"), attr="update"),
                args=[value],
            ) if name in self.fresh:
                self.made.attributes.update(self._entries(value))
            case _:
                raise _UnreadableError


def _what(whole: str) -> str:
    return "children" if whole == CHILDREN else "parts of the structure"
