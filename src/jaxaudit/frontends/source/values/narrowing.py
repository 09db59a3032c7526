"""What a condition says of variables where it holds: under `if x is None`, `x` is None."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter


def narrowed(it: Interpreter, test: ast.expr, *, holds: bool) -> dict[str, Abstract]:
    """Return what a condition says of variables where it holds, or where it does not: they are None, or are not."""
    # Each way gets a constant of its own, so that a merge can tell it from one that the program wrote.
    env = it.frame.env
    names = [name for name in _nones(test, holds) if isinstance(env.get(name), Leaf)]
    found: dict[str, Abstract] = {name: Const(None) for name in names}
    for name in _nones(test, not holds) if not isinstance(test, ast.BoolOp) else ():
        value = env.get(name)
        if isinstance(value, Leaf) and value.options:
            left = tuple(one for one in value.options if one != NONE)
            found[name] = left[0] if len(left) == 1 else replace(value, options=left)
    return found


def _nones(test: ast.expr, holds: bool) -> list[str]:
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[operator], comparators=[ast.Constant(value=None)]):
            return [name] if isinstance(operator, ast.Is if holds else ast.IsNot) else []
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _nones(inner, not holds)
        case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And if holds else ast.Or):
            return [name for value in values for name in _nones(value, holds)]
        case _:
            return []
