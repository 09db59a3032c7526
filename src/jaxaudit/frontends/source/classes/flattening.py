"""Reads the functions that take objects apart for JAX: which fields they give as children, which as structure.

A flatten function is a few plain statements that end in `return children, aux`. They are followed by name: tuples and
dicts that are built up, comprehensions over the fields of an object, the flatten function of a base. What is written in
another way is open: it says nothing of any field.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType

from jaxaudit.ir.record import record, replace

FunctionNode = ast.FunctionDef | ast.Lambda
Fields = Mapping[str, ast.expr]

_CONTAINERS = frozenset("tuple list dict set frozenset FrozenDict freeze sorted OrderedDict deepcopy copy".split())
_KEEPING = frozenset("tuple list dict FrozenDict freeze OrderedDict deepcopy copy".split())
_GROWS = frozenset("append extend update insert add setdefault".split())


@record
class Form:
    """How the fields stand in a part: one by one, by key, or one alone; empty for what is no field as it is."""

    items: tuple[str, ...] | None = None
    keys: Mapping[str, str] | None = None
    alone: str = ""
    none: bool = False
    """Whether it is written as None."""


@record
class Part:
    """What one expression of a flatten function holds of the object."""

    exact: Fields = field(default_factory=dict)
    """Fields that stand in it as they are."""
    near: frozenset[str] = frozenset()
    """Fields that something in it is computed from."""
    others: frozenset[str] | None = None
    """Where it holds all fields but some, those that it does not hold."""
    known: bool = True
    """False when it may hold fields that are not told."""
    form: Form | None = None

    @property
    def fields(self) -> frozenset[str]:
        """All fields that it surely has to do with."""
        return self.near.union(self.exact)


NOTHING = Part()
OPEN = Part(known=False)


@record
class Flattening:
    """What a flatten function gives."""

    children: Part
    structure: Part
    where: ast.expr | None = None
    """What is returned as children."""

    def role(self, name: str) -> str:
        """Return `data` for a field that becomes leaves, `structure` for one that does not, else nothing."""
        if name in self.children.fields:
            return "data"
        if name in self.structure.fields:
            return "structure" if name in self.structure.exact or self.children.known else ""
        if self.children.others is not None and name not in self.children.others:
            return "data"
        rest = self.structure.others
        return "structure" if rest is not None and name not in rest and self.children.known else ""


Inherited = Callable[[], Flattening | None]
Lists = Mapping[str, tuple[str, ...]]
"""Tuples of names that the class or the module keeps, by their own name."""


def read_flattening(
    function: FunctionNode, inherited: Inherited = lambda: None, lists: Lists = MappingProxyType({})
) -> Flattening | None:
    """Read a flatten function; None when it does not end in a pair that can be told apart."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    if not arguments:
        return None
    reader = _Reader(arguments[0].arg, inherited, lists)
    if isinstance(function, ast.Lambda):
        reader.give(function.body)
    else:
        reader.run(function.body)
    if not reader.given or None in reader.given:
        return None
    pairs = [one for one in reader.given if one is not None]
    where = pairs[-1].where if pairs else None
    return Flattening(_joined(one.children for one in pairs), _joined(one.structure for one in pairs), where)


def _joined(parts: Iterable[Part]) -> Part:
    exact: dict[str, ast.expr] = {}
    near: frozenset[str] = frozenset()
    others: frozenset[str] | None = None
    known = True
    forms: list[Form | None] = []
    for part in parts:
        forms.append(part.form)
        exact.update(part.exact)
        near |= part.near
        known = known and part.known
        if part.others is not None:
            others = part.others if others is None else others & part.others
    return Part(exact, near, others, known, forms[0] if forms and all(one == forms[0] for one in forms) else None)


def _in_a_row(parts: Iterable[Part]) -> Part:
    """Put parts one behind the other, as `+` does with tuples and `|` with dicts."""
    told = list(parts)
    forms = [one.form for one in told]
    rows = [one.items for one in forms if one is not None and one.items is not None]
    dicts = [one.keys for one in forms if one is not None and one.keys is not None]
    form = None
    if len(rows) == len(told):
        form = Form(items=tuple(name for row in rows for name in row))
    elif len(dicts) == len(told):
        form = Form(keys={key: name for one in dicts for key, name in one.items()})
    return replace(_joined(told), form=form)


def _item(part: Part) -> Part:
    """Return a part as the one item of a tuple."""
    return replace(part, form=Form(items=(part.form.alone if part.form is not None else "",)))


class _Reader:
    """Follows the statements of one flatten function."""

    def __init__(self, receiver: str, inherited: Inherited, lists: Lists) -> None:
        self.receiver = receiver
        self.inherited = inherited
        self.names: dict[str, Part] = {}
        self.pairs: dict[str, Flattening | None] = {}
        self.texts: dict[str, tuple[str, ...]] = dict(lists)
        self.given: list[Flattening | None] = []
        self.places: dict[str, ast.expr] = {}

    def run(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Return(value=value):
                self.give(value)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                self.names[name] = _in_a_row((self.names.get(name, OPEN), self.part(value)))
            case ast.Delete(targets=targets):
                for one in targets:
                    self._taken_out(one)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method), args=args) as call):
                self._changed(name, method, [*args, *(word.value for word in call.keywords)])
            case ast.If(body=body, orelse=orelse):
                self._either(body, orelse)
            case ast.With(body=body):
                self.run(body)
            case ast.For() | ast.While() | ast.Try():
                self._lost(node)
            case _:
                pass

    def give(self, value: ast.expr | None) -> None:
        match value:
            case ast.Tuple(elts=[children, structure]):
                self.given.append(self._pair(children, structure))
            case ast.Name(id=name) if name in self.pairs:
                self.given.append(self.pairs[name])
            case ast.Call() if _asks_base(value):
                self.given.append(self.inherited())
            case _:
                self.given.append(None)

    def _pair(self, children: ast.expr, structure: ast.expr) -> Flattening:
        # What a variable holds is told where it was put in.
        where = self.places.get(children.id, children) if isinstance(children, ast.Name) else children
        return Flattening(self.part(children), self.part(structure), where)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]), ast.Call() if _asks_base(value):
                base = self.inherited()
                self.names[first] = OPEN if base is None else base.children
                self.names[second] = OPEN if base is None else base.structure
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for one, other in zip(targets, values, strict=True):
                    self._assign(one, other)
            case ast.Name(id=name), _:
                texts = self._strings(value)
                if texts is not None:
                    self.texts[name] = texts
                if isinstance(value, ast.Tuple) and len(value.elts) == 2:
                    self.pairs[name] = self._pair(*value.elts)
                self.names[name] = self.part(value)
                self.places[name] = value
            case ast.Subscript(value=ast.Name(id=name), slice=key), _:
                self.names[name] = _in_a_row((self.names.get(name, OPEN), self._entry(key, value)))
            case _:
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        self.names[one.id] = self._derived(value)

    def _either(self, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        before = dict(self.names)
        self.run(body)
        first, self.names = self.names, dict(before)
        self.run(orelse)
        for name in first.keys() | self.names.keys():
            self.names[name] = _joined((first.get(name, NOTHING), self.names.get(name, NOTHING)))

    def _lost(self, node: ast.stmt) -> None:
        """Forget what is built in a way that is not followed; a return in there is not read either."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and one.id != self.receiver and one.id in self.names:
                self.names[one.id] = replace(self.names[one.id], known=False)
            elif isinstance(one, ast.Return):
                self.given.append(None)

    def _changed(self, name: str, method: str, args: list[ast.expr]) -> None:
        if method == "append" and name in self.names:
            self.names[name] = _in_a_row((self.names[name], *(_item(self.part(one)) for one in args)))
        elif method in _GROWS and name in self.names:
            rows = [self.part(one) for one in args]
            self.names[name] = _in_a_row((self.names[name], *rows))
            if method not in ("extend", "update"):
                self.names[name] = replace(self.names[name], form=None)
        elif method == "pop" and args:
            self._removed(name, args[0])

    def _taken_out(self, node: ast.expr) -> None:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            self._removed(node.value.id, node.slice)

    def _removed(self, name: str, key: ast.expr) -> None:
        part = self.names.get(name)
        if part is not None and part.others is not None:
            fields = self._strings(ast.Tuple([key], ast.Load()))
            self.names[name] = OPEN if fields is None else replace(part, others=part.others.union(fields))

    def part(self, node: ast.expr | None) -> Part:
        """Return what an expression holds of the object."""
        match node:
            case ast.Constant(value=None):
                return Part(form=Form(none=True))
            case None | ast.Constant():
                return NOTHING
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == self.receiver:
                return Part(others=frozenset()) if attr == "__dict__" else Part({attr: node}, form=Form(alone=attr))
            case ast.Name(id=name):
                return OPEN if name == self.receiver else self.names.get(name, NOTHING)
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                return _in_a_row(self._one(item) for item in items)
            case ast.Dict(keys=keys, values=items):
                told = _in_a_row(self._entry(key, item) for key, item in zip(keys, items, strict=True))
                return told if items else replace(told, form=Form(keys={}))
            case ast.BinOp(left=left, op=ast.Add() | ast.BitOr(), right=right):
                return _in_a_row((self.part(left), self.part(right)))
            case ast.IfExp(body=first, orelse=second):
                return _joined((self.part(first), self.part(second)))
            case ast.ListComp(elt=element, generators=[one]) | ast.GeneratorExp(elt=element, generators=[one]):
                return self._comprehension(element, one)
            case ast.DictComp(value=element, generators=[one]):
                return self._comprehension(element, one)
            case ast.Call():
                return self._call(node)
            case _:
                return self._derived(node)

    def _one(self, node: ast.expr) -> Part:
        match node:
            case ast.Starred(value=inner):
                return self.part(inner)
            case ast.Tuple(elts=[ast.Call() | ast.Constant(), ast.Attribute() as value]):
                # A child with its key, as `tree_flatten_with_keys` gives it.
                return _item(self.part(value))
        return _item(self.part(node))

    def _entry(self, key: ast.expr | None, value: ast.expr) -> Part:
        part = self.part(value)
        if key is None:
            return part
        name = part.form.alone if part.form is not None else ""
        text = key.value if isinstance(key, ast.Constant) else None
        return replace(part, form=Form(keys={text: name}) if isinstance(text, str) else None)

    def _call(self, node: ast.Call) -> Part:
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id=name), ast.Constant(value=str() as attr), *_]):
                if name == self.receiver:
                    return Part({attr: node}, form=Form(alone=attr))
            case ast.Call(func=ast.Name(id="vars"), args=[ast.Name(id=name)]) if name == self.receiver:
                return Part(others=frozenset())
            case ast.Call(func=ast.Attribute(value=base, attr="copy" | "items" | "values"), args=[]):
                return self.part(base)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=[key, *_]):
                self._removed(name, key)
                texts = self._strings(ast.Tuple([key], ast.Load()))
                return OPEN if texts is None else Part(dict.fromkeys(texts, node))
        if _last(node.func) in _CONTAINERS:
            words = [
                self._entry(None if one.arg is None else ast.Constant(one.arg), one.value) for one in node.keywords
            ]
            given = _in_a_row((*(self.part(one) for one in node.args), *words))
            return given if _last(node.func) in _KEEPING else replace(given, form=None)
        return self._derived(node)

    def _derived(self, node: ast.expr) -> Part:
        """Return what an expression is computed from: its fields are not in it as they are."""
        near: set[str] = set()
        known = True
        pending: list[ast.AST] = [node]
        while pending:
            one = pending.pop()
            match one:
                case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == self.receiver:
                    near.add(attr)
                    continue
                case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name))) if name == self.receiver:
                    # `self.x.shape` tells of a field without being it.
                    continue
                case ast.Name(id=name):
                    part = OPEN if name == self.receiver else self.names.get(name, NOTHING)
                    near |= part.fields
                    known = known and part.known and part.others is None
            pending.extend(ast.iter_child_nodes(one))
        # A method of the object may give any field.
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        return Part({}, frozenset(near), None, known and not (called and _starts_at(node, self.receiver)))

    def _comprehension(self, element: ast.expr, one: ast.comprehension) -> Part:
        match element, one:
            case (
                ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id=name), ast.Name(id=key), *_]),
                ast.comprehension(target=ast.Name(id=turn), iter=listed, ifs=[]),
            ) if name == self.receiver and key == turn:
                texts = self._strings(listed)
                return OPEN if texts is None else Part(dict.fromkeys(texts, element), form=Form(items=texts))
            case _, ast.comprehension(target=ast.Tuple(elts=[ast.Name(id=key), ast.Name()]), iter=source, ifs=tests):
                part = self.part(source)
                return part if part.others is None else self._filtered(part, key, tests, element)
        part = _joined((self.part(one.iter), self._derived(element)))
        return Part({}, part.fields, None, part.known and part.others is None)

    def _filtered(self, part: Part, key: str, tests: list[ast.expr], element: ast.expr) -> Part:
        """Read `for name, value in vars(self).items() if name not in (...)`."""
        for test in tests:
            match test:
                case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[listed]) if name == key:
                    single = isinstance(op, ast.Eq | ast.NotEq)
                    texts = self._strings(ast.Tuple([listed], ast.Load()) if single else listed)
                    if texts is not None and isinstance(op, ast.NotIn | ast.NotEq):
                        part = replace(part, others=(part.others or frozenset()).union(texts))
                        continue
                    if texts is not None and isinstance(op, ast.In | ast.Eq):
                        part = Part(dict.fromkeys(texts, element))
                        continue
            return OPEN
        return part

    def _strings(self, node: ast.expr) -> tuple[str, ...] | None:
        match node:
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(), attr=name):
                return self.texts.get(name)
        return strings(node)


def strings(node: ast.expr) -> tuple[str, ...] | None:
    """Return the items of a written tuple, list or set that holds nothing but text."""
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) if items:
            texts = [one.value for one in items if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            return tuple(texts) if len(texts) == len(items) else None
    return None


def _starts_at(node: ast.expr, receiver: str) -> bool:
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id == receiver


def _asks_base(node: ast.Call) -> bool:
    """Whether a call is that of the flatten function of a base: `super().tree_flatten()`."""
    match node.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=name):
            return "flatten" in name
    return False


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
