"""Lines that are copies of one another with a word changed in their names, and names that were left as they were."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.interpret.syntax import FUNCTIONS, FunctionNode, children, landmarks, names_in, walk
from jaxaudit.frontends.source.names.bound import bound_by, parameters
from jaxaudit.ir.members import Copy
from jaxaudit.ir.record import record
from jaxaudit.spans import span_of

_FEWEST_NAMES = 4
"""Lines with fewer names and numbers are alike by chance."""
_FEWEST_CHANGED = 2
"""One name that differs may just be another name."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_Change = tuple[str, str]

_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)


@record
class _Line:
    """One simple statement: its form without names, and its names."""

    node: ast.stmt
    form: tuple[object, ...]
    names: tuple[str, ...]
    nodes: tuple[ast.AST, ...]
    """Where each name stands."""


@record
class _Stayed:
    """A name of a copied line that has the word still."""

    kept: str
    meant: str
    """What it would be with the other word."""
    named: bool
    """Whether it is an attribute."""
    beside: bool
    """Whether the line speaks of both."""


def copies_of(module: Module) -> Iterator[Copy]:
    """Return each line of a function that is a copy of an earlier one but for a word in its names."""
    attributes = {one.attr for one in landmarks(module.tree).attributes}
    for function in _outermost(module.tree):
        for line, first, change in _copies_among(_lines(function)):
            visible = _bound_within(function)
            stayed = {
                one for one in _stayed(first, line, change) if one.meant in (attributes if one.named else visible)
            }
            # A line may bind the other one first, made of this one.
            before = _bound_before(function, line.node) if stayed else set()
            left = [one for one in stayed if not one.beside and (one.meant in before or one.meant not in line.names)]
            kept, meant = (left[0].kept, left[0].meant) if len(left) == 1 else ("", "")
            places = (span_of(line.node, module.path), span_of(first.node, module.path))
            yield Copy(*places, *change, kept, meant, mixed=bool(stayed) and not kept)


def _outermost(node: ast.AST) -> Iterator[FunctionNode]:
    """Return the functions below a node that stand in no other one."""
    pending = [node]
    for around in pending:
        for one in children(around):
            if isinstance(one, FUNCTIONS):
                yield one
            elif isinstance(one, ast.stmt):
                pending.append(one)


@lru_cache(maxsize=1)
def _bound_within(function: FunctionNode) -> set[str]:
    """Return the variables of a function and of those inside it."""
    found: set[str] = set()
    for one in walk(function):
        if isinstance(one, FUNCTIONS):
            found |= parameters(one).keys() | bound_by([one.body] if isinstance(one, ast.Lambda) else one.body).own
    return found


def _bound_before(function: FunctionNode, line: ast.stmt) -> set[str]:
    """Return the variables that a function has a value for where one of its lines runs, as it reads from the top."""
    above = [one for one in walk(function) if getattr(one, "lineno", line.lineno) < line.lineno]
    stored = {one.id for one in above if isinstance(one, ast.Name) and _is_bound(one)}
    return stored | {one.arg for one in above if isinstance(one, ast.arg)}


def _lines(function: FunctionNode) -> list[_Line]:
    """Return the statements of a function that may be copies, in order: others have their outline too."""
    outlined = defaultdict[tuple[object, ...], list[ast.stmt]](list)
    for one in walk(function):
        if isinstance(one, _SIMPLE) and isinstance(one.value, ast.Call | ast.BinOp | ast.Tuple | ast.Subscript):
            outlined[_outline(one, one.value)].append(one)
    lines = [_line(one) for likes in outlined.values() if len(likes) > 1 for one in likes]
    return sorted((one for one in lines if len(one.names) >= _FEWEST_NAMES), key=lambda one: one.node.lineno)


def _outline(node: ast.stmt, value: ast.expr) -> tuple[object, ...]:
    """Return what is seen of the form of a statement at first sight."""
    match value:
        case ast.Call(func=func, args=args, keywords=keywords):
            inside: tuple[object, ...] = func.__class__, len(args), len(keywords), *(one.__class__ for one in args)
        case ast.BinOp(left=left, op=op, right=right):
            inside = left.__class__, op.__class__, right.__class__
        case _:
            inside = tuple(one.__class__ for one in children(value))
    return node.__class__, value.__class__, *inside


def _line(node: ast.stmt) -> _Line:
    """Take a statement apart, in any order that is the same for all."""
    form: list[object] = []
    names: list[str] = []
    nodes: list[ast.AST] = []
    pending: list[object] = [node]
    while pending:
        one = pending.pop()
        form.append(one.__class__)
        if isinstance(one, ast.Name | ast.Attribute | ast.keyword | ast.Constant):
            names.append(_written(one))
            nodes.append(one)
            if isinstance(one, ast.Attribute | ast.keyword):
                pending.append(one.value)
        elif isinstance(one, list):
            form.append(len(one))
            pending += one
        elif isinstance(one, ast.AST):
            pending += [getattr(one, field) for field in one._fields if field != "ctx"]
        elif isinstance(one, str):
            form.append(one)
    return _Line(node, tuple(form), tuple(names), tuple(nodes))


def _written(node: ast.Name | ast.Attribute | ast.keyword | ast.Constant) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.keyword(arg=arg):
            return arg or "**"
        case ast.Constant(value=value):
            return repr(value)


def _copies_among(lines: Sequence[_Line]) -> Iterator[tuple[_Line, _Line, _Change]]:
    """Return each line with the nearest one before it that has the same form and differs by one word, and the word."""
    alike = defaultdict[tuple[object, ...], list[_Line]](list)
    for line in lines:
        for first in reversed(alike[line.form]):
            change = _changed(first, line)
            if change is not None:
                yield line, first, change
                break
        alike[line.form].append(line)


def _changed(first: _Line, second: _Line) -> _Change | None:
    """Return the one word by which all names that differ do so."""
    change, count = None, 0
    for old, new in zip(first.names, second.names, strict=True):
        if old != new:
            found = _change(old, new)
            if found is None or (change is not None and found != change):
                return None
            change, count = found, count + 1
    return change if count >= _FEWEST_CHANGED else None


def _stayed(first: _Line, second: _Line, change: _Change) -> Iterator[_Stayed]:
    """Return the names that stayed though they have the word."""
    called = {
        one.func for one in walk(second.node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
    }
    # What a line binds for itself alone may be called the same in all lines.
    own = {one.arg for one in walk(second.node) if isinstance(one, ast.arg)}
    own |= {name for one in walk(second.node) if isinstance(one, ast.comprehension) for name in names_in(one.target)}
    read = {name for name, node in zip(second.names, second.nodes, strict=True) if not _is_bound(node)}
    for name, other, node in zip(first.names, second.names, second.nodes, strict=True):
        free = isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and name not in own)
        if name == other and free and node not in called:
            meant = _replaced(name, change)
            if meant != name and not _is_bound(node):
                beside = meant in read or (meant in second.names and not _is_renewed(name, first))
                yield _Stayed(name, meant, isinstance(node, ast.Attribute), beside)


def _is_bound(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)


def _is_renewed(name: str, line: _Line) -> bool:
    """Whether a line binds a variable again that it reads: a copy of it binds its own and reads it, too."""
    return len({_is_bound(node) for one, node in zip(line.names, line.nodes, strict=True) if one == name}) == 2


@lru_cache(maxsize=4096)
def _change(old: str, new: str) -> _Change | None:
    """Return the one word by which two names differ: `1` and `2` of `q1` and `q2`."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    if len(before) == len(after):
        changed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
        if len(changed) == 1 and _replaced(old, changed[0]) == new:
            return changed[0]
    return None


def _replaced(name: str, change: _Change) -> str:
    """Return a name with one word exchanged, where it has it once."""
    was, now = change
    found = [one for one in _WORD.finditer(name) if one.group() == was]
    return name[: found[0].start()] + now + name[found[0].end() :] if len(found) == 1 else name
