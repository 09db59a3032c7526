"""Keywords that only `**` takes: whether the function reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from jaxaudit.frontends.source.interpret.syntax import FunctionNode, walk
from jaxaudit.frontends.source.values.arguments import parameters
from jaxaudit.frontends.source.values.callables import FunctionValue
from jaxaudit.ir.fits import Option

_BY_NAME = frozenset(("get", "pop", "setdefault"))
"""Methods of a dict that read one entry."""


def options(function: FunctionValue, names: tuple[str, ...]) -> Iterator[Option]:
    """Judge keywords that a function takes by `**`; none where it hands them on as a whole."""
    read = _read_by_name(function.node)
    for name in names if read is not None else ():
        meant = "" if read is None or name in read else next(_takers(function, name), "")
        yield Option(name, name in (read or ()), tuple(sorted(read or ())), meant)


@lru_cache(maxsize=8192)
def _read_by_name(node: FunctionNode) -> frozenset[str] | None:
    """Return the entries of `**` that a function reads; None where it goes elsewhere, or is dropped on purpose."""
    taken = node.args.kwarg
    if taken is None or taken.arg.startswith("_"):
        return None
    inside = walk(*(node.body if isinstance(node.body, list) else [node.body]))
    spoken_of = [one for one in inside if isinstance(one, ast.Name) and one.id == taken.arg]
    found: dict[ast.Name, str] = {}
    for one in inside:
        match one:
            case ast.Subscript(value=ast.Name() as base, slice=ast.Constant(value=str(name)), ctx=ast.Load()):
                found[base] = name
            case ast.Call(
                func=ast.Attribute(value=ast.Name() as base, attr=method), args=[ast.Constant(value=str(name)), *_]
            ) if method in _BY_NAME:
                found[base] = name
            case ast.Compare(left=ast.Constant(value=str(name)), comparators=[ast.Name() as base]):
                found[base] = name
    return frozenset(found[one] for one in spoken_of) if all(one in found for one in spoken_of) else None


def _takers(function: FunctionValue, name: str) -> Iterator[str]:
    """Return the functions of its module that a function calls without a keyword that they have a parameter for."""
    for call in walk(function.node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            called = function.module.member(call.func.id)
            if isinstance(called, FunctionValue) and name in parameters(called).named:
                place = parameters(called).places.index(name) if name in parameters(called).places else len(call.args)
                if place >= len(call.args) and all(word.arg not in (name, None) for word in call.keywords):
                    yield called.name
