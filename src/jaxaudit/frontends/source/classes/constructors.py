"""What a constructor asks of its parameters: a number, a truth value, a NumPy array.

Every transformation calls the constructor again where an unflatten function does, with tracers in place of arrays.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from jaxaudit.frontends.source.interpret.syntax import walk
from jaxaudit.ir.functions import FLOATING, GROWING
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.methods import DELEGATING, SHAPE_ALONE

_NUMBERS = frozenset("float int bool complex".split())
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_REPEATABLE = (ast.BitAnd, ast.BitOr, ast.Mod)
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


def changed_fields(init: ast.FunctionDef) -> Iterator[tuple[str, str, ast.expr]]:
    """Return each name that a constructor changes before it keeps it, with the attribute and what is kept.

    Only what is something else when it is done twice: an array stays what it is when it is made an array again.
    """
    receiver = init.args.args[0].arg if init.args.args else ""
    local: dict[str, ast.expr] = {}
    for node in init.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                local[name] = value
            case (
                ast.Assign(targets=[ast.Attribute(value=ast.Name(id=base), attr=attr)], value=value)
                | ast.Expr(value=ast.Call(args=[ast.Name(id=base), ast.Constant(value=str() as attr), value]))
            ) if base == receiver:
                kept = local.get(value.id, value) if isinstance(value, ast.Name) else value
                yield from ((changed, str(attr), kept) for changed in _moved_on(kept, local, receiver))


def _moved_on(node: ast.expr, local: dict[str, ast.expr], receiver: str) -> Iterator[str]:
    """Return the parameters and own attributes that an expression computes something else of."""
    match node:
        case ast.Name(id=name) if name in local:
            yield from _moved_on(local[name], {key: value for key, value in local.items() if key != name}, receiver)
        case ast.BinOp(left=left, right=right, op=op) if not isinstance(op, _REPEATABLE):
            yield from (name for side in (left, right) for name in _kept(side, receiver))
        case ast.UnaryOp(op=ast.USub(), operand=inner) | ast.Attribute(value=inner, attr="T"):
            yield from _kept(inner, receiver)
        case ast.Call(func=ast.Attribute(attr=function), args=[inner, *_]):
            found = _kept(inner, receiver) if function in FLOATING | GROWING else _moved_on(inner, local, receiver)
            yield from found


def _kept(node: ast.expr, receiver: str) -> Iterator[str]:
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=ast.Name(id=base), attr=attr) if base == receiver:
            yield attr
        case ast.Call(func=ast.Attribute(), args=[inner, *_]) | ast.BinOp(left=inner, right=ast.Constant()):
            yield from _kept(inner, receiver)


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
            case ast.Call(func=ast.Attribute() as function, args=[ast.Name(id=name), *_]) if name in params:
                module, _, rest = ast.unparse(function).partition(".")
                if module in numpy and _converts(f"numpy.{rest}"):
                    yield name, f"np.{rest}", one
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item" | "tolist" as function), args=[]):
                if name in params:
                    yield name, function, one


def _converts(function: str) -> bool:
    """Whether a function of NumPy makes an array of NumPy of what it is given first."""
    row = lookup(function)
    return row is not None and row.op == "array.numpy" and function not in SHAPE_ALONE | DELEGATING


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
