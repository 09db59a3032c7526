"""What a constructor asks of its parameters: a number, a truth value, a NumPy array.

Every transformation calls the constructor again where an unflatten function does, with tracers in place of arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from jaxaudit.frontends.source.interpret.syntax import walk

_NUMBERS = frozenset("float int bool complex".split())
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_BLOCKS = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.FunctionDef, ast.ClassDef, ast.Match)


def asked_values(
    init: ast.FunctionDef, params: frozenset[str], tree: ast.Module
) -> Iterator[tuple[str, str, ast.expr]]:
    """Return the parameters whose value a constructor needs on every path, with what needs it and where."""
    left = set(params)
    for node in init.body:
        if isinstance(node, ast.If):
            yield from ((name, "if", node.test) for name in sorted(left) if _is_compared(node.test, name))
        elif isinstance(node, ast.Assert):
            yield from ((name, "assert", node.test) for name in sorted(left) if _is_compared(node.test, name))
        elif not isinstance(node, _BLOCKS):
            yield from _converted(node, left, numpy_names(tree))
        if isinstance(node, _BLOCKS) and any(isinstance(one, ast.Return) for one in walk(node)):
            # What comes after it may not run for tracers.
            return
        left -= {one.id for one in walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _is_compared(test: ast.expr, name: str) -> bool:
    """Whether a test asks for the order of a parameter and something else, and for nothing before that."""
    match test:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, _ORDER):
            return any(isinstance(side, ast.Name) and side.id == name for side in (left, right))
        case ast.UnaryOp(op=ast.Not(), operand=inner) | ast.BoolOp(values=[inner, *_]):
            return _is_compared(inner, name)
    return False


def _converted(node: ast.stmt, params: set[str], numpy: frozenset[str]) -> Iterator[tuple[str, str, ast.expr]]:
    for one in _evaluated(node):
        match one:
            case ast.Call(func=ast.Name(id=function), args=[ast.Name(id=name)]) if function in _NUMBERS:
                if name in params:
                    yield name, function, one
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr="array" | "asarray" as function)):
                first = one.args[0] if one.args else None
                if module in numpy and isinstance(first, ast.Name) and first.id in params:
                    yield first.id, f"np.{function}", one
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item" | "tolist" as function), args=[]):
                if name in params:
                    yield name, function, one


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Return what a statement surely evaluates: not what a condition, a lambda or a comprehension leaves for later."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.IfExp | ast.BoolOp | ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp):
            yield from _evaluated(child)


@lru_cache(maxsize=4096)
def numpy_names(tree: ast.Module) -> frozenset[str]:
    """Return the names that a module has for NumPy."""
    aliases = [one for node in tree.body if isinstance(node, ast.Import) for one in node.names]
    return frozenset(one.asname or one.name for one in aliases if one.name == "numpy")
