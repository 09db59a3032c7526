"""What a condition says of variables where it holds: under `if x is None`, `x` is None."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter


def narrowed(it: Interpreter, test: ast.expr, *, holds: bool) -> dict[str, Abstract]:
    """Return the variables that are None where a condition holds, or where it does not."""
    # Each way gets a constant of its own, so that a merge can tell it from one that the program wrote.
    names = (name for name in _nones(test, holds) if isinstance(it.frame.env.get(name), Leaf))
    return {name: Const(None) for name in names}


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
