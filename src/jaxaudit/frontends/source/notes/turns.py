"""What the turns of a Python loop leave to one another and to what comes after: syntax alone.

Each occurrence becomes a note, `py.turn`, of one kind; `problem` says what is wrong with it, if anything.

- `closure`: a function that is made in a turn and reads a variable that the next turn binds again.
- `batch`: a list that turns fill and that is given away when it is long enough.
- `iterator`: an iterator that a loop runs over and that its body takes elements from, too.
- `sum`: a number that turns add to and that is read after the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.syntax import FUNCTIONS, FunctionNode, children, names_in, walk
from jaxaudit.frontends.source.names.scope import Scope
from jaxaudit.frontends.source.notes.bindings import scope_here
from jaxaudit.frontends.source.values.frames import assigned_names

_Loop = ast.For | ast.AsyncFor | ast.While
_Binding = ast.Assign | ast.AugAssign | ast.NamedExpr
_Around = ast.Module | FunctionNode
_HOLDING = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""What may have statements right below it."""
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp
_GROWS = ("append", "add", "insert", "extend", "appendleft")
"""The methods of containers of Python that put something in."""
_SHRINKS = ("clear", "pop", "popleft", "remove")
"""Those that take something out."""


class Turn(NamedTuple):
    """One occurrence: its kind, the place, the variable that it is about, and what is wrong."""

    kind: str
    at: ast.expr | ast.stmt
    name: str
    problem: str = ""


def note_turns(it: Interpreter, node: _Loop | _COMPREHENSIONS) -> None:
    """Note what a loop of Python leaves behind."""
    function = it.frame.function
    around = it.frame.module.tree if function is None else function.node
    for turn in _left_behind(node, around, scope_here(it)):
        attrs = {"kind": turn.kind, "name": turn.name, "problem": turn.problem}
        it.emit("py.turn", it.span(turn.at), attrs=attrs, results=0)


@lru_cache(maxsize=16_384)
def _left_behind(node: _Loop | _COMPREHENSIONS, around: _Around, scope: Scope | None) -> tuple[Turn, ...]:
    """Return what a loop in a function or module leaves behind."""
    if isinstance(node, _COMPREHENSIONS):
        return tuple(_held_functions(node))
    found = [*_closures(node), *_batches(node)]
    if not isinstance(node, ast.While):
        found += (*_drawn(node, scope), *_sums(node, _below(around)))
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def _below(around: _Around) -> list[ast.AST]:
    """Return all that a function or module runs by itself."""
    return [one for part in children(around) for one in _own_nodes(part)]


# Functions that are made in a turn


def _closures(loop: _Loop) -> Iterator[Turn]:
    own = [one for statement in loop.body for one in _own_nodes(statement)]
    changing, bound = _changing(loop), assigned_names(loop)
    functions = {one.name: one for one in own if isinstance(one, ast.FunctionDef)}
    kept = {id(one) for node in own for stored in _stored(node, bound) for one in _as_is(stored, functions)}
    called = {id(one.func) for one in own if isinstance(one, ast.Call)}
    handed = {one.id for one in own if isinstance(one, ast.Name) and not _is_stored(one) and id(one) not in called}
    for one in own:
        if isinstance(one, FUNCTIONS):
            free = id(one) not in called if isinstance(one, ast.Lambda) else one.name in handed or one.decorator_list
            for name in sorted(_captured(one) & changing):
                yield Turn("closure", one, name, "kept" if id(one) in kept else "handed" if free else "")


def _held_functions(node: _COMPREHENSIONS) -> Iterator[Turn]:
    """Return the functions that the items of a comprehension are, and that read its variables."""
    bound = {name for one in node.generators for name in names_in(one.target)}
    items = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
    for one in (held for item in items for held in _as_is(item, {})):
        yield from (Turn("closure", one, name, "kept") for name in sorted(_captured(one) & bound))


def _own_nodes(node: ast.AST) -> list[ast.AST]:
    """Return a node and those below it, without what inner functions run later."""
    found = [node]
    for one in found:
        found += () if isinstance(one, FUNCTIONS) else children(one)
    return found


def _changing(loop: _Loop) -> set[str]:
    """Return the variables that differ from turn to turn: the target, and what is computed from it or from itself."""
    found = set() if isinstance(loop, ast.While) else set(names_in(loop.target))
    bindings = [
        (set(_targets(one)), one) for statement in loop.body for one in walk(statement) if isinstance(one, _Binding)
    ]
    while True:
        more = {
            name
            for names, one in bindings
            for name in names - found
            if isinstance(one, ast.AugAssign) or (found | names).intersection(names_in(one.value))
        }
        if not more:
            return found
        found |= more


def _targets(node: _Binding) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [one.id for target in targets for one in walk(target) if isinstance(one, ast.Name) and _is_stored(one)]


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _captured(node: FunctionNode) -> set[str]:
    """Return the variables that a function reads when it is called, and takes from around it."""
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    own = {one.arg for part in (node.args, *body) for one in walk(part) if isinstance(one, ast.arg)}
    names = [one for part in body for one in walk(part) if isinstance(one, ast.Name)]
    return {one.id for one in names} - own - {one.id for one in names if _is_stored(one)}


def _stored(node: ast.AST, bound: frozenset[str]) -> Iterator[ast.expr]:
    """Return what a statement puts into something that was there before the turn."""
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr=method), args=args) if method in _GROWS:
            yield from args if _is_from_before(base, bound) else ()
        case ast.Assign(targets=[ast.Subscript(value=base)], value=value):
            if _is_from_before(base, bound):
                yield value


def _is_from_before(node: ast.expr, bound: frozenset[str]) -> bool:
    names = names_in(node)
    return bool(names) and bound.isdisjoint(names)


def _as_is(node: ast.expr, functions: dict[str, ast.FunctionDef]) -> Iterator[FunctionNode]:
    """Return the functions that an expression is or holds, uncalled."""
    match node:
        case ast.Lambda():
            yield node
        case ast.Name(id=name) if name in functions:
            yield functions[name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _as_is(part, functions)


# Lists that are filled and given away


def _batches(loop: _Loop) -> Iterator[Turn]:
    own = [one for statement in loop.body for one in _own_nodes(statement)]
    filled = {base for one in own if (base := _filled(one))}
    for test in (one for one in own if isinstance(one, ast.If)):
        for name in filled.intersection(_measured(test.test)):
            inside = (one for statement in test.body for one in _own_nodes(statement))
            given = [one for one in inside if isinstance(one, ast.Yield) and _gives_away(one, name)]
            if given:
                exact = any(isinstance(one, ast.Eq) for part in walk(test.test) for one in getattr(part, "ops", ()))
                if any(_empties(one, name) for one in own):
                    yield Turn("batch", given[0], name)
                elif any(_hands_on(one, name) for one in own):
                    yield Turn("batch", given[0], name, "handed")
                else:
                    yield Turn("batch", given[0], name, "once" if exact else "grows")


def _filled(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend")):
            return name
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List() | ast.ListComp()):
            return name
    return ""


def _measured(test: ast.expr) -> set[str]:
    """Return the variables whose length a condition compares."""
    found = set[str]()
    for one in walk(test):
        match one:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]), ops=[ast.Eq() | ast.GtE() | ast.Gt()]
            ):
                found.add(name)
    return found


def _gives_away(node: ast.Yield, name: str) -> bool:
    return node.value is not None and name in names_in(node.value)


def _empties(node: ast.AST, name: str) -> bool:
    """Whether a node empties a list, at least in part: binds it again, deletes or takes out what it holds."""
    match node:
        case ast.Name(id=found, ctx=ast.Store() | ast.Del()):
            return found == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=method)) if found == name:
            return method in _SHRINKS
        case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store() | ast.Del()):
            return found == name
    return False


def _hands_on(node: ast.AST, name: str) -> bool:
    """Whether a node hands a list to a function or method, which may empty it or copy it."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=method)) if found == name:
            return method not in _GROWS
        case ast.Call(func=function, args=args, keywords=keywords):
            given = (*args, *(one.value for one in keywords))
            counts = isinstance(function, ast.Name) and function.id == "len"
            return not counts and any(isinstance(one, ast.Name) and one.id == name for one in given)
    return False


# Iterators that the body takes elements from


def _drawn(loop: ast.For | ast.AsyncFor, scope: Scope | None) -> Iterator[Turn]:
    source, target = loop.iter, loop.target
    match source, target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]), ast.Tuple(elts=[_, element]):
            source, target = inner, element
    if not isinstance(source, ast.Name):
        return
    taken = [kind for statement in loop.body for one in walk(statement) if (kind := _takes(one, source.id))]
    if taken:
        names = names_in(target)
        if scope is not None and any(scope.is_read(name, loop) for name in names):
            problem = ""
        elif scope is not None and all(scope.is_unread(name, loop) for name in names):
            problem = "lost" if "next" in taken else "maybe lost"
        else:
            problem = "open"
        yield Turn("iterator", loop.target, source.id, problem)


def _takes(node: ast.AST, name: str) -> str:
    """Say how a node takes elements of an iterator; empty where it does not."""
    match node:
        case ast.Call(func=ast.Name(id="next"), args=[ast.Name(id=found), *_]) if found == name:
            return "next"
        case ast.Call(func=ast.Name(id="islice") | ast.Attribute(attr="islice"), args=[ast.Name(id=found), *_]):
            return "islice" if found == name else ""
    return ""


# Numbers that turns add to


def _sums(loop: ast.For | ast.AsyncFor, around: list[ast.AST]) -> Iterator[Turn]:
    before = {name: one.value for one in _before(loop, around) if (name := _starts_at(one))}  # type: ignore[attr-defined]
    later = [one for one in around if before and getattr(one, "lineno", 0) > (loop.end_lineno or loop.lineno)]
    own = [one for statement in loop.body for one in _own_nodes(statement)]
    summed = {name for one in own if isinstance(one, ast.AugAssign) and (name := _sum_of(one))}
    for name, start in before.items():
        bindings = [one for one in own if isinstance(one, _Binding) and name in _targets(one)]
        adds = [one for one in bindings if _adds_to(one, name)]
        if adds and len(adds) == len(bindings):
            early = [one for one in own if isinstance(one, ast.Return) and _throws_away(one, name, start, later)]
            yield Turn("sum", early[0] if early else adds[0], name, "thrown away" if early else "")
        elif len(bindings) == 1 and name not in _read_in(own) and not isinstance(bindings[0], ast.AugAssign):
            if bindings[0] in loop.body and any(_is_mean(one, name, loop) for one in later):
                yield Turn("sum", bindings[0], name, "overwritten")
            elif name in _read_in(later) and any(_is_number(before[one], start) for one in summed & before.keys()):
                yield Turn("sum", bindings[0], name, "overwritten beside")


def _before(loop: ast.stmt, around: list[ast.AST]) -> list[ast.stmt]:
    """Return the statements that run before a loop in its own block."""
    holders = (one for one in around if isinstance(one, _HOLDING))
    blocks = (getattr(one, name, None) for one in holders for name in ("body", "orelse", "finalbody"))
    inner = next((block for block in blocks if isinstance(block, list) and loop in block), None)
    block = [one for one in around if isinstance(one, ast.stmt)] if inner is None else inner
    return block[: block.index(loop)] if loop in block else []


def _starts_at(node: ast.stmt) -> str:
    """Return the variable that a statement sets to a number."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float() as number)):
            return "" if isinstance(number, bool) else name
    return ""


def _adds_to(node: ast.AST, name: str) -> bool:
    match node:
        case ast.AugAssign(op=ast.Add() | ast.Sub()):
            return True
        case ast.Assign(value=ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right)):
            return any(isinstance(one, ast.Name) and one.id == name for one in (left, right))
    return False


def _sum_of(node: ast.AugAssign) -> str:
    """Return the variable that a statement adds something to, which does not only count."""
    match node:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
            return "" if isinstance(value, ast.Constant) else name
    return ""


def _throws_away(node: ast.Return, name: str, start: ast.expr, later: list[ast.AST]) -> bool:
    """Whether a `return` in a loop gives the number that a sum started from where the one after it gives the sum."""
    for one in later:
        if isinstance(one, ast.Return) and one.value is not None and node.value is not None:
            for given, summed in zip(_parts(node.value), _parts(one.value), strict=False):
                if isinstance(summed, ast.Name) and summed.id == name and _is_number(given, start):
                    return True
    return False


def _parts(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _is_number(node: ast.expr, start: ast.expr) -> bool:
    """Whether an expression is a number, or an array made of it and of nothing else."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        node = node.args[0]
    return isinstance(node, ast.Constant) and isinstance(start, ast.Constant) and node.value == start.value is not False


def _read_in(nodes: list[ast.AST]) -> set[str]:
    return {one.id for one in nodes if isinstance(one, ast.Name) and not _is_stored(one)}


def _is_mean(node: ast.AST, name: str, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a node divides a variable by the number of turns of a loop."""
    match node:
        case ast.BinOp(op=ast.Div(), left=ast.Name(id=found), right=count) if found == name:
            return ast.unparse(count) in _counts(loop)
        case ast.AugAssign(target=ast.Name(id=found), op=ast.Div(), value=count) if found == name:
            return ast.unparse(count) in _counts(loop)
    return False


def _counts(loop: ast.For | ast.AsyncFor) -> set[str]:
    """Return how the number of turns of a loop may be written."""
    source = loop.iter
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.args:
        if source.func.id == "range" and len(source.args) == 1:
            return {ast.unparse(source.args[0])}
        source = source.args[0] if source.func.id == "enumerate" else source
    return {f"len({ast.unparse(source)})"}
