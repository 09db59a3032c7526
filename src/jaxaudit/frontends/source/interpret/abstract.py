"""Methods that only say what subclasses will do: following one would take its empty body for the truth."""

from __future__ import annotations

import ast
from functools import lru_cache

from jaxaudit.frontends.source.values.callables import FunctionValue


def is_abstract(function: FunctionValue) -> bool:
    """Whether other code than this body runs when the method is called."""
    return function.owner is not None and _is_placeholder(function.node)


@lru_cache(maxsize=8192)
def _is_placeholder(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    if isinstance(node, ast.Lambda):
        return False
    body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if len(body) == 1 and isinstance(body[0], ast.Raise):
        return _name(body[0].exc) == "NotImplementedError"
    if not body or (len(body) == 1 and isinstance(body[0], ast.Pass)):
        declared = any(_name(one).startswith("abstract") for one in node.decorator_list)
        return declared or _promises(node.returns)
    return False


def _promises(returns: ast.expr | None) -> bool:
    """Whether a body without statements is said to give something back."""
    return returns is not None and not (isinstance(returns, ast.Constant) and returns.value is None)


def _name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
