"""Notes about names and results that leave no trace in the data flow: what is dropped, never read, or copied.

Each becomes an op without operands or results, so that analyses of values do not take it for a use.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from jaxaudit.frontends.source.interpret import subscripts
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.syntax import FunctionNode, landmarks, names_in, walk
from jaxaudit.frontends.source.names.flow import scopes_of
from jaxaudit.frontends.source.names.scope import Scope
from jaxaudit.frontends.source.notes.misfits import note_fields
from jaxaudit.frontends.source.notes.settings import read_here_alone
from jaxaudit.frontends.source.notes.unpacking import name_of
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue, written_in
from jaxaudit.frontends.source.values.heap import DictBox, ObjectBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Leaf, Record, Ref, TupleValue
from jaxaudit.frontends.source.values.structure import leaves
from jaxaudit.frontends.source.values.trees import place_of
from jaxaudit.ir import Value
from jaxaudit.ir.names import names_one
from jaxaudit.spans import Span, span_of

Leaves = tuple[Value, ...]


def scope_here(it: Interpreter) -> Scope | None:
    """Return the scope of the function or module that is interpreted; None where no path leads to it.

    Nothing is told of a file that is not audited, so nobody looks at its names.
    """
    function = it.frame.function
    if not it.frame.module.audited:
        return None
    return scopes_of(it.frame.module, it.project).get(it.frame.module.tree if function is None else function.node)


def note_dropped(it: Interpreter, node: ast.Expr, value: Abstract) -> None:
    """Note that a call stands as a statement and its result is gone."""
    if value is NONE:
        return
    function = it.frame.function
    scope = scope_here(it)
    attrs = {
        "values": _leaves(it, value),
        "guarded": scope is not None and node in scope.may_fail,
        "last": scope is not None and node in _ends(scope.node),
        # What a notebook shows stands in no block.
        "module": function is None and node in it.frame.module.tree.body,
    }
    it.emit("py.drop", it.span(node.value), attrs=attrs, results=0)


@lru_cache(maxsize=16_384)
def _ends(node: ast.Module | ast.ClassDef | FunctionNode) -> frozenset[ast.stmt]:
    """Return the statements at the ends of branches of a function that gives a value at the end of another one."""
    last = [] if isinstance(node, ast.Lambda) else list(_last(node.body))
    gives = any(isinstance(one, ast.Return) and one.value is not None for one in last)
    return frozenset(one for one in last if gives and isinstance(one, ast.Expr))


def _last(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Return the statements that a block may end with, one for each branch."""
    match body[-1:]:
        case [ast.If(body=then, orelse=[*otherwise])] if otherwise:
            yield from (*_last(then), *_last(otherwise))
        case [statement]:
            yield statement


def note_unread(
    it: Interpreter,
    node: ast.Assign | ast.AnnAssign,
    targets: list[ast.expr],
    made: ast.expr,
    before: Mapping[str, Abstract],
) -> None:
    """Note each variable that an assignment binds and nothing reads, and what it was made from, as it was before."""
    function = it.frame.function
    scope = scope_here(it)
    if function is None or scope is None:
        return
    if len(targets) > 1 and not all(isinstance(one, ast.Name) and scope.is_unread(one.id, node) for one in targets):
        # `a = b = value`: the value is read by its other name.
        return
    for target in (name for one in targets for name in _names(one)):
        if scope.is_unread(target.id, node) and target.id in it.frame.env:
            attrs = {
                "name": target.id,
                "kind": "variable",
                "values": _leaves(it, it.frame.env[target.id]),
                "made": it.span(made),
                "renews": target.id in names_in(made),
                "made_of": _made_of(it, made, before),
                "alike": _alike(it, it.frame.env[target.id], made),
                "settings": read_here_alone(it.project, made),
                "parts": _parts_named(it, it.frame.env[target.id]),
                "method": function.owner is not None and function.kind == "function",
            }
            it.emit("py.unread", it.span(target), attrs=attrs, results=0)


def note_taken(it: Interpreter, node: ast.Assign, before: Mapping[str, Abstract]) -> None:
    """Note which variables take the results of a call, and what those of them held that it was given."""
    _note_overwritten(it, node, before)
    if before is not it.frame.env:
        _note_parts(it, node, node.targets[0], before)


def _note_parts(it: Interpreter, node: ast.Assign, targets: ast.expr, before: Mapping[str, Abstract]) -> None:
    """Note what each variable of a tuple takes, and each tuple inside of it: `(loss, metrics), grads = ...`."""
    if not isinstance(targets, ast.Tuple):
        return
    names = [one.id if isinstance(one, ast.Name) else "" for one in targets.elts]
    given = set(names_in(node.value))
    classes = Counter(_kind(it, before[name]) for name in given if name in before)
    own = {name for name in given if name in before and classes[_kind(it, before[name])] == 1}
    attrs = {
        "written": tuple(names),
        "values": tuple(_leaves(it, it.frame.env[name]) if name in it.frame.env else () for name in names),
        "had": tuple(_leaves(it, before[name]) if name in given and name in before else () for name in names),
        "kinds": tuple(
            (_kind(it, it.frame.env.get(one)), _kind(it, before.get(one)) if one in own else "") for one in names
        ),
        "packed": tuple(name for name in names if name in given and _is_packed(it, name, before, node)),
    }
    it.emit("py.taken", it.span(targets), attrs=attrs, results=0)
    for one in targets.elts:
        _note_parts(it, node, one, before)


def _note_overwritten(it: Interpreter, node: ast.Assign, before: Mapping[str, Abstract]) -> None:
    """Note each variable whose value another statement bound, and that nothing has read on some path to this one."""
    scope = scope_here(it)
    if before is it.frame.env or scope is None:
        return
    for target in _names(node.targets[0]):
        if target.id in before and scope.replaces(target.id, node):
            values, had = _leaves(it, it.frame.env[target.id]), _leaves(it, before[target.id])
            attrs = {"name": target.id, "values": values, "had": had}
            it.emit("py.overwritten", it.span(target), attrs=attrs, results=0)


def _kind(it: Interpreter, value: Abstract | None) -> str:
    """Name the class that something is of for sure; empty where it is not known."""
    cls = None if value is None else _class_of(it, value)
    if isinstance(value, TupleValue):
        return "tuple"
    return cls.name if cls is not None else value.cls or "" if isinstance(value, Leaf) else ""


def _is_packed(it: Interpreter, name: str, before: Mapping[str, Abstract], node: ast.Assign) -> bool:
    """Whether a variable that a call was given as one of several parts now holds as many parts in its place."""
    count = _count(it, it.frame.env.get(name)) if isinstance(before.get(name), Leaf) else 0
    wholes = (_put_together(it, one) for one in walk(node.value)) if count > 1 else ()
    return any(
        len(parts) == count and any(isinstance(one, ast.Name) and one.id == name for one in parts) for parts in wholes
    )


def _count(it: Interpreter, value: Abstract | None) -> int:
    """Return how many parts a tuple, dict or record has."""
    match it.heap[value] if isinstance(value, Ref) else value:
        case TupleValue(items=parts) | Record(items=parts) | DictBox(entries=parts) | ObjectBox(attrs=parts):
            return len(parts)
    return 0


def _put_together(it: Interpreter, node: ast.AST) -> list[ast.expr]:
    """Return the parts that an expression puts into a tuple, list, dict or record."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return parts
        case ast.Call(func=ast.Name() as func) if isinstance(
            held(it, func) or it.frame.module.member(func.id), ClassValue
        ):
            return [*node.args, *(one.value for one in node.keywords)]
    return []


def _names(target: ast.expr) -> Iterator[ast.Name]:
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from _names(item)


def _made_of(it: Interpreter, made: ast.expr, before: Mapping[str, Abstract]) -> Mapping[str, Leaves]:
    """Return the variables and parts of objects that an expression reads, with their leaves."""
    found = {name: _leaves(it, before[name]) for name in names_in(made) if name in before}
    for part in _parts(it, made):
        path, kept = path_of(part), held(it, part)
        if kept is not None and path:
            found.setdefault(path[-1], _leaves(it, kept))
    return found


def _alike(it: Interpreter, value: Abstract, made: ast.expr) -> tuple[str, ...]:
    """Return the variables of an expression that hold another record of the class of a value."""
    cls = _class_of(it, value)
    others = [(name, it.frame.env[name]) for name in names_in(made) if name in it.frame.env] if cls is not None else ()
    return tuple(name for name, other in others if other != value and _class_of(it, other) is cls)


def _parts_named(it: Interpreter, value: Abstract) -> tuple[str, ...]:
    """Return the names of the fields of a record, or of the entries of a mapping."""
    held = it.heap[value] if isinstance(value, Ref) else value
    match held:
        case Record() | ObjectBox():
            return tuple(held.cls.fields)
        case DictBox():
            return tuple(key for key in held.entries if isinstance(key, str))
    return ()


def _class_of(it: Interpreter, value: Abstract) -> ClassValue | None:
    held = it.heap[value] if isinstance(value, Ref) else value
    return held.cls if isinstance(held, (Record, ObjectBox)) else None


def _parts(it: Interpreter, made: ast.expr) -> Iterator[ast.Attribute | ast.Subscript]:
    """Return the parts of objects that an expression reads, by itself or in the functions of this frame it mentions."""
    mentioned = [it.frame.env.get(name) for name in names_in(made)]
    own = [one.node for one in mentioned if isinstance(one, FunctionValue) and one.frame is it.frame]
    for one in (inner for node in (made, *own) for inner in walk(node)):
        if isinstance(one, (ast.Attribute, ast.Subscript)) and isinstance(one.ctx, ast.Load):
            yield one


def path_of(node: ast.AST) -> tuple[str, ...]:
    """Return the names of an object and of the part of it that an expression reads: `('self', 'self.state')`."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=base, attr=name):
            above = path_of(base)
            return (*above, f"{above[-1]}.{name}") if above else ()
        case ast.Subscript(value=base, slice=ast.Constant(value=key)):
            above = path_of(base)
            return (*above, f"{above[-1]}[{key!r}]") if above else ()
    return ()


def held(it: Interpreter, node: ast.expr) -> Abstract | None:
    """Return what a part of an object holds, without reading it; None where that is not known."""
    if isinstance(node, ast.Name):
        return it.frame.env.get(node.id)
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return None
    base = held(it, node.value)
    if isinstance(base, Leaf):
        return it.loaded.get((base.value, _entry_of(node)))
    box = it.heap[base] if isinstance(base, Ref) else None
    match node, base, box:
        case ast.Attribute(attr=name), Record(), _:
            return base.field(name)
        case ast.Attribute(attr=name), _, ObjectBox():
            return box.attrs.get(name)
        case ast.Subscript(slice=ast.Constant(value=key)), _, DictBox():
            return box.entries.get(key)
    return None


def _entry_of(node: ast.Attribute | ast.Subscript) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    return subscripts.entry_key(key) if isinstance(key, str) else ""


def note_replaced(it: Interpreter, old: Abstract, cls: ClassValue, method: str, given: Arguments, span: Span) -> None:
    """Note that a copy of a record is made with some fields changed."""
    whole = {name: one.value for name, one in given.keywords.items() if isinstance(one, Leaf)}
    before = {name: held for name in given.keywords if (held := _field(it, old, name)) is not None}
    again = {name: had for name, held in before.items() if (had := _put_back(it, held, given.keywords[name]))}
    attrs: dict[str, object] = {"class": cls.name, "where": place_of(cls), "method": method, "given": whole}
    attrs["values"] = _leaves(it, old)
    if again:
        attrs |= {"again": again, "places": _written_at(it, span)}
    it.emit("py.replace", span, attrs=attrs, results=0)
    note_fields(it, cls, method, given, span)


def _written_at(it: Interpreter, span: Span) -> Mapping[str, Span]:
    """Return where each argument of a call is written, by its keyword."""
    module = it.frame.module
    call = _calls(module.tree).get(span[1:]) if span.path == module.path else None
    return {} if call is None else {one.arg: it.span(one.value) for one in call.keywords if one.arg is not None}


@lru_cache(maxsize=4096)
def _calls(tree: ast.Module) -> Mapping[tuple[object, ...], ast.Call]:
    """Return the calls of a module by their places."""
    return {span_of(one, "")[1:]: one for one in reversed(landmarks(tree).calls)}


def note_record(it: Interpreter, cls: ClassValue, fields: Mapping[str, Abstract], span: Span) -> None:
    """Note what a record is made of: whoever asks where a value was recorded finds the place."""
    whole = {name: one.value for name, one in fields.items() if isinstance(one, Leaf)}
    if len(whole) > 1:
        it.emit("py.record", span, attrs={"class": cls.name, "where": place_of(cls), "given": whole}, results=0)


def note_entries(it: Interpreter, entries: Mapping[object, Abstract], span: Span) -> None:
    """Note what a dict is made of, where all its keys are words."""
    whole = {name: one.value for name, one in entries.items() if isinstance(one, Leaf) and isinstance(name, str)}
    if len(whole) > 1 and all(isinstance(name, str) for name in entries):
        it.emit("py.record", span, attrs={"class": "", "where": span, "given": whole}, results=0)


def _put_back(it: Interpreter, held: Abstract, new: Abstract) -> tuple[Value, ...]:
    """Return the leaves of what a field held, where it is given just that again; a copy of it is another object."""
    had = _leaves(it, held)
    if isinstance(held, Ref) and isinstance(new, Ref) and held != new:
        return ()
    return had if had == _leaves(it, new) else ()


def _field(it: Interpreter, record: Abstract, name: str) -> Abstract | None:
    box = it.heap[record] if isinstance(record, Ref) else None
    if isinstance(record, Record):
        return record.field(name)
    return box.attrs.get(name) if isinstance(box, ObjectBox) else None


def note_alias(it: Interpreter, node: ast.expr, value: Abstract, newest: int) -> None:
    """Note that a variable gets what another one, or a part of it, holds: what was there before the statement."""
    if isinstance(node, ast.Tuple) and isinstance(value, TupleValue) and len(node.elts) == len(value.items):
        for inner, item in zip(node.elts, value.items, strict=True):
            note_alias(it, inner, item, newest)
    elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        held = _leaves(it, value)
        if held and all(leaf.id <= newest for leaf in held):
            it.emit("py.again", it.span(node), attrs={"values": held}, results=0)


def note_kept(it: Interpreter, values: Iterable[Abstract], span: Span) -> None:
    """Note what a turn of one of JAX's loops leaves as it is because Python knew the answer to a question."""
    held = dict.fromkeys(leaf for value in values for leaf in _leaves(it, value)) if it.in_loop else ()
    if held:
        it.emit("py.kept", span, attrs={"values": tuple(held)}, results=0)


def note_again(it: Interpreter, parts: Iterable[tuple[ast.expr, Abstract]]) -> None:
    """Note each part of what is built whose leaves another part has already."""
    seen: set[Value] = set()
    for node, value in parts:
        held = _leaves(it, value)
        if held and seen.issuperset(held):
            it.emit("py.again", it.span(node), attrs={"values": held}, results=0)
        seen.update(held)


def note_passed(it: Interpreter, node: ast.Call, callee: Abstract, given: Arguments) -> None:
    """Note a call in which two or more arguments have the names of parameters of the callee."""
    named = _parameters_of(callee)
    if len(named) + len(node.keywords) < 2 or any(isinstance(one, ast.Starred) for one in node.args):
        return
    written = tuple(name_of(one) for one in node.args)
    params, frame = named[: len(written)], it.frame
    twice = _given_twice(it, node, params)
    if not twice and (
        len(written) != len(params) or sum(any(names_one(name, one) for one in params) for name in written) < 2
    ):
        return
    attrs = {
        "function": _callee_name(node, callee),
        "written": written,
        "params": params,
        "values": tuple(_leaves(it, value) for value in given.positional),
        "caller": "" if frame.function is None else frame.function.name,
        "own": _own(it, node, callee),
        "twice": twice,
    }
    attrs |= {"had": tuple(_leaves(it, frame.env[name]) for name in twice)} if twice else {}
    it.emit("py.passed", it.span(node), attrs=attrs, results=0)


def _own(it: Interpreter, node: ast.Call, callee: Abstract) -> tuple[str, ...]:
    """Return the names that the caller itself has: its parameters, and the parts of an object that it makes again."""
    function = it.frame.function
    params = () if function is None else tuple(one.arg for one in function.node.args.args)
    whole = [one.value for one in node.args if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)]
    again = isinstance(callee, ClassValue) and any(_class_of(it, it.evaluate(one)) is callee for one in whole)
    return (*params, *_parameters_of(callee)) if again else params


def _parameters_of(callee: Abstract) -> tuple[str, ...]:
    """Return the names of the parameters of a function, or of the fields of a record."""
    function, bound = written_in(callee)
    if function is not None:
        return tuple(one.arg for one in (*function.node.args.posonlyargs, *function.node.args.args))[bound:]
    return tuple(callee.fields) if isinstance(callee, ClassValue) else ()


def _callee_name(node: ast.Call, callee: Abstract) -> str:
    function, _ = written_in(callee)
    return function.name if function is not None else name_of(node.func)


def _given_twice(it: Interpreter, node: ast.Call, params: tuple[str, ...]) -> tuple[str, ...]:
    """Return a parameter and the variable that it takes, which its own parameter takes too: `f(x=y, y=y)`.

    There is a variable of the name of the parameter, which the call is not given.
    """
    pairs = [*zip(params, node.args, strict=False), *((one.arg, one.value) for one in node.keywords)]
    named = {param: one.id for param, one in pairs if param is not None and isinstance(one, ast.Name)}
    for param, name in named.items():
        if param != name and named.get(name) == name and param not in named.values() and param in it.frame.env:
            return (param, name)
    return ()


def _leaves(it: Interpreter, value: Abstract) -> Leaves:
    return tuple(dict.fromkeys(leaves(it, value)))
