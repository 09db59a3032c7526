"""What callers rely on of a function, by its syntax: which parameters it has, and how many values it returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jaxaudit.changes.alignment import Alignment
from jaxaudit.changes.forms import Forms
from jaxaudit.reports.change import BoundaryChange

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Signature:
    """What callers see of a function."""

    line: int
    parameters: tuple[str, ...]
    returns: int | None
    """How many values it returns as a tuple; None where that differs or cannot be told."""


def signature_changes(sides: Alignment) -> Iterator[BoundaryChange]:
    """Return the functions that take or return another number of values than before, in files that differ."""
    for path in sides.before.state.files:
        if not sides.is_same(path):
            now = sides.path(path)
            old, new = signatures(sides.before.forms(path)), signatures(sides.after.forms(now))
            for name in old.keys() & new.keys():
                yield from _compared(now, name, old[name], new[name])


def _compared(path: str, name: str, old: Signature, new: Signature) -> Iterator[BoundaryChange]:
    if old.returns is not None and new.returns is not None and old.returns != new.returns:
        text = f"`{name}` returns {_values(new.returns)} now, and returned {_values(old.returns)}"
        yield BoundaryChange("results", path, new.line, name, str(old.returns), str(new.returns), text)
    if len(old.parameters) != len(new.parameters):
        gained = [one for one in new.parameters if one not in old.parameters]
        lost = [one for one in old.parameters if one not in new.parameters]
        parts = (f"takes {_listed(gained)} too" if gained else "", f"does not take {_listed(lost)}" if lost else "")
        text = f"`{name}` {' and '.join(filter(None, parts))} now"
        told = (", ".join(old.parameters), ", ".join(new.parameters))
        yield BoundaryChange("parameters", path, new.line, name, *told, text)


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def signatures(forms: Forms) -> Mapping[str, Signature]:
    """Return the signature of every function of a file, by its qualified name."""
    if forms.tree is None:
        return {}
    return {name: _signature(node) for name, node in _functions(forms.tree, "")}


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
        named = isinstance(child, Function | ast.ClassDef)
        yield from _functions(child, f"{prefix}{child.name}." if named else prefix)


def _signature(node: Function) -> Signature:
    args = node.args
    names = [one.arg for one in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    counts = {_count(one.value) for one in _returns(node)}
    return Signature(node.lineno, tuple(names), counts.pop() if len(counts) == 1 else None)


def _count(value: ast.expr | None) -> int | None:
    """Return how many values a returned expression is, None where it may be a tuple that was made elsewhere."""
    match value:
        case ast.Tuple(elts=items):
            return None if any(isinstance(one, ast.Starred) for one in items) else len(items)
        case None | ast.Constant():
            return 1
    return None


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        if not isinstance(child, Function | ast.ClassDef | ast.Lambda):
            yield from _returns(child)
