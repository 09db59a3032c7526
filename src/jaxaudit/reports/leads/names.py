"""Names that nothing reads, or that are bound again first: what the walk over every scope says, whoever calls."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from jaxaudit.analyses.queries import whole_of
from jaxaudit.ir import Op
from jaxaudit.ir.reads import Dead
from jaxaudit.reports.leads.base import Fact, Look, listed
from jaxaudit.rules.intent.names import is_newer, is_unwanted, older_names
from jaxaudit.spans import span_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_MANY = 3
"""So many functions that leave a parameter of one name alone keep to an interface."""


def unread_value(look: Look) -> Iterator[Fact]:
    """List the values that a function binds and nothing reads; one key more than is needed is common."""
    notes = {op.span: op for op in look.facts.program.named("py.unread") if op.kind == "variable"}
    for one in _dead(look):
        note = notes.get(one.span)
        data = {name for name, leaves in (note.made_of or {}).items() if leaves} if note is not None else set()
        instead = [
            f"; `{name}`, which it was made of, is read on line {at.line}" for name, at in one.instead if name in data
        ]
        if one.again is None:
            weight = 2 if note is not None and _is_key(note, look) else 8 if instead else 6
            yield Fact(one.span, f"`{one.name}` is bound here and never read{''.join(instead[:1])}", weight)


def _is_key(note: Op, look: Look) -> bool:
    flow = look.facts.flow
    makers = (flow.maker(whole_of(flow, value)) for value in note.values or ())
    return any(op is not None and op.name.startswith("key.") and op.name != "key.draw" for op in makers)


def bound_again(look: Look) -> Iterator[Fact]:
    """List the values whose name is bound again before anything reads them."""
    for one in _dead(look):
        if one.again is not None:
            yield Fact(one.span, f"`{one.name}` is bound again on line {one.again.line}, before anything reads it", 8)


def _dead(look: Look) -> Iterator[Dead]:
    for scope in look.facts.program.reads:
        for one in scope.dead if scope.span.path in look.paths else ():
            if not one.param and not is_unwanted(one.name):
                yield one


def unread_parameter(look: Look) -> Iterator[Fact]:
    """List the parameters that a function never reads, where nothing but its author says what it takes."""
    notes = {op.span: op for op in look.facts.program.named("py.unread") if op.kind == "parameter" and _is_free(op)}
    functions = defaultdict[str, set[str]](set)
    for op in notes.values():
        functions[op.label].add(op.qualified)
    for op in notes.values():
        if len(functions[op.label]) < _MANY:
            yield Fact(op.span, f"`{op.qualified}` never reads its parameter `{op.label}`", 7)


def _is_free(op: Op) -> bool:
    dictated = op.is_stub or op.may_override or op.qualified == "lambda"
    is_object = op.is_method and op.position == 0
    return not (dictated or is_object or is_unwanted(op.label)) and op.read_count != 0


def older_name_read(look: Look) -> Iterator[Fact]:
    """List where a function still reads a name once another one is bound that is called the newer of it."""
    for path in sorted(look.paths):
        for node in look.nodes(path):
            for (old, new, bound), reads in _older_reads(node).items() if isinstance(node, _Function) else ():
                lines = list(dict.fromkeys(str(one.lineno) for one in reads))
                also = f" and on {listed(lines[1:])}" if len(lines) > 1 else ""
                yield Fact(span_of(reads[0], path), f"`{old}` is read here{also}, after line {bound} bound `{new}`", 5)


def _older_reads(function: _Function) -> dict[tuple[str, str, int], list[ast.stmt]]:
    """Return the statements that read an older name and not the newer one, by both and where that is bound."""
    found = defaultdict[tuple[str, str, int], list[ast.stmt]](list)
    bound: dict[str, int] = {}
    for statement in _own(function):
        if not isinstance(statement, ast.stmt) or hasattr(statement, "body"):
            continue
        names = [one for one in ast.walk(statement) if isinstance(one, ast.Name)]
        read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
        for new, line in bound.items():
            for old in sorted(read & older_names(new)) if new not in read else ():
                found[old, new, line].append(statement)
        for name in (one.id for one in names if isinstance(one.ctx, ast.Store)):
            bound = {one: line for one, line in bound.items() if not is_newer(one, name)}
            # Few names say that they are the newer of anything.
            bound |= {name: statement.lineno} if older_names(name) else {}
    return found


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Return the nodes of a function in the order of the text, without those of functions inside."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _Function | ast.Lambda | ast.ClassDef):
            yield from _own(child)
